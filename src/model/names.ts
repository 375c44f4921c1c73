// Naming rules: the column, parameter and path that follow from a declared name; parameters that lists reserve.

/** Parameters of lists that are not filters. */
export const RESERVED_PARAMETERS = ['sort', 'PageSize', 'page', 'cursor', 'fields', 'bom', 'excel', 'locale', 'may'] as const

/** Parameters of summaries that say how rows are grouped. D76, D119 */
export const GROUPING_PARAMETERS = ['groupBy', 'zone'] as const

/** Parameters of summaries that name aggregates. D76 */
export const AGGREGATES = ['sum', 'average', 'minimum', 'maximum'] as const

/** First segments of the server's own paths, in lower case. No entity or view can have such a path. */
export const OWN_PATHS: readonly string[] = ['changes', 'docs', 'errors', 'explore', 'livez', 'readyz', 'rights']

/** Suffixes that the OpenAPI document and the typed client append to an entity's name, in names of types and operations. */
export const NAME_ENDS = [
  '',
  'Change',
  'Complete',
  'Create',
  'Field',
  'Filter',
  'Group',
  'Kinds',
  'Paths',
  'Sort',
  'Target',
  'Write',
  'Written',
]

/** Matches names of schemas that belong to no entity, so that no entity can take them. */
export const RESERVED_TYPES =
  /^(?:(?:Past)?Changes?|ChangeAction|History|(?:Boolean|Date|Decimal|Instant|Integer|Text)(?:Condition|Value)|TextPart|KeyRight(?:Filter)?|Error(?:Code|Details|Message|Reference|Target)?|Fault)$/

/** Converts `employeeNumber` to `employee_number`, for names of columns and tables. */
export function snakeCase(name: string): string {
  return name.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
}

/** Converts `employeeNumber` to `EmployeeNumber`, for parameters and error messages. Spec 1, rule 5. */
export function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Returns the plural, `Companies` of `Company`, for entities that do not declare one. */
export function pluralOf(name: string): string {
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}

/**
 * Returns `have` or `has`, to follow the path of a collection: `Companies have`. A named view has no plural, so `Directory has`.
 */
export function haveOf({ name, plural }: { readonly name: string; readonly plural: string }): string {
  return name === plural ? 'has' : 'have'
}

/** Matches words that begin with a vowel sound, such as `absence` and `hour`, but not `user`, `unit` or `European`. */
const VOWEL = /^(?:hour|heir|(?!eu|one|uni|us[aeu])[aeiou])/i

/** Adds the indefinite article: `an absence`, `a company`. */
export function withArticle(name: string): string {
  return `${VOWEL.test(name) ? 'an' : 'a'} ${name}`
}
