import { describe, expect, test } from 'bun:test'
import { ClusteredRows } from '../../src/columns/clusteredRows.ts'
import type { ClusterOptions } from '../../src/columns/clusters.ts'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Bounds } from '../../src/columns/conditions.ts'
import type { FoundPage } from '../../src/columns/foundPage.ts'
import { Kernel, KernelFull } from '../../src/columns/kernel.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import {
  boolean,
  decimal,
  defineEntity,
  type Entity,
  identity,
  instant,
  type Property,
  text,
} from '../../src/model/entity.ts'
import { order } from '../../src/model/order.ts'
import { compilePredicate } from '../../src/model/predicate.ts'
import type { Filter, Sort } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { codedWriter } from '../../src/respond/codedRows.ts'
import { writeEntity } from '../../src/respond/json.ts'
import { JsonWriter } from '../../src/respond/jsonWriter.ts'
import { Random } from '../support/random.ts'
import { type Change, RandomTable, take, totalOf } from '../support/randomTable.ts'

/** Another each time; a run is repeated with the one that it printed. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const MEMORY = 256 * 2 ** 20
const TIMEOUT_MS = 60_000

/** What differs between the columns and the table. */
function differences(table: RandomTable, columns: ColumnTable, lists: number) {
  table.rank(columns)
  return Array.from({ length: lists }, () => difference(table, columns)).filter((text) => text !== null)
}

function difference(table: RandomTable, columns: ColumnTable): string | null {
  const filters = table.filters()
  const bounds = table.boundsOf(columns, filters)
  const shown = filters.map(({ property, operator, value }) => `${property.name}${operator.prefix}${value}`).join(' & ')
  const total = table.count(filters)
  const counted = totalOf(columns, filters, bounds)
  if (counted === null && table.hasOdd(filters)) return null
  if (counted !== total) return `${shown}: ${counted}, not ${total}`
  const sorts = table.sorts()
  const all = table.ids(filters, sorts)
  const shownOrder = sorts.map(({ property, direction }) => `${property.name} ${direction}`).join()
  // What is known of a list is used from the third time on.
  for (let times = 1; times <= 3; times++) {
    const again = [...filters]
    const [offset, size] = [table.random.below(total + 3), 5 + table.random.below(46)]
    const page = columns.page(again, sorts, offset, size, bounds)
    if (page === null) return table.hasOdd(filters) ? null : `${shown}: no page`
    const ids = all.slice(offset, offset + size)
    const misprint = misprinted(table, page)
    if (misprint !== null) return misprint
    if (page.total === total && page.ids.join() === ids.join()) {
      const fault = besideFault(table, columns, { filters: again, sorts, all, bounds })
      if (fault !== null) return `${shown} by ${shownOrder}: ${fault}`
      continue
    }
    return `${shown} by ${shownOrder} from ${offset}, time ${times}: ${page.total} ${page.ids}, not ${total} ${ids}`
  }
  return null
}

/** A page beside a row that is not as it should be; null: it is. */
function besideFault(
  table: RandomTable,
  columns: ColumnTable,
  {
    filters,
    sorts,
    all,
    bounds,
  }: { filters: Filter[]; sorts: Sort[]; all: readonly number[]; bounds: Bounds | undefined },
): string | null {
  if (all.length === 0) return null
  const at = table.random.below(all.length)
  const size = 5 + table.random.below(10)
  const row = table.row(all[at] as number) as Row
  const position = order(table.entity, sorts).map(
    ({ property }) => row[table.entity.properties.indexOf(property)] as string | null,
  )
  for (const side of ['behind', 'before'] as const) {
    const page = columns.pageBeside(filters, sorts, { side, position }, size, bounds)
    const from = side === 'behind' ? at + 1 : Math.max(0, at - size - 1)
    const ids = all.slice(from, side === 'behind' ? at + size + 2 : at)
    if (page === null || page.total !== all.length || page.ids.join() !== ids.join())
      return `${side} ${position}: ${page?.total} ${page?.ids}, not ${ids}`
  }
  return null
}

/** A row of the page that is not the table's, as PostgreSQL prints it or as JSON; null: there is none. */
function misprinted(table: RandomTable, page: FoundPage): string | null {
  const { entity } = table
  const writer = new JsonWriter()
  for (const [index, id] of page.ids.entries()) {
    const own = table.row(id) as Row
    const printed = own.map((_, place) => page.rows.print(index, place))
    if (JSON.stringify(own) !== JSON.stringify(printed)) return `${printed} is printed for ${own}`
    codedWriter(entity, null)(page.rows, index, writer)
    const written = new TextDecoder('utf-8', { ignoreBOM: true }).decode(writer.take())
    if (written !== writeEntity(entity, own)) return `${written} is written for ${own}`
  }
  return null
}

