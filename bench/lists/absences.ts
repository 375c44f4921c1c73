// Absences that are generated in this process, and a plain search among them. Each list is compared with the plain search.
import absence from '../../src/entities/absence.ts'
import type { Filter, ListQuery, Sort } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { Random } from '../../test/support/random.ts'
import type { AddLine } from './table.ts'

const STATUSES = ['Requested', 'Approved', 'Declined', 'Cancelled']
const TYPES = ['Holiday', 'Sickness', 'Training']
const FIRST_SECOND = Date.UTC(2016, 0, 1) / 1_000
/** Seconds of ten years. */
const SECONDS = 3_653 * 86_400
/** End of contracts that have no real end. It makes the codes of the column 64 bits wide. */
const LATEST = Date.UTC(9_999, 11, 31) / 1_000
const NEIGHBOR_SECONDS = 60 * 86_400
const LATER_SECONDS = 15 * 86_400
const NULLS_OF = 16
const ROWS_OF_EMPLOYEE = 5
const HALVES = 120

/** Values by property and row: NaN for no value; for a text, its index in a list of words. */
type Values = Readonly<Record<Name, Float64Array>>
type Name = 'Id' | 'Status' | 'EmployeeId' | 'Type' | 'Start' | 'End' | 'Period.Days'

export interface Absences {
  readonly count: number
  /** Passes each row to `add`, in the order of the ids. */
  addAll(add: AddLine): void
  /** Changes the values of a row, and returns the row as PostgreSQL prints it. */
  change(index: number): Row
  /** Finds total and ids by looking at each row. */
  search(query: ListQuery): { total: number; ids: number[] }
}

/** Generates absences. `areTogether`: starts grow with ids, except within 60 days. */
export function makeAbsences(count: number, areTogether: boolean): Absences {
  const random = new Random(1)
  const column = () => new Float64Array(count)
  const values: Values = {
    Id: column(),
    Status: column(),
    EmployeeId: column(),
    Type: column(),
    Start: column(),
    End: column(),
    'Period.Days': column(),
  }
  const orNone = (value: number) => (random.below(NULLS_OF) === 0 ? Number.NaN : value)
  const fill = (index: number, isOrdered: boolean) => {
    const start = isOrdered
      ? Math.floor((index / count) * (SECONDS - NEIGHBOR_SECONDS)) + random.below(NEIGHBOR_SECONDS)
      : random.below(SECONDS)
    values.Id[index] = index + 1
    values.Status[index] = orNone(random.below(STATUSES.length))
    values.EmployeeId[index] = 1 + random.below(Math.max(1, Math.floor(count / ROWS_OF_EMPLOYEE)))
    values.Type[index] = orNone(random.below(TYPES.length))
    values.Start[index] = orNone(FIRST_SECOND + start)
    values.End[index] = orNone(FIRST_SECOND + start + random.below(LATER_SECONDS))
    values['Period.Days'][index] = orNone(random.below(HALVES) / 2)
  }
  for (let index = 0; index < count; index++) fill(index, areTogether)
  values.End[count - 1] = LATEST
  return {
    count,
    addAll: (add) => addLines(values, count, add),
    change(index) {
      fill(index, false)
      return rowOf(values, index)
    },
    search: (query) => searchPlainly(values, count, query),
  }
}

const LINES = 1_000

function addLines(values: Values, count: number, add: AddLine) {
  const encoder = new TextEncoder()
  for (let first = 0; first < count; first += LINES) {
    const rows = Array.from({ length: Math.min(LINES, count - first) }, (_, index) => rowOf(values, first + index))
    const bytes = encoder.encode(rows.map((row) => `${row.map((text) => text ?? '\\N').join('\t')}\n`).join(''))
    for (let from = 0, to = bytes.indexOf(10); to >= 0; from = to + 1, to = bytes.indexOf(10, from)) add(bytes, from, to)
  }
}

const printers: Readonly<Record<string, (value: number) => string>> = {
  Status: (value) => STATUSES[value] as string,
  Type: (value) => TYPES[value] as string,
  Start: printInstant,
  End: printInstant,
  'Period.Days': (value) => value.toFixed(8),
}

/** Returns a row as PostgreSQL prints it. Properties that no list names have no value. */
function rowOf(values: Values, index: number): Row {
  return absence.properties.map(({ name }) => {
    if (name === 'Employee') return `Employee ${values.EmployeeId[index]}`
    const value = values[name as Name]?.[index] ?? Number.NaN
    return Number.isNaN(value) ? null : (printers[name]?.(value) ?? String(value))
  })
}

function printInstant(seconds: number): string {
  return `${new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ')}+00`
}

function searchPlainly(values: Values, count: number, { filters, sorts, page, pageSize }: ListQuery) {
  const tests = filters.map((filter) => testOf(values, filter))
  const found: number[] = []
  for (let index = 0; index < count; index++) if (tests.every((test) => test(index))) found.push(index)
  const keys = [...sorts.map((sort) => keyOf(values, sort)), { column: values.Id, sign: sorts.at(-1)?.descending ? -1 : 1 }]
  found.sort((one, other) => {
    for (const { column, sign } of keys) {
      const order = compare(column[one] as number, column[other] as number)
      if (order !== 0) return sign * order
    }
    return 0
  })
  return { total: found.length, ids: found.slice((page - 1) * pageSize, page * pageSize).map((index) => index + 1) }
}

function keyOf(values: Values, { property, descending }: Sort) {
  return { column: values[property.name as Name], sign: descending ? -1 : 1 }
}

/** Compares as PostgreSQL does: a missing value is the greatest. */
function compare(one: number, other: number): number {
  if (Number.isNaN(one) || Number.isNaN(other)) return Number(Number.isNaN(one)) - Number(Number.isNaN(other))
  return one - other
}

function testOf(values: Values, { property, operator, value, anyOf }: Filter): (index: number) => boolean {
  const column = values[property.name as Name]
  const operands = (anyOf ?? [value]).map((text) => (text === null ? Number.NaN : readOperand(property.name, text)))
  const equals = (own: number) => operands.some((operand) => compare(own, operand) === 0)
  const [operand = Number.NaN] = operands
  const tests: Readonly<Record<string, (own: number) => boolean>> = {
    '=': equals,
    '[]': equals,
    '!=': (own) => !equals(own),
    '<': (own) => own < operand,
    '<=': (own) => own <= operand,
    '>': (own) => own > operand,
    '>=': (own) => own >= operand,
  }
  const test = tests[operator.sign]
  if (!test) throw new Error(`the plain search does not know ${operator.sign}`)
  return (index) => test(column[index] as number)
}

function readOperand(name: string, text: string): number {
  if (name === 'Status') return STATUSES.indexOf(text)
  if (name === 'Type') return TYPES.indexOf(text)
  return name === 'Start' || name === 'End' ? Date.parse(text) / 1_000 : Number(text)
}
