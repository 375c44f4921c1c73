// Related properties, and their values by SQL that shares no code with the server: a subquery looks up each value for its row,
// and a recursive query follows a chain upwards.
import { type Collection, type Field, properties } from '../../support/model.ts'
import { tables } from '../../support/randomRows.ts'

const REFERENCES_MAX = 2
/** Properties that random writes set. */
const WRITTEN: Record<Collection, RegExp> = {
  Companies: /./,
  Employees: /^(Id|KnownAs|FirstName|LastName|DisplayName|Department|Status|Started|CompanyId|Company|Manager(Id)?)$/,
  Absences: /./,
}
/** Copied names, and the references along which they are copied. */
const COPIES: Partial<Record<string, string>> = { Employee: 'EmployeeId', Company: 'CompanyId', Manager: 'ManagerId' }

const writtenOf = (collection: Collection) => properties[collection].filter(({ name }) => WRITTEN[collection].test(name))

/** Own properties of each collection. */
export const ownFields: Record<Collection, readonly Field[]> = {
  Companies: writtenOf('Companies'),
  Employees: writtenOf('Employees'),
  Absences: writtenOf('Absences'),
}

function fieldsBehind(collection: Collection, references: number): Field[] {
  return ownFields[collection].flatMap(({ name, refersTo }) => {
    if (!refersTo) return []
    const further = references > 1 ? fieldsBehind(refersTo, references - 1) : []
    return [...ownFields[refersTo], ...further].map((field) => ({ ...field, name: `${name}.${field.name}` }))
  })
}

/** Properties to which paths through one or two references lead. */
export const relatedFields: Record<Collection, readonly Field[]> = {
  Companies: [],
  Employees: fieldsBehind('Employees', REFERENCES_MAX),
  Absences: fieldsBehind('Absences', REFERENCES_MAX),
}

/** Returns whether the property is a path to a related row. */
export function isRelated(collection: Collection, { name }: Pick<Field, 'name'>): boolean {
  return relatedFields[collection].some((field) => field.name === name)
}

/** Returns whether the property is a reference from an employee to another employee, also at the end of a path. */
export function isOfChain({ name }: Field): boolean {
  return /(^|\.)ManagerId$/.test(name)
}

/** Returns the reference along which a name is copied; null if the property is not copied. */
export function referenceOf(collection: Collection, { name }: Field): Field | null {
  const parts = name.split('.')
  const reference = COPIES[parts.at(-1) as string]
  const path = [...parts.slice(0, -1), reference].join('.')
  return [...ownFields[collection], ...relatedFields[collection]].find((field) => reference && field.name === path) ?? null
}

/** Returns the names of the members that lead to a value in JSON. A path is a single name. */
export function jsonPath(collection: Collection, field: Field): string[] {
  const names = field.name.split('.').map((part) => (part[0] as string).toLowerCase() + part.slice(1))
  return isRelated(collection, field) ? [names.join('.')] : names
}

/** Returns SQL for the value of a property. `row`: alias of the collection's row. */
export function columnBehind(collection: Collection, name: string, row = 'T'): string {
  const reference = ownFields[collection].find((field) => field.refersTo && name.startsWith(`${field.name}.`))
  if (!reference?.refersTo) return `"${row}".${columnOf(name)}`
  const next = `${row}R`
  const value = columnBehind(reference.refersTo, name.slice(reference.name.length + 1), next)
  return `(select ${value} from ${tables[reference.refersTo]} as "${next}" where "${next}".id = "${row}".${columnOf(reference.name)})`
}

/** Returns SQL for the condition that a reference leads to the employee with this id, directly or through further employees. */
export function chainOf(value: string, operand: string): string {
  const above = `\
with recursive above (id) as (select e.manager_id union select employee.manager_id from employee join above using (id)) \
select from above where id = ${operand}`
  return `(${value} = ${operand} or ${value} in (select e.id from employee as e where exists (${above})))`
}

/** Returns SQL for a value as the server's JSON has it. Decimals are texts, so that no digit is lost. */
export function printed(kind: Field['kind'], value: string): string {
  if (kind === 'instant') return `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
  return kind === 'decimal' ? `${value}::text` : value
}

/** Column of a property, quoted for SQL. */
function columnOf(name: string): string {
  const words = name.replace('.', '').replace(/(?<!^)([A-Z])/g, '_$1')
  return `"${words.toLowerCase()}"`
}
