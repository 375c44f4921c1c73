import { describe, expect, test } from 'bun:test'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { TextBounds } from '../../src/columns/conditions.ts'
import type { FoundPage } from '../../src/columns/foundPage.ts'
import { Kernel, KernelFull } from '../../src/columns/kernel.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { boolean, decimal, defineEntity, type Entity, identity, instant, type Property, text } from '../../src/model/entity.ts'
import { JsonWriter } from '../../src/model/jsonWriter.ts'
import type { Filter, Sort } from '../../src/model/query.ts'
import { order } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { findMember } from '../../src/parse/names.ts'
import { rowWriter } from '../../src/respond/json.ts'
import { codedWriter } from '../../src/respond/page.ts'
import { compilePredicate } from '../support/predicate.ts'
import { Random } from '../support/random.ts'
import { type Change, idsOf, RandomTable, take, totalOf } from '../support/randomTable.ts'

/** Another each time; a run is repeated with the one that it printed. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const MEMORY = 256 * 2 ** 20
/** What differs between the columns and the table. */
function differences(table: RandomTable, columns: ColumnTable, lists: number) {
  table.rank(columns)
  return Array.from({ length: lists }, () => difference(table, columns)).filter((text) => text !== null)
}

function difference(table: RandomTable, columns: ColumnTable): string | null {
  const filters = table.filters()
  const bounds = table.boundsOf(columns, filters)
  const shown = filters.map(({ property, operator, value }) => `${property.name}${operator.sign}${value}`).join(' & ')
  const total = table.count(filters)
  const counted = totalOf(columns, filters, bounds)
  if (counted === null && table.hasUncoded(filters, [])) return null
  if (counted !== total) return `${shown}: ${counted}, not ${total}`
  const sorts = table.sorts()
  const all = table.ids(filters, sorts)
  const shownOrder = sorts.map(({ property, descending }) => `${property.name} ${descending}`).join()
  // The second page uses what is kept of the first one.
  for (let times = 1; times <= 2; times++) {
    const again = [...filters]
    const [offset, size] = [table.random.below(total + 3), 5 + table.random.below(46)]
    const page = columns.page(again, sorts, offset, size, bounds)
    if (page === null) return table.hasUncoded(filters, sorts) ? null : `${shown}: no page`
    const ids = all.slice(offset, offset + size)
    const misprint = misprinted(table, page)
    if (misprint !== null) return misprint
    if (page.total === total && idsOf(page).join() === ids.join()) {
      const fault = besideFault(table, columns, { filters: again, sorts, all, bounds })
      if (fault !== null) return `${shown} by ${shownOrder}: ${fault}`
      continue
    }
    return `${shown} by ${shownOrder} from ${offset}, time ${times}: ${page.total} ${idsOf(page)}, not ${total} ${ids}`
  }
  return null
}

/** A page beside a row that is not as it should be; null: it is. */
function besideFault(
  table: RandomTable,
  columns: ColumnTable,
  { filters, sorts, all, bounds }: { filters: Filter[]; sorts: Sort[]; all: readonly number[]; bounds: TextBounds | undefined },
): string | null {
  if (all.length === 0) return null
  const at = table.random.below(all.length)
  const size = 5 + table.random.below(10)
  const row = table.row(all[at] as number) as Row
  const position = order(table.entity, sorts).map(
    ({ property }) => row[table.entity.properties.indexOf(property)] as string | null,
  )
  for (const side of ['after', 'before'] as const) {
    const page = columns.page(filters, sorts, { side, position }, size, bounds)
    const from = side === 'after' ? at + 1 : Math.max(0, at - size - 1)
    const ids = all.slice(from, side === 'after' ? at + size + 2 : at)
    if (page === null || page.total !== all.length || idsOf(page).join() !== ids.join())
      return `${side} ${position}: ${page?.total} ${idsOf(page)}, not ${ids}`
  }
  return null
}