function filled(entity: Entity, table: RandomTable, kernel: Kernel, options?: ClusterOptions): ColumnTable {
  const columns = new ColumnTable(entity, kernel, options)
  for (const row of table.rows) columns.add(row)
  return columns
}

for (const hasVectors of [true, false])
  describe(`${hasVectors ? 'with' : 'without'} vectors, SEED=${SEED}`, () => {
    for (const entity of [absence, company] as Entity[])
      test(`${entity.plural}: lists are those of the predicate, after changes`, () => {
        const random = new Random(SEED)
        const table = new RandomTable(entity, random, 800)
        const columns = filled(entity, table, new Kernel(MEMORY, hasVectors))
        expect(differences(table, columns, 60)).toEqual([])
        for (let round = 0; round < 6; round++) {
          take(columns, table.change(150))
          expect(columns.rows).toBe(table.rows.length)
          expect(differences(table, columns, 40)).toEqual([])
        }
      })
  })

const reading = defineEntity('Reading', {
  id: identity(),
  label: text(),
  on: boolean(),
  at: instant(),
  amount: decimal(8),
})

/** Counts how often lists were looked for among clustered rows: by a range of their property, by their order. */
function countNear(columns: ColumnTable): () => [byRange: number, byOrder: number] {
  const nearest = columns.clusters.nearest.bind(columns.clusters)
  const near = columns.clusters.near.bind(columns.clusters)
  let [byRange, byOrder] = [0, 0]
  columns.clusters.nearest = (conditions) => {
    const rows = nearest(conditions)
    if (rows instanceof ClusteredRows) byRange++
    return rows
  }
  columns.clusters.near = (key) => {
    const rows = near(key)
    if (rows !== null) byOrder++
    return rows
  }
  return () => [byRange, byOrder]
}

const placeOf = ({ properties }: Entity, column: string) =>
  properties.findIndex((property) => property.column === column)

describe(`rows that lie by another property, SEED=${SEED}`, () => {
  for (const [entity, column] of [
    [absence, 'start'],
    [absence, 'period_days'],
    [reading, 'at'],
    [reading, 'amount'],
  ] as const)
    test(`${column} of ${entity.plural}: lists are the same, also while the rows are taken over and changed`, () => {
      const random = new Random(SEED)
      const table = new RandomTable(entity, random, 800)
      // So that pages are looked for from an end of the rows, whether that is worth it or not, or only where it is.
      const columns = filled(entity, table, new Kernel(MEMORY), { bucketRows: 30, segmentAsRows: random.pick([0, 8]) })
      const near = countNear(columns)
      for (let round = 0; round < 4; round++) {
        const rows = columns.clusters.begin(placeOf(entity, column))
        // Some of the table is taken over when it changes, the rest later.
        columns.takeOver(rows, random.pick([0, random.below(900), 1_000]))
        for (let changed = 0; changed < 3; changed++) {
          take(columns, table.change(50))
          columns.takeOver(rows, random.below(300))
          take(columns, table.change(50))
          expect(differences(table, columns, 8)).toEqual([])
        }
        while (columns.takeOver(rows, 5_000));
        expect(rows.isWhole).toBe(true)
        expect(differences(table, columns, 30)).toEqual([])
        for (let changed = 0; changed < 3; changed++) {
          take(columns, table.change(150))
          expect(differences(table, columns, 20)).toEqual([])
        }
        columns.giveUpClusters()
        expect(differences(table, columns, 10)).toEqual([])
      }
      const [byRange, byOrder] = near()
      expect(byRange).toBeGreaterThan(20)
      // Few of the random lists are sorted by it.
      expect(byOrder).toBeGreaterThan(0)
    })
})

test(`rows that lie by another property: pages of many rows that tie there; SEED=${SEED}`, () => {
  const random = new Random(SEED)
  const columns = new ColumnTable(reading, new Kernel(MEMORY), { segmentAsRows: random.pick([0, 1_000]) })
  // Of each more than a segment has room for.
  const instants: (string | null)[] = [
    '2024-01-01 00:00:00+00',
    '2024-01-02 00:00:00+00',
    '2024-01-03 00:00:00+00',
    null,
  ]
  const rows = Array.from({ length: 40_000 }, (_, index): Row => {
    return [String(index + 1), null, 't', random.pick(instants), '1']
  })
  for (const row of rows) columns.add(row)
  const near = countNear(columns)
  const clustered = columns.clusters.begin(placeOf(reading, 'at'))
  while (columns.takeOver(clustered, 10_000));
  for (let change = 0; change < 4_000; change++) {
    const at = random.below(rows.length)
    const before = rows[at] as Row
    const after = before.with(3, random.pick(instants))
    columns.put(after)
    rows[at] = after
  }
  for (const query of [
    'sort=At',
    'sort=-At',
    'At=>=2024-01-02T00:00:00Z&sort=-At',
    'At=<2024-01-03T00:00:00Z&sort=At',
  ]) {
    const { filters, sorts } = parseList(reading, query)
    const matches = compilePredicate(reading, filters) as (row: Row) => boolean
    const rank = (row: Row) => instants.indexOf(row[3] as string | null)
    // The id breaks ties in the same direction.
    const all = rows.filter(matches).sort((one, other) => rank(one) - rank(other))
    if (query.includes('-At')) all.reverse()
    for (let times = 0; times < 6; times++) {
      const offset = random.below(all.length)
      const page = columns.page([...filters], sorts, offset, 30)
      expect(page?.ids).toEqual(all.slice(offset, offset + 30).map(([id]) => Number(id)))
    }
  }
  for (const times of near()) expect(times).toBeGreaterThan(3)
})

