/** The lists of the API by the specification and the decisions: simple, slow, and without code of the server. */

type Kind = 'integer' | 'text' | 'boolean' | 'decimal' | 'instant'

/** A value; decimals are texts with 8 decimals, date-times texts in UTC. */
export type Value = string | number | boolean | null

export interface Field {
  /** Name in parameters, such as `Period.Days`. */
  name: string
  kind: Kind
  /** Collection that the property refers to. */
  refersTo?: Collection
}

export type Collection = 'Companies' | 'Employees' | 'Absences'
export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>='
/** A record: values by property name. */
export type Row = Record<string, Value>

const fieldsOf = (kind: Kind, ...names: string[]): Field[] => names.map((name) => ({ name, kind }))

/** Properties that clients can write: D10, D11, D12. */
export const writable: Record<Collection, Field[]> = {
  Companies: [...fieldsOf('text', 'Name'), ...fieldsOf('boolean', 'Enabled')],
  Employees: [
    ...fieldsOf('text', 'EmployeeNumber', 'Title', 'FirstName', 'MiddleName', 'LastName', 'KnownAs', 'WorkEmail'),
    ...fieldsOf('text', 'WorkPhone', 'WorkMobile', 'Department', 'Division', 'Location', 'JobTitle', 'JobLevel'),
    ...fieldsOf('text', 'Type', 'Status'),
    ...fieldsOf('instant', 'Started', 'ContinuousStart', 'ContractEnd', 'EmploymentEnd'),
    { name: 'CompanyId', kind: 'integer', refersTo: 'Companies' },
    { name: 'ManagerId', kind: 'integer', refersTo: 'Employees' },
  ],
  Absences: [
    ...fieldsOf('text', 'Status', 'Type', 'Reason', 'Period.Prefered'),
    ...fieldsOf('instant', 'Start', 'End'),
    ...fieldsOf('decimal', 'Period.Days', 'Period.Hours'),
    { name: 'EmployeeId', kind: 'integer', refersTo: 'Employees' },
  ],
}

/** Properties that clients can filter and sort by: all of them. D21, D27 */
export const properties: Record<Collection, Field[]> = {
  Companies: [...fieldsOf('integer', 'Id'), ...writable.Companies],
  Employees: [...fieldsOf('integer', 'Id'), ...writable.Employees, ...fieldsOf('text', 'DisplayName', 'Company', 'Manager')],
  Absences: [...fieldsOf('integer', 'Id'), ...writable.Absences, ...fieldsOf('text', 'Employee')],
}

export const collections = Object.keys(properties) as Collection[]

/** Properties of related rows, by paths through up to two references: D91. */
export const related: Record<Collection, Field[]> = {
  Companies: [],
  Employees: fieldsBehind('Employees', 2),
  Absences: fieldsBehind('Absences', 2),
}

function fieldsBehind(collection: Collection, references: number): Field[] {
  return properties[collection].flatMap(({ name, refersTo }) => {
    if (!refersTo) return []
    const fields = [...properties[refersTo], ...(references > 1 ? fieldsBehind(refersTo, references - 1) : [])]
    return fields.map((field) => ({ ...field, name: `${name}.${field.name}` }))
  })
}

/** Returns the value to which a path leads; null if there is no such row. `rows`: rows to which references lead. */
export function relatedValue(collection: Collection, name: string, row: Row, rows: Partial<Record<Collection, Row[]>>): Value {
  const reference = properties[collection].find(({ name: own, refersTo }) => refersTo && name.startsWith(`${own}.`))
  if (!reference?.refersTo) return row[name] ?? null
  const target = rows[reference.refersTo]?.find(({ Id }) => Id === row[reference.name])
  return target ? relatedValue(reference.refersTo, name.slice(reference.name.length + 1), target, rows) : null
}

/** Returns the display name: known as or first name, then last name. D11 */
export function displayName(row: Row): string | null {
  return [row.KnownAs || row.FirstName, row.LastName].filter(Boolean).join(' ') || null
}

export interface Filter {
  field: Field
  operator: Operator
  /** Decoded operand, without the operator. */
  operand: string
}

export interface Sort {
  field: Field
  descending: boolean
}

export function matches({ field, operator, operand }: Filter, row: Row): boolean {
  const value = row[field.name] ?? null
  if (operator === '=' || operator === '!=') return equals(field, operand, value) === (operator === '=')
  if (value === null) return false // D24
  const order = compareValues(field.kind, value, parseOperand(field.kind, operand))
  return { '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 }[operator]
}

function equals(field: Field, operand: string, value: Value): boolean {
  if (operand === '') return value === null || value === '' // D24
  return value !== null && compareExactly(field.kind, value, parseOperand(field.kind, operand))
}

function compareExactly(kind: Kind, one: Value, other: Value): boolean {
  return kind === 'text' ? one === other : compareValues(kind, one, other) === 0
}

/** Returns the rows in the order of the sorts; the id breaks ties, in the direction of the last sort that counts. D26, D27 */
export function inOrder(rows: Row[], sorts: Sort[]): Row[] {
  const last = sorts.findLast((sort, index) => sorts.findIndex(({ field }) => field === sort.field) === index)
  const idSign = last?.descending ? -1 : 1
  return rows.toSorted((one, other) => {
    for (const { field, descending } of sorts) {
      const order = compareValues(field.kind, one[field.name] ?? null, other[field.name] ?? null)
      if (order !== 0) return descending ? -order : order
    }
    return idSign * (Number(one.Id) - Number(other.Id))
  })
}

const collator = new Intl.Collator('und')

/** Compares two values. A missing value comes last. */
function compareValues(kind: Kind, one: Value, other: Value): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  if (kind === 'text') return collator.compare(String(one), String(other)) || compareCodePoints(String(one), String(other))
  if (kind === 'decimal') return compare(scaled(String(one)), scaled(String(other)))
  return compare(one, other)
}

function compareCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function compare<T extends Value | bigint>(one: T, other: T): number {
  if (one === other) return 0
  return (one as number) < (other as number) ? -1 : 1
}

function parseOperand(kind: Kind, text: string): Value {
  if (kind === 'integer') return Number(text)
  if (kind === 'boolean') return text.toLowerCase() === 'true'
  return kind === 'instant' ? utc(text) : text
}

/** Returns units of 10^-20, so that an operand may have more decimals than a stored value. */
function scaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const magnitude = BigInt(whole + fraction.padEnd(20, '0'))
  return text.startsWith('-') ? -magnitude : magnitude
}

/** Returns a date-time in UTC, without a fraction of a second. D15 */
export function utc(text: string): string {
  return new Date(text.toUpperCase().replace(/\.\d+/, '')).toISOString().replace('.000Z', 'Z')
}