/** A row of the page that is not the table's, as PostgreSQL prints it or as JSON; null: there is none. */
function misprinted(table: RandomTable, page: FoundPage): string | null {
  const { entity } = table
  const writer = new JsonWriter()
  for (const [index, id] of idsOf(page).entries()) {
    const own = table.row(id) as Row
    const printed = own.map((_, column) => page.rows.print(index, column))
    if (JSON.stringify(own) !== JSON.stringify(printed)) return `${printed} is printed for ${own}`
    codedWriter(entity, null)(page.rows, index, writer)
    const written = new TextDecoder('utf-8', { ignoreBOM: true }).decode(writer.take())
    if (written !== rowWriter(entity)(own)) return `${written} is written for ${own}`
  }
  return null
}

function filled(table: RandomTable, columns: ColumnTable): ColumnTable {
  for (const row of table.rows) columns.put(row)
  return columns
}

const columnOf = ({ properties }: Entity, column: string) => properties.findIndex((property) => property.column === column)

const reading = defineEntity('Reading', {
  id: identity(),
  label: text(),
  on: boolean(),
  at: instant(),
  amount: decimal(8),
})

for (const hasVectors of [true, false])
  describe(`${hasVectors ? 'with' : 'without'} vectors, SEED=${SEED}`, () => {
    for (const [entity, column] of [
      [absence, 'id'],
      [absence, 'start'],
      [absence, 'period_days'],
      [company, 'id'],
      [reading, 'at'],
      [reading, 'amount'],
      [reading, 'on'],
    ] as const)
      test(`${entity.plural} by ${column}: lists are those of the predicate, after changes`, () => {
        const random = new Random(SEED)
        const table = new RandomTable(entity, random, 800)
        // Segments are split from the first rows on.
        const kernel = new Kernel(MEMORY, hasVectors)
        const columns = filled(table, new ColumnTable(entity, kernel, columnOf(entity, column), random.pick([64, 128, 8_192])))
        expect(differences(table, columns, 20)).toEqual([])
        for (let round = 0; round < 3; round++) {
          take(columns, table.change(250))
          expect(columns.rows).toBe(table.rows.length)
          expect(differences(table, columns, 15)).toEqual([])
        }
      })
  })

test(`more rows tie than a segment has room for: pages of them; SEED=${SEED}`, () => {
  const random = new Random(SEED)
  const instants = ['2024-01-01 00:00:00+00', '2024-01-02 00:00:00+00', '2024-01-03 00:00:00+00', null]
  const rows = Array.from({ length: 40_000 }, (_, index): Row => {
    return [String(index + 1), null, 't', random.pick(instants), '1']
  })
  const columns = new ColumnTable(reading, new Kernel(MEMORY), columnOf(reading, 'at'))
  for (const row of rows) columns.put(row)
  for (let change = 0; change < 4_000; change++) {
    const at = random.below(rows.length)
    const after = (rows[at] as Row).with(3, random.pick(instants))
    columns.put(after)
    rows[at] = after
  }
  for (const query of ['sort=At', 'sort=-At', 'At=>=2024-01-02T00:00:00Z&sort=-At', 'At=<2024-01-03T00:00:00Z&sort=At', 'At=']) {
    const { filters, sorts } = parseList(reading, query)
    const matches = compilePredicate(reading, filters) as (row: Row) => boolean
    const rank = (row: Row) => (query.includes('sort') ? instants.indexOf(row[3] as string | null) : 0)
    // The id breaks ties in the same direction.
    const all = rows.filter(matches).sort((one, other) => rank(one) - rank(other))
    if (query.includes('-At')) all.reverse()
    for (let times = 0; times < 6; times++) {
      const offset = random.below(all.length)
      const page = columns.page(filters, sorts, offset, 30)
      expect(idsOf(page)).toEqual(all.slice(offset, offset + 30).map(([id]) => Number(id)))
    }
  }
})

test(`a table of many segments: pages lie in the middle of rows that tie; SEED=${SEED}`, () => {
  const random = new Random(SEED)
  const table = new RandomTable(reading, random, 68_000)
  const columns = filled(table, new ColumnTable(reading, new Kernel(MEMORY)))
  take(columns, table.change(100))
  expect(differences(table, columns, 5)).toEqual([])
})

