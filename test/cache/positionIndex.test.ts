import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { PositionIndex, shiftOf } from '../../src/cache/positionIndex.ts'
import { type Ordering, orderingOf, type Selection, selectionOf } from '../../src/cache/selection.ts'
import type { Change } from '../../src/changes/change.ts'
import absence from '../../src/entities/absence.ts'
import type { Position } from '../../src/model/order.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'

const NAMES = absence.properties.map(({ name }) => name)
const [ID, TYPE, START, DAYS, EMPLOYEE] = ['Id', 'Type', 'Start', 'Period.Days', 'EmployeeId'].map((name) =>
  NAMES.indexOf(name),
) as [number, number, number, number, number]

/** What a row has beside its id: few values, so that many tie. */
interface Content {
  readonly type: string
  readonly start: string | null
  readonly days: string | null
  readonly employee: string | null
}

const content: fc.Arbitrary<Content> = fc.record({
  type: fc.constantFrom('in', 'in', 'in', 'out'),
  start: fc.constantFrom('2024-01-01 00:00:00+00', '2024-06-01 00:00:00+00', '10000-01-01 00:00:00+00', null),
  days: fc.constantFrom('0.00000000', '2.00000000', '10.50000000', null),
  employee: fc.constantFrom('2', '10', '9007199254740993', null),
})

function rowOf(id: number, { type, start, days, employee }: Content): Row {
  const row: (string | null)[] = absence.properties.map(() => null)
  row[ID] = String(id)
  row[TYPE] = type
  row[START] = start
  row[DAYS] = days
  row[EMPLOYEE] = employee
  return row
}

/** A row that comes, or one of those there are that changes or goes. */
type Step = { readonly kind: 'insert' | 'update' | 'delete'; readonly which: number; readonly content: Content }
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('insert', 'update', 'delete'),
  which: fc.nat(10_000),
  content,
})

const SORTS = [
  '',
  '-Id',
  'Start',
  '-Start',
  'Period.Days',
  '-Period.Days',
  '-EmployeeId,Start',
  'Start,-Period.Days,-Id',
]
const FILTERS = ['', 'Type=in', 'Type=!=in&Start=!=']

/** The rows of a table, and what has happened to them. */
class Table {
  private readonly rows = new Map<number, Row>()
  private next = 1

  constructor(contents: readonly Content[]) {
    for (const one of contents) this.put(this.next++, one)
  }

  apply({ kind, which, content }: Step): Change[] {
    const ids = [...this.rows.keys()]
    const id = kind === 'insert' ? this.next++ : ids[which % Math.max(ids.length, 1)]
    if (id === undefined) return []
    const before = this.rows.get(id) ?? null
    if (kind === 'delete') this.rows.delete(id)
    else this.put(id, content)
    return [{ transaction: 1, before, after: this.rows.get(id) ?? null }]
  }

  /** Of the rows of a selection, in order. */
  positions({ matches }: Selection, { positionOf, compare }: Ordering): Position[] {
    const rows = [...this.rows.values()].filter((row) => matches?.(row))
    return rows.map((row) => positionOf(row)).sort(compare ?? undefined)
  }

  private put(id: number, content: Content) {
    this.rows.set(id, rowOf(id, content))
  }
}

function listOf(query: string) {
  const { filters, sorts } = parseList(absence, query)
  return { selection: selectionOf(absence, filters, 1), ordering: orderingOf(absence, sorts) }
}

const everyNth = (positions: readonly Position[], step: number) =>
  positions.filter((_, index) => (index + 1) % step === 0)

/** What the model says of a position: so many rows lie up to it. */
function rowsUpTo(positions: readonly Position[], { compare }: Ordering, position: Position): number {
  return positions.filter((other) => (compare?.(other, position) ?? Number.NaN) <= 0).length
}

const cases = {
  contents: fc.array(content, { maxLength: 60 }),
  steps: fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 4 }),
  every: fc.integer({ min: 1, max: 9 }),
  sort: fc.constantFrom(...SORTS),
  filter: fc.constantFrom(...FILTERS),
}

