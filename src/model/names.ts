// Naming rules: the column, parameter and path that follow from a declared name; the parameters that lists reserve.

/** The parameters of a collection that are not filters. */
export const RESERVED_PARAMETERS = ['sort', 'PageSize', 'page', 'cursor', 'fields', 'bom', 'excel', 'locale'] as const

/** The parameters of a summary that name its figures. D76 */
export const AGGREGATES = ['sum', 'average', 'minimum', 'maximum'] as const

/** Ends of the names that follow from that of an entity: schemas of the OpenAPI document, types of the client, operations. */
export const NAME_ENDS = ['', 'Change', 'Complete', 'Field', 'Filter', 'Group', 'Kinds', 'Sort', 'Write', 'Written']

/** Schemas of the OpenAPI document that belong to no entity. */
export const RESERVED_TYPES =
  /^(?:(?:Past)?Changes?|ChangeAction|History|(?:Boolean|Date|Decimal|Instant|Integer|Text)(?:Condition|Value)|TextPart|Error(?:Code|Details|Message|Reference|Target)?|Fault)$/

/** `employeeNumber` → `employee_number`: the column of a property, the table of an entity. */
export function snakeCase(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
}

/** `employeeNumber` → `EmployeeNumber`: a property as parameters and error messages write it. Spec 1, rule 5. */
export function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** `Company` → `Companies`: the path segment of an entity that does not name one. */
export function pluralOf(name: string): string {
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}

/** Begins with the sound of a vowel, as `absence`, `hour`; not as `user`, `unit`, `European`. */
const VOWEL = /^(?:hour|heir|(?!eu|one|uni|us[aeu])[aeiou])/i

/** `absence` → `an absence`, `company` → `a company`. */
export function withArticle(name: string): string {
  return `${VOWEL.test(name) ? 'an' : 'a'} ${name}`
}