test('a text that reads like no value is another list', () => {
  const columns = new ColumnTable(company, new Kernel(MEMORY))
  for (const [index, name] of [null, null, 'null', 'Ada'].entries()) columns.put([String(index + 1), name, 't'])
  const totals = ['Name=', 'Name=null', 'Name=!=null', 'Name=!='].map((text) =>
    totalOf(columns, parseList(company, text).filters),
  )
  expect(totals).toEqual([2, 1, 3, 2])
})

describe('memory', () => {
  test('of a page that was found is its own, whatever becomes of the table', () => {
    const random = new Random(SEED)
    const table = new RandomTable(absence, random, 300, 0)
    const columns = filled(table, new ColumnTable(absence, new Kernel(MEMORY)))
    const { filters, sorts } = parseList(absence, 'sort=-Id')
    const ids = table.rows.map(([id]) => Number(id)).sort((one, other) => other - one)
    const pages = [0, 7, 1_000].map((offset) => columns.page(filters, sorts, offset, 20) as FoundPage)
    for (const row of new RandomTable(absence, random, 400).rows) columns.put(row)
    expect(pages.map(idsOf)).toEqual([ids.slice(0, 20), ids.slice(7, 27), []])
    expect(pages.map((page) => misprinted(table, page))).toEqual([null, null, null])
  })

  test('that does not suffice is refused by a name', () => {
    const columns = new ColumnTable(absence, new Kernel(2 * 2 ** 20))
    const { rows } = new RandomTable(absence, new Random(SEED), 1)
    expect(() => {
      for (let id = 1; id < 100_000; id++) columns.put((rows[0] as Row).with(0, String(id)))
    }).toThrow(KernelFull)
  })

  test('of rows that are gone is given back, and slots of late ones are used again', () => {
    const kernel = new Kernel(MEMORY)
    const columns = new ColumnTable(company, kernel)
    const row = (id: number): Row => [String(id), id % 2 === 0 ? 'even' : 'odd', 't']
    const insert = (id: number): Change => ({ before: null, after: row(id) })
    const remove = (id: number): Change => ({ before: row(id), after: null })
    for (let id = 11; id <= 70_010; id++) columns.put(row(id))
    const full = kernel.bytes
    for (let id = 11; id <= 70_010; id++) if (id < 69_990) take(columns, [remove(id)])
    expect(kernel.bytes).toBeLessThan(0.7 * full)
    const odd = parseList(company, 'Name=odd&sort=-Id')
    const found = () => {
      const page = columns.page(odd.filters, odd.sorts, 8, 5)
      return [page?.total, idsOf(page)]
    }
    expect(found()).toEqual([10, [69_993, 69_991]])
    take(columns, [insert(20), remove(69_991), insert(21)])
    const withLate = kernel.bytes
    for (let round = 0; round < 50; round++) take(columns, [remove(20), insert(19), remove(19), insert(20)])
    expect(kernel.bytes).toBe(withLate)
    expect(found()).toEqual([10, [69_993, 21]])
    expect(columns.rows).toBe(22)
  })

  test('that the table takes is what it says', () => {
    const kernel = new Kernel(MEMORY)
    const before = kernel.bytes
    const columns = filled(new RandomTable(absence, new Random(SEED), 100), new ColumnTable(absence, kernel))
    expect(columns.bytes).toBeGreaterThanOrEqual(kernel.bytes - before)
    expect(columns.bytes).toBeLessThan(1.3 * (kernel.bytes - before))
  })
})