test(`rows that lie by another property: other lists may come between a list's total and its page; SEED=${SEED}`, () => {
  const random = new Random(SEED)
  const table = new RandomTable(absence, random, 800, 0)
  // Each page that can be found from an end of the rows is.
  const columns = filled(absence, table, new Kernel(MEMORY), { bucketRows: 30, segmentAsRows: 0 })
  const near = countNear(columns)
  for (const column of ['start', 'period_days']) {
    const rows = columns.clusters.begin(placeOf(absence, column))
    while (columns.takeOver(rows, 5_000));
  }
  table.rank(columns)
  const byStart = parseList(absence, 'sort=-Start').sorts
  // Some lists are asked for again and again, and some, of a few years, never before.
  const again = Array.from({ length: 8 }, () => ({ filters: table.filters().slice(0, 1), sorts: byStart }))
  const anew = () => {
    const { filters } = parseList(absence, `Start=>=${2010 + random.below(20)}-01-01T00:00:00Z`)
    return { filters: [...filters, ...table.filters()], sorts: table.sorts() }
  }
  for (let round = 0; round < 150; round++) {
    const asked = Array.from({ length: 4 }, () => {
      const { filters, sorts } = random.chance(70) ? random.pick(again) : anew()
      return { filters: [...filters], sorts, bounds: table.boundsOf(columns, filters), ids: table.ids(filters, sorts) }
    })
    for (const { filters, bounds, ids } of asked) expect(totalOf(columns, filters, bounds)).toBe(ids.length)
    for (const { filters, sorts, bounds, ids } of asked.toReversed()) {
      const [offset, size] = [random.below(ids.length + 3), 5 + random.below(46)]
      const page = columns.page(filters, sorts, offset, size, bounds)
      expect([page?.total, page?.ids]).toEqual([ids.length, ids.slice(offset, offset + size)])
    }
  }
  for (const times of near()) expect(times).toBeGreaterThan(20)
})

test(
  `a table of two segments: pages lie in the middle of rows that tie; SEED=${SEED}`,
  () => {
    const random = new Random(SEED)
    const table = new RandomTable(reading, random, 68_000)
    const columns = filled(reading, table, new Kernel(MEMORY))
    take(columns, table.change(100))
    expect(differences(table, columns, 12)).toEqual([])
  },
  TIMEOUT_MS,
)

test('a text that reads like no value is another list', () => {
  const columns = new ColumnTable(company, new Kernel(MEMORY))
  for (const [index, name] of [null, null, 'null', 'Ada'].entries()) columns.add([String(index + 1), name, 't'])
  const filtersOf = (text: string) => parseList(company, text).filters
  expect(totalOf(columns, filtersOf('Name='))).toBe(2)
  expect(totalOf(columns, filtersOf('Name=null'))).toBe(1)
  expect(totalOf(columns, filtersOf('Name=!=null'))).toBe(3)
  expect(totalOf(columns, filtersOf('Name=!='))).toBe(2)
})