describe('anchors', () => {
  test('have exactly so many rows up to them after any rows come, go and move', () => {
    fc.assert(
      fc.property(fc.record(cases), ({ contents, steps, every, sort, filter }) => {
        const { selection, ordering } = listOf(`sort=${sort}&${filter}`)
        const table = new Table(contents)
        const noted = everyNth(table.positions(selection, ordering), every)
        const known = new PositionIndex(selection, ordering, noted, every)
        for (const round of [[], ...steps]) {
          expect(known.take(round.flatMap((one) => table.apply(one)))).toBe(true)
          const rows = table.positions(selection, ordering)
          const sums = noted.map((position) => rowsUpTo(rows, ordering, position))
          for (let wanted = 0; wanted <= rows.length + 1; wanted++) {
            const note = known.before(wanted)
            // Nearest of those that lie near enough; of some with as many rows, the last.
            const best = sums.findLastIndex((sum) => sum <= wanted)
            const expected = best === -1 ? null : { position: noted[best] as Position, rows: sums[best] as number }
            expect(note).toEqual(expected)
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  test('in an order of texts: a change that moves no row is taken, another is not', () => {
    fc.assert(
      fc.property(fc.record({ ...cases, one: step, isByType: fc.boolean() }), ({ contents, one, filter, isByType }) => {
        const { selection, ordering } = listOf(`sort=${isByType ? 'Type' : 'Start,Type'}&${filter}`)
        const table = new Table(contents)
        const known = new PositionIndex(selection, ordering, [['in', '1']], 1)
        const changes = table.apply(one)
        const shown = (row: Row | null) =>
          row && selection.matches?.(row) ? JSON.stringify(ordering.positionOf(row)) : null
        const isStill = changes.every(({ before, after }) => shown(before) === shown(after))
        expect(known.take(changes)).toBe(isStill)
      }),
      { numRuns: 300 },
    )
  })

  test('of a selection that TypeScript cannot decide take no change', () => {
    const { selection, ordering } = listOf('Type=<x')
    const known = new PositionIndex(selection, ordering, [['1']], 1)
    expect(known.take([])).toBe(true)
    expect(known.before(1)).toEqual({ position: ['1'], rows: 1 })
    const row = rowOf(7, { type: 'in', start: null, days: null, employee: null })
    expect(known.take([{ transaction: 1, before: row, after: row }])).toBe(false)
  })

  test('a deletion that is published before its creation leaves an anchor with one row less', () => {
    const { selection, ordering } = listOf('')
    const known = new PositionIndex(selection, ordering, [['10'], ['20'], ['30']], 1)
    const brief = rowOf(15, { type: 'in', start: null, days: null, employee: null })
    const [came, left]: Change[] = [
      { transaction: 1, before: null, after: brief },
      { transaction: 2, before: brief, after: null },
    ]
    const gone = rowOf(20, { type: 'in', start: null, days: null, employee: null })
    known.take([{ transaction: 3, before: gone, after: null }, left as Change])
    for (const wanted of [0, 1, 2, 3]) expect(known.before(wanted)?.rows ?? 0).toBeLessThanOrEqual(wanted)
    known.take([came as Change])
    expect([0, 1, 2, 3].map((wanted) => known.before(wanted)?.rows ?? null)).toEqual([null, 1, 2, 2])
  })
})

describe('the shift of a position', () => {
  test('is how many rows more lie up to it', () => {
    fc.assert(
      fc.property(fc.record({ ...cases, at: fc.nat(100) }), ({ contents, steps, sort, filter, at }) => {
        const { selection, ordering } = listOf(`sort=${sort}&${filter}`)
        const table = new Table([...contents, { type: 'in', start: null, days: null, employee: null }])
        const everything = table.positions({ ...selection, matches: () => true }, ordering)
        const position = everything[at % everything.length] as Position
        const before = rowsUpTo(table.positions(selection, ordering), ordering, position)
        const changes = steps.flat().flatMap((one) => table.apply(one))
        const after = rowsUpTo(table.positions(selection, ordering), ordering, position)
        expect(shiftOf(selection, ordering, position, changes)).toBe(after - before)
      }),
      { numRuns: 300 },
    )
  })

  test('is not known where rows move in an order of texts, or the selection cannot be decided', () => {
    const row = (type: string) => rowOf(1, { type, start: null, days: null, employee: null })
    const change = (before: string, after: string): Change => ({
      transaction: 1,
      before: row(before),
      after: row(after),
    })
    const byType = listOf('sort=Type')
    expect(shiftOf(byType.selection, byType.ordering, ['in', '1'], [change('in', 'out')])).toBeNull()
    expect(shiftOf(byType.selection, byType.ordering, ['in', '1'], [change('in', 'in')])).toBe(0)
    const untestable = listOf('Type=>a')
    expect(shiftOf(untestable.selection, untestable.ordering, ['1'], [change('in', 'in')])).toBeNull()
  })
})