describe('what codes cannot tell', () => {
  const row = (id: number, name: string | null): Row => [String(id), name, 't']
  const columns = new ColumnTable(company, new Kernel(MEMORY))
  for (const [index, name] of ['b', 'a', 'c', null, ''].entries()) columns.put(row(index + 1, name))
  const name = findMember(company, 'name') as Property
  const list = (query: string) => parseList(company, query)

  test('is null: the order of texts without ranks', () => {
    expect(totalOf(columns, list('Name=<b').filters)).toBeNull()
    expect(columns.page([], list('sort=Name').sorts, 0, 5)).toBeNull()
  })

  test('is null: the order of texts of which one has no rank', () => {
    const { filters } = list('Name=<c')
    const bounds = new Map([[filters[0] as Filter, 3]])
    columns.useRanks(name, Int32Array.of(0, 0, 2, 1, 3))
    expect(totalOf(columns, filters, bounds)).toBe(3)
    expect(idsOf(columns.page([], list('sort=-Name').sorts, 0, 9))).toEqual([4, 3, 1, 2, 5])
    columns.put(row(6, 'd'))
    expect(totalOf(columns, filters, bounds)).toBeNull()
    expect(columns.page([], list('sort=-Name').sorts, 0, 9)).toBeNull()
    expect(totalOf(columns, list('Name=d').filters)).toBe(1)
  })

  test('is refused: an id that a float does not hold', () => {
    expect(() => columns.put(row(1, 'z').with(0, '9007199254740993'))).toThrow('the id 9007199254740993 is greater')
  })

  test('is null: a list by a number that a row has and no code, for as long as it has', () => {
    const readings = new ColumnTable(reading, new Kernel(MEMORY))
    const amounts = ['1.00000000', '1234567890.12345678', '2.00000000']
    for (const [index, amount] of amounts.entries()) readings.put([String(index + 1), null, 't', null, amount])
    const [byAmount, bySort] = [parseList(reading, 'Amount=>1').filters, parseList(reading, 'sort=Amount').sorts]
    expect([totalOf(readings, byAmount), readings.page([], bySort, 0, 5)]).toEqual([null, null])
    const rows = readings.page([], [], 0, 5)?.rows
    expect([0, 1, 2].map((index) => [rows?.print(index, 4), rows?.hasValue(index, 4)])).toEqual(
      amounts.map((text) => [text, true]),
    )
    readings.put(['2', null, 't', null, '3.00000000'])
    expect([totalOf(readings, byAmount), idsOf(readings.page([], bySort, 0, 5))]).toEqual([2, [1, 3, 2]])
  })

  test('a bucket of numbers that ends right below 0 has no row with 0', () => {
    const readings = new ColumnTable(reading, new Kernel(MEMORY))
    const amounts = ['5000000000', '-2000', '-3', '-3', '-3', ...Array<string>(200).fill('0')]
    for (const [index, amount] of amounts.entries()) readings.put([String(index + 1), null, 't', null, `${amount}.00000000`])
    for (const query of ['Amount=>-8', 'Amount=>-4', 'Amount=>-1024']) {
      const { filters, sorts } = parseList(reading, `${query}&sort=Amount`)
      expect([query, idsOf(readings.page(filters, sorts, 0, 5))]).toEqual([query, [3, 4, 5, 6, 7]])
    }
  })

  test('a number beyond all floats is compared as PostgreSQL does, for which NaN is the greatest', () => {
    const readings = new ColumnTable(reading, new Kernel(MEMORY))
    for (const [index, amount] of ['-1.00000000', '1.00000000', 'NaN', null].entries())
      readings.put([String(index + 1), null, 't', null, amount])
    const [high, low] = [`${'9'.repeat(150)}e200`, `-${'9'.repeat(150)}e200`]
    const totals = ['=', '<', '<=', '>', '>='].map((sign) =>
      [high, low].map((operand) => totalOf(readings, parseList(reading, `Amount=${sign}${operand}`).filters)),
    )
    expect(totals).toEqual([
      [0, 0],
      [2, 0],
      [2, 0],
      [1, 3],
      [1, 3],
    ])
  })

  test('is null: an operator that is not one of order', () => {
    const [filter] = list('Name=d').filters as [Filter]
    const other = { ...filter, operator: { ...filter.operator, sides: null } }
    expect(totalOf(columns, [other])).toBeNull()
    expect(columns.page([other], [], 0, 5)).toBeNull()
  })
})