describe('memory', () => {
  test('of a table that is released is used for the next one', () => {
    const random = new Random(SEED)
    const kernel = new Kernel(MEMORY)
    const before = kernel.bytes
    for (let round = 0; round < 20; round++) {
      const table = new RandomTable(absence, random, 50)
      const columns = filled(absence, table, kernel, { bucketRows: 20 })
      columns.takeOver(columns.clusters.begin(placeOf(absence, 'start')), random.below(60))
      expect(differences(table, columns, 3)).toEqual([])
      columns.release()
      expect(kernel.bytes).toBe(before)
    }
  })

  test('of a page that was found is its own, whatever becomes of the table', () => {
    const random = new Random(SEED)
    const kernel = new Kernel(MEMORY)
    const table = new RandomTable(absence, random, 300, 0)
    const columns = filled(absence, table, kernel)
    const { filters, sorts } = parseList(absence, 'sort=-Id')
    const ids = table.rows.map(([id]) => Number(id)).reverse()
    const pages = [0, 7, 1_000].map((offset) => columns.page(filters, sorts, offset, 20) as FoundPage)
    columns.release()
    // It comes to lie in the same memory.
    filled(absence, new RandomTable(absence, random, 400), kernel)
    expect(pages.map((page) => page.ids)).toEqual([ids.slice(0, 20), ids.slice(7, 27), []])
    expect(pages.map((page) => misprinted(table, page))).toEqual([null, null, null])
  })

  test('that does not suffice for the rows once more is given back, and lists are the same', () => {
    const random = new Random(SEED)
    const table = new RandomTable(absence, random, 800)
    const kernel = new Kernel(24 * 2 ** 20)
    const columns = filled(absence, table, kernel, { bucketRows: 8 })
    const before = [kernel.bytes, columns.bytes]
    const rows = columns.clusters.begin(placeOf(absence, 'start'))
    while (columns.takeOver(rows, 100));
    expect([rows.isReleased, rows.isWhole]).toEqual([true, false])
    expect([kernel.bytes, columns.bytes]).toEqual(before)
    take(columns, table.change(100))
    expect(differences(table, columns, 20)).toEqual([])
  })

  test('that does not suffice is refused by a name, and nothing of the table stays', () => {
    const kernel = new Kernel(2 * 2 ** 20)
    const before = kernel.bytes
    const columns = new ColumnTable(absence, kernel)
    // One of them has a code for each value, and so comes to lie in the kernel's memory.
    const { rows } = new RandomTable(absence, new Random(SEED), 50)
    expect(() => {
      for (const row of rows) columns.add(row)
    }).toThrow(KernelFull)
    columns.release()
    expect(kernel.bytes).toBe(before)
  })

  test('of rows that are gone is given back, and slots of late ones are used again', () => {
    const kernel = new Kernel(MEMORY)
    const columns = new ColumnTable(company, kernel)
    const row = (id: number): Row => [String(id), id % 2 === 0 ? 'even' : 'odd', 't']
    const insert = (id: number): Change => ({ before: null, after: row(id) })
    const remove = (id: number): Change => ({ before: row(id), after: null })
    for (let id = 11; id <= 70_010; id++) columns.add(row(id))
    const full = kernel.bytes
    for (let id = 11; id <= 70_010; id++) if (id < 69_990) take(columns, [remove(id)])
    expect(kernel.bytes).toBeLessThan(0.7 * full)
    expect(columns.bytes).toBeLessThan(kernel.bytes)
    const odd = parseList(company, 'Name=odd&sort=-Id')
    expect(columns.page(odd.filters, odd.sorts, 8, 5)).toMatchObject({ total: 10, ids: [69_993, 69_991] })
    take(columns, [insert(20), remove(69_991), insert(21)])
    const withLate = kernel.bytes
    for (let round = 0; round < 50; round++) take(columns, [remove(20), insert(19), remove(19), insert(20)])
    expect(kernel.bytes).toBe(withLate)
    expect(columns.page(odd.filters, odd.sorts, 8, 5)).toMatchObject({ total: 10, ids: [69_993, 21] })
    expect(columns.rows).toBe(22)
    columns.release()
    expect(kernel.bytes).toBe(new Kernel(MEMORY).bytes)
  })

  test('that the table takes is what it says', () => {
    const kernel = new Kernel(MEMORY)
    const before = kernel.bytes
    const columns = filled(absence, new RandomTable(absence, new Random(SEED), 100), kernel)
    expect(columns.bytes).toBeGreaterThanOrEqual(kernel.bytes - before)
    expect(columns.bytes).toBeLessThan(1.1 * (kernel.bytes - before))
  })
})

describe('what codes cannot tell', () => {
  const row = (id: number, name: string | null): Row => [String(id), name, 't']
  const columns = new ColumnTable(company, new Kernel(MEMORY))
  for (const [index, name] of ['b', 'a', 'c', null, ''].entries()) columns.add(row(index + 1, name))
  const name = company.byName.get('name') as Property
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
    expect(columns.page([], list('sort=-Name').sorts, 0, 9)?.ids).toEqual([4, 3, 1, 2, 5])
    columns.add(row(6, 'd'))
    expect(totalOf(columns, filters, bounds)).toBeNull()
    expect(columns.page([], list('sort=-Name').sorts, 0, 9)).toBeNull()
    expect(totalOf(columns, list('Name=d').filters)).toBe(1)
    columns.useRanks(name, null)
    expect(totalOf(columns, filters)).toBeNull()
  })

  test('is null: an operator that is not one of order', () => {
    const [filter] = list('Name=d').filters as [Filter]
    const other = { ...filter, operator: { ...filter.operator, sides: null } }
    expect(totalOf(columns, [other])).toBeNull()
    expect(columns.page([other], [], 0, 5)).toBeNull()
  })
})
