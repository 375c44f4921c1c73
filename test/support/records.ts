import type { DecimalSample, Draft, Sample } from './arbitraries.ts'
import { type Collection, displayName, type Field, type Row, utc, type Value, writable } from './model.ts'
import { emptyTables } from './rows.ts'
import type { TestServer } from './server.ts'

/** Rows that others can refer to, with the text that they copy. */
export type Known = Record<'Companies' | 'Employees', Row[]>

/** Empties the database, and adds companies and employees to refer to; ids begin at 1 again. */
export async function reset(server: TestServer): Promise<Known> {
  await emptyTables(server.sql)
  const known: Known = { Companies: [], Employees: [] }
  for (const Name of ['Öberg', 'oberg', 'Zenith', null]) known.Companies.push(await create(server, 'Companies', { Name }, known))
  const people = [
    { FirstName: 'Zoë', LastName: 'Ångström', CompanyId: 1, Department: 'a' },
    { KnownAs: 'zoe', ManagerId: 0, Department: 'é' },
    {},
    { FirstName: '', LastName: 'b', CompanyId: 3, ManagerId: 1, Department: '' },
  ]
  for (const person of people) known.Employees.push(await create(server, 'Employees', person, known))
  return known
}

/** Creates a record over HTTP; returns how the API must show it from now on. */
export async function create(server: TestServer, collection: Collection, draft: Draft, known: Known): Promise<Row> {
  const written = resolved(collection, draft, known)
  const { status, body, text } = await server.post(`/${collection}`, bodyOf(written))
  if (status !== 201) throw new Error(`POST /${collection} ${bodyOf(written)} answered ${status} ${text}`)
  return { Id: body.id, ...rowOf(collection, written, known) }
}

/** Returns the draft with ids for references, and with no absence that ends before it starts. */
export function resolved(collection: Collection, draft: Draft, known: Known): Draft {
  const written = { ...draft }
  for (const { name, refersTo } of writable[collection]) {
    const place = written[name]
    if (refersTo && typeof place === 'number') written[name] = pick(known, refersTo, place)
  }
  const { Start, End } = written
  if (typeof Start === 'string' && typeof End === 'string' && utc(End) < utc(Start))
    Object.assign(written, { Start: End, End: Start })
  return written
}

function pick(known: Known, collection: Collection, place: number): number | null {
  const rows = collection === 'Absences' ? [] : known[collection]
  return rows.length === 0 ? null : Number(rows[place % rows.length]?.Id)
}

/** Returns the JSON of a body; `spell` may write names in another case. */
export function bodyOf(draft: Draft, spell: (name: string) => string = (name) => name): string {
  const parts: string[] = []
  const period: string[] = []
  for (const [name, value] of Object.entries(draft)) {
    if (value === undefined) continue
    const [first = '', second] = name.split('.')
    const pair = `${JSON.stringify(spell(second ?? first))}:${jsonOf(value)}`
    if (second) period.push(pair)
    else parts.push(pair)
  }
  if (period.length > 0) parts.push(`${JSON.stringify(spell('Period'))}:{${period}}`)
  return `{${parts}}`
}

function jsonOf(value: Sample): string {
  return isDecimal(value) ? value.written : JSON.stringify(value)
}

function isDecimal(value: Sample): value is DecimalSample {
  return typeof value === 'object' && value !== null
}

/** Returns the values of a record after a create or a complete update. Spec 4.1, D7 */
export function rowOf(collection: Collection, draft: Draft, known: Known): Row {
  const row: Row = {}
  for (const field of writable[collection]) row[field.name] = storedValue(field, draft[field.name])
  if (collection === 'Employees')
    Object.assign(row, {
      DisplayName: displayName(row),
      Company: find(known.Companies, row.CompanyId)?.Name ?? null,
      Manager: find(known.Employees, row.ManagerId)?.DisplayName ?? null,
    })
  if (collection === 'Absences') row.Employee = find(known.Employees, row.EmployeeId)?.DisplayName ?? null
  return row
}

function storedValue({ kind }: Field, value: Sample): Value {
  if (kind === 'boolean') return value === true
  if (value === undefined || value === null) return null
  if (isDecimal(value)) return value.printed
  return kind === 'instant' ? utc(String(value)) : value
}

function find(rows: Row[], id: Value | undefined): Row | undefined {
  return rows.find((row) => row.Id === id)
}

const DECIMALS = ['days', 'hours']

/** Returns the record in a JSON text. Decimals keep their digits. */
export function recordOf(text: string): Row {
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  const asWritten = (key: string, value: any, context?: { source: string }) =>
    DECIMALS.includes(key) && typeof value === 'number' ? (context?.source ?? value) : value
  return flat(JSON.parse(text, asWritten as (key: string, value: unknown) => unknown))
}

/** Flattens `{period: {days: 1}}` to `{'Period.Days': 1}`, and a null period to nulls. D14 */
function flat(record: Record<string, Value | Row>): Row {
  const row: Row = {}
  const pascal = (key: string) => key.charAt(0).toUpperCase() + key.slice(1)
  for (const [key, value] of Object.entries(record)) {
    if (key !== 'period') row[pascal(key)] = value as Value
    else for (const part of ['prefered', 'days', 'hours']) row[`Period.${pascal(part)}`] = (value as Row | null)?.[part] ?? null
  }
  return row
}
