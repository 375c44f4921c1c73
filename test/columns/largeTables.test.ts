import { expect, test } from 'bun:test'
import type { ColumnStore } from '../../src/columns/columnStore.ts'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { Leaf, SortedIndex } from '../../src/columns/sortedIndex.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { codeUnitTexts } from '../support/codeUnitOrder.ts'
import { faultsOf, heldBy, stretchesOfIds } from '../support/columnInvariants.ts'
import { findList, ListComparison } from '../support/columnLists.ts'
import { until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { caller, idsOf, listOf, RandomTable, take } from '../support/randomTable.ts'
import { reading } from '../support/reading.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
/** Indexes of fewer rows have no checkpoints. */
const ROWS = 34_000
const NONE = { extremes: 0, uncoded: 0 }

/** Returns the time `hours` after the begin of 2015. */
function hour(hours: number): string {
  return new Date(Date.UTC(2015, 0, 1) + hours * 3_600_000).toISOString().slice(0, 19).replace('T', ' ').concat('+00')
}

/** Its time grows with the id, so that the first rows of a list by time are the last ones by id. */
function rowOf(id: number, random: Random): Row {
  const label = random.chance(5) ? null : `label ${random.below(400)}`
  const at = random.chance(3) ? null : hour(id >> 1)
  const amount = `${random.below(1_000)}.25000000`
  return [String(id), label, random.chance(80) ? 't' : 'f', at, amount, random.chance(90) ? '7' : String(random.below(20))]
}

function largeTable(random: Random, rows = ROWS): RandomTable {
  const table = new RandomTable(reading, random, 0, NONE)
  for (let id = 1_000_001; id <= 1_000_000 + rows; id++) table.put(rowOf(id, random))
  return table
}

const middle = 1_000_000 + ROWS / 2
const time = (share: number) =>
  `${hour((1_000_000 + share * ROWS) / 2)
    .slice(0, 19)
    .replace(' ', 'T')}Z`
const LISTS = [
  ...[
    '',
    'sort=-At',
    'sort=-Amount',
    'sort=Label',
    'sort=On,-At',
    'sort=-Level,Label',
    'sort=Label,-Level,At',
    'sort=-On,Level,-Label',
  ],
  ...[`Id=<${middle}&On=true&sort=-At`, `Id=<${1_000_000 + ROWS / 10}&On=true&sort=-At`, `Id=>${middle}&On=true&sort=At`],
  ...[`At=>=${time(0.1)}&At=<${time(0.9)}&sort=-At`, `At=>=${time(0.1)}&At=<${time(0.9)}&On=false&sort=At`],
  ...[`At=>=${time(0.4)}&At=<${time(0.5)}&On=true&sort=-Amount`, `At=<${time(0.01)}&sort=Amount`],
  ...['Label=label 7&sort=-At', 'Label=!=label 7&Level=7&sort=Amount', 'Label=&sort=-Id', 'At=&sort=-Label', 'At=!=&On=false'],
  ...[
    'Label=>label 2&Label=<label 3&sort=-Label',
    'Label[begins]=LABEL 1&sort=At',
    'Label[contains]=l 33',
    'Label[]=label 3&Label[]=',
  ],
  ...[
    'Amount[]=3.25&Amount[]=4.250&Amount[]=3.250&sort=-At',
    'Amount=>=990&sort=Level,Id',
    `Level=7&Id=>${middle}&sort=-Level,At`,
  ],
]

async function differences(comparison: ListComparison, lists = LISTS, pages = 2): Promise<string[]> {
  const found: string[] = []
  for (const list of lists) found.push(...(await comparison.differencesOf(parseList(wholeView(reading), list), pages)))
  return found
}

async function built(columns: ColumnTable): Promise<void> {
  for (const list of LISTS) await findList(columns, listOf(parseList(wholeView(reading), list)))
  await columns.indexesBuilt()
}

test(`lists of many rows are correct by each way of searching; SEED=${SEED}`, async () => {
  const random = new Random(SEED)
  const table = largeTable(random)
  const columns = table.load()
  const comparison = new ListComparison(table, columns)
  expect(await differences(comparison)).toEqual([])
  await columns.indexesBuilt()
  const changes = table.change(400)
  take(columns, changes)
  expect(await differences(comparison)).toEqual([])
  expect(faultsOf(columns)).toEqual([])
  expect(Object.entries(comparison.ways).filter(([, lists]) => lists === 0)).toEqual([])
  expect(heldBy(columns).checkpoints).toBeGreaterThan(4 * 20)
  expect(heldBy(columns).bitmaps).toBeGreaterThan(10)
})

test(`checkpoints stay correct and similarly spaced while rows are added at one end and removed at the other; SEED=${SEED}`, async () => {
  const random = new Random(SEED)
  const table = largeTable(random)
  // Without enough slots for the rows that are added later.
  const columns = table.load({ has: () => true }, true, 150_000)
  await built(columns)
  expect(faultsOf(columns)).toEqual([])
  for (let id = 1_000_001 + ROWS; id <= 1_100_000 + ROWS; id++) columns.put(rowOf(id, random))
  expect(Math.max(...stretchesOfIds(columns))).toBeLessThan(2.5)
  expect(faultsOf(columns)).toEqual([])
  for (let id = 1_000_001; id <= 1_000_000 + ROWS; id++) columns.remove(String(id))
  // Ids that come late, in slots of rows that are gone.
  for (let id = 999_000; id < 1_020_000; id += 3) columns.put(rowOf(id, random))
  expect(faultsOf(columns)).toEqual([])
  const { filters, sorts } = parseList(wholeView(reading), `Id=<${1_000_200 + ROWS}&sort=-Id`)
  const late = Array.from({ length: 7_000 }, (_, index) => 999_000 + 3 * index)
  const wanted = [...late, ...Array.from({ length: 199 }, (_, index) => 1_000_001 + ROWS + index)].reverse()
  const found = await findList(columns, listOf({ filters, sorts }, 4))
  expect([typeof found === 'string' ? found : found.total, idsOf(found)]).toEqual([7_199, wanted.slice(150, 200)])
})

test(`lists, indexes, bitmaps and checkpoints stay correct when codes of a column no longer fit into 32 bits; SEED=${SEED}`, async () => {
  const random = new Random(SEED)
  const table = largeTable(random)
  const columns = table.load()
  await built(columns)
  const before = heldBy(columns)
  const far: [place: number, value: string][] = [
    [3, '9999-12-31 00:00:00+00'],
    [4, '-9999999999.99999999'],
    [5, '9007199254740991'],
  ]
  for (const [place, value] of far) {
    const after = table.someRow().with(place, value)
    table.put(after)
    columns.put(after)
    expect(faultsOf(columns)).toEqual([])
  }
  const comparison = new ListComparison(table, columns)
  expect(await differences(comparison, LISTS, 1)).toEqual([])
  // An id beyond 32 bits.
  const far2 = table.someRow().with(0, '4294967296')
  table.put(far2)
  columns.put(far2)
  const lists = ['', 'sort=-Id', 'sort=-At', 'Id=>4294967295', 'Amount=<0&sort=Id', 'At=>2050-01-01T00:00:00Z', 'sort=-Level,At']
  expect(await differences(comparison, lists)).toEqual([])
  await columns.indexesBuilt()
  expect(faultsOf(columns)).toEqual([])
  expect(heldBy(columns).indexes).toBe(before.indexes)
})

test(`an index has the new values of rows that changed between the slices of its building; SEED=${SEED}`, async () => {
  const random = new Random(SEED)
  // So many rows that building an index takes several turns of the event loop.
  const rows = 160_000
  const table = largeTable(random, 0)
  const columns = table.load(undefined, true, rows)
  for (let id = 1; id <= rows; id++) columns.put(rowOf(id, random))
  let last = rows
  let turns = 0
  for (const query of ['sort=At', 'sort=Amount', 'sort=Label', 'sort=-Level,At']) {
    const list = listOf(parseList(wholeView(reading), query))
    await until(async () => {
      await columns.prepare(list, caller)
      return columns.lists.find(list) !== 'texts'
    })
    let isBuilding = true
    columns.indexesBuilt().then(() => (isBuilding = false))
    for (; isBuilding; turns++) {
      for (let left = 5; left > 0; left--) {
        columns.put(rowOf(++last, random))
        columns.put(rowOf(1 + random.below(last), random))
        columns.remove(String(1 + random.below(last)))
      }
      await new Promise(setImmediate)
    }
    expect(columns.lists.find(list)).not.toBeString()
  }
  // More than one for each index.
  expect(turns).toBeGreaterThan(4)
  await columns.indexesBuilt()
  expect(heldBy(columns).indexes).toBe(4)
  expect(faultsOf(columns)).toEqual([])
})

test(`indexes, checkpoints and bitmaps stay correct when texts get new ranks in the same order; SEED=${SEED}`, async () => {
  const random = new Random(SEED)
  const table = largeTable(random)
  const columns = table.load()
  await built(columns)
  const ranks = () => columns.texts.ranksOf(1)?.ranks as Uint32Array
  const before = ranks().slice(0, 300)
  const byLabel = listOf(parseList(wholeView(reading), 'sort=Label'))
  // Each text comes between the one before and the next text, and halves the gap between their ranks.
  for (let count = 1; count <= 50; count++) {
    const after = table.someRow().with(1, `label 2${'0'.repeat(count)}`)
    table.put(after)
    columns.put(after)
    expect(await findList(columns, byLabel)).not.toBeString()
  }
  expect(ranks().slice(0, 300)).not.toEqual(before)
  expect(heldBy(columns).checkpoints).toBeGreaterThan(0)
  expect(faultsOf(columns)).toEqual([])
  const lists = ['sort=-Label', 'Label=>label 2&sort=Label', 'Label=<=label 200000&sort=-Label', 'On=true&sort=Label,-At']
  expect(await differences(new ListComparison(table, columns), lists, 3)).toEqual([])
  expect(faultsOf(columns)).toEqual([])
})

test(`filters that contradict each other match no row, whichever rows the index has between their operands; SEED=${SEED}`, async () => {
  const random = new Random(SEED)
  const columns = largeTable(random).load()
  await built(columns)
  const found: [string, unknown][] = []
  for (let count = 0; count < 400; count++) {
    const [low, high] = [random.below(1_000), random.below(1_000)].sort((one, other) => one - other) as [number, number]
    const [first, last] = [`label ${low}`, `label ${high}`].sort() as [string, string]
    const { filters, other } = random.pick([
      { filters: `Amount=>${high}.5&Amount=<${low}.5`, other: '' },
      { filters: `Id=>${1_000_000 + 34 * high}&Id=<=${1_000_000 + 34 * low}`, other: '&Level=7' },
      { filters: `At=>=${time(high / 1_000)}&At=<${time(low / 1_000)}`, other: '&On=true' },
      { filters: `Label=>${last}&Label=<${first}`, other: '&sort=-At' },
    ])
    // A repeated filter has a kept bitmap, also together with a filter that few rows match.
    for (const text of [filters + other, filters, `Id=<=1000500&${filters}`, `Id=<=1000500&${filters}`]) {
      const list = await findList(columns, listOf(parseList(wholeView(reading), text)))
      const total = typeof list === 'string' ? list : list.total
      if (total !== 0) found.push([text, total])
    }
  }
  expect(found).toEqual([])
})

test(`a half-built index becomes correct although texts get new ranks while changed rows are removed from it; SEED=${SEED}`, async () => {
  const table = largeTable(new Random(SEED))
  const columns = table.load()
  // Private, since the steps of a building depend on the time.
  const { indexes } = columns as unknown as {
    indexes: { enqueue(job: Iterator<void>): void; entries: ({ building: { index: SortedIndex | null } | null } | null)[] }
  }
  const jobs: Iterator<void>[] = []
  indexes.enqueue = (job) => void jobs.push(job)
  const byLabel = listOf(parseList(wholeView(reading), 'sort=Label'))
  expect(await findList(columns, byLabel)).toBe('index')
  const [job] = jobs as [Iterator<void>]
  while (!indexes.entries.some((entry) => entry?.building?.index)) expect(job.next().done).toBe(false)
  const ranks = () => columns.texts.ranksOf(1)?.ranks as Uint32Array
  const before = ranks().slice(0, 300)
  for (let count = 1; count <= 50; count++) {
    const after = table.someRow().with(1, `label 2${'0'.repeat(count)}`)
    table.put(after)
    columns.put(after)
    await findList(columns, byLabel)
  }
  expect(ranks().slice(0, 300)).not.toEqual(before)
  for (let count = 0; count < 500; count++) {
    const row = table.someRow()
    columns.put(row.with(1, 'label 3'))
    columns.put(row)
  }
  while (!job.next().done);
  expect(await differences(new ListComparison(table, columns), ['sort=Label', 'Label=label 2&sort=-Label'], 3)).toEqual([])
  expect(faultsOf(columns)).toEqual([])
})

test('a checkpoint that is added because the last row of a leaf is removed is correct', async () => {
  const rows = 100_000
  const columns = new RandomTable(reading, new Random(SEED), 0, NONE).load(undefined, true, rows)
  // From the greatest id on, so that the leaves lie in memory in another order than in the index.
  for (let id = rows; id > 0; id--) columns.put([String(id), null, 't', null, null, '7'])
  await findList(columns, listOf(parseList(wholeView(reading), 'sort=-Id')))
  await columns.indexesBuilt()
  // Private, since no public method tells which rows a leaf has.
  const { ids } = (columns as unknown as { indexes: { ids: SortedIndex } }).indexes
  const { address, size } = ids.leaves[(ids.leaves.length - 1) >> 1] as Leaf
  const { store } = ids.order
  const inLeaf = Array.from(store.kernel.words.subarray(address >>> 2, (address >>> 2) + size), (slot) => store.idAt(slot))
  const last = inLeaf.at(-1) as number
  for (const id of inLeaf) if (id !== last) columns.remove(String(id))
  const { all } = ids.checkpoints
  const next = ids.checkpoints.nextAfter(ids.order.targetAt(last, last))
  const stretch = all[next] as (typeof all)[number]
  // Removes other rows until the removal of one more row makes the stretch too long.
  for (let id = 1; stretch.rows - 1 <= (2 * (ids.size - 1)) / 32; id++)
    if (id % 4 > 0 && (id < (all[next - 1]?.target.id ?? 0) || id >= stretch.target.id)) columns.remove(String(id))
  expect([faultsOf(columns), all.includes(stretch)]).toEqual([[], true])
  const { rows: before } = stretch
  columns.remove(String(last))
  expect(faultsOf(columns)).toEqual([])
  expect(stretch.rows).toBeLessThan(before / 1.5)
})

test('no single step of building an index handles all rows', async () => {
  const rows = 300_000
  const columns = new RandomTable(reading, new Random(SEED), 0, NONE).load(undefined, true, rows)
  for (let id = 1; id <= rows; id++) columns.put([String(id), null, 't', null, null, String(id % 1_000)])
  // Private, since one turn of the event loop runs as many steps as it has time for.
  const { indexes, store } = columns as unknown as { indexes: { enqueue(job: Iterator<void>): void }; store: ColumnStore }
  const taken: number[] = []
  indexes.enqueue = (job) => {
    const { kernel } = store as unknown as { kernel: { next: number } }
    for (let isDone = false; !isDone; ) {
      const before = kernel.next
      isDone = job.next().done === true
      taken.push(kernel.next - before)
    }
  }
  const list = listOf(parseList(wholeView(reading), 'sort=Level'))
  expect([columns.lists.find(list), typeof columns.lists.find(list)]).toEqual(['index', 'object'])
  expect(faultsOf(columns)).toEqual([])
  const all = taken.reduce((sum, one) => sum + one, 0)
  expect(Math.max(...taken)).toBeLessThan(all / 3)
})

test('rows whose texts get ranks at the same time are added to an index in many steps, not in one', async () => {
  const labels = Array.from({ length: 1_000 }, (_, index) => `label ${index}`)
  const columns = new ColumnTable(
    reading,
    30_000,
    codeUnitTexts(() => labels),
    { has: () => true },
  )
  const put = (id: number) => columns.put([String(id), labels[id % labels.length] as string, 't', null, null, null])
  for (let id = 1; id <= 5_000; id++) put(id)
  const list = listOf(parseList(wholeView(reading), 'sort=-Label'))
  expect(await findList(columns, list)).toMatchObject({ total: 5_000 })
  // So many that their order is read.
  for (let id = 1_000; id < 24_000; id++) labels.push(`later ${id}`)
  for (let id = 5_001; id <= 29_000; id++) put(id)
  // Private, since the steps may be over before this test sees them.
  const { indexes } = columns as unknown as { indexes: { enqueue(job: Iterator<void>): void } }
  const jobs: Iterator<void>[] = []
  indexes.enqueue = (job) => void jobs.push(job)
  columns.texts.placeNew()
  await until(() => columns.texts.isOrdered(1))
  expect(columns.lists.find(list)).toBe('index')
  expect(faultsOf(columns)).toEqual([])
  let steps = 1
  while (!jobs[0]?.next().done) steps++
  expect([steps > 20, jobs.length]).toEqual([true, 1])
  const found = columns.lists.find(list)
  const wanted = Array.from({ length: 28_999 - 5_000 }, (_, index) => labels[(5_001 + index) % labels.length] as string)
  const [last] = wanted.sort().reverse()
  expect(typeof found === 'string' ? found : [found.total, found.rows.print(0, 1)]).toEqual([29_000, last ?? ''])
  expect(faultsOf(columns)).toEqual([])
})

test('checkpoints that are freed while they are built are all built again', async () => {
  const random = new Random(SEED)
  const columns = largeTable(random).load()
  // Private, since a turn of the event loop has time for all steps.
  const { indexes } = columns as unknown as { indexes: { enqueue(job: Iterator<void>): void } }
  const jobs: Iterator<void>[] = []
  indexes.enqueue = (job) => void jobs.push(job)
  const list = listOf(parseList(wholeView(reading), 'sort=-Id'))
  const finish = () => {
    for (const job of jobs.splice(0)) while (!job.next().done);
  }
  await findList(columns, list)
  for (let step = 0; step < 10; step++) jobs[0]?.next()
  await Bun.sleep(2)
  columns.freeUnused('checkpoints', 0)
  finish()
  await findList(columns, list)
  finish()
  expect(Math.max(...stretchesOfIds(columns))).toBeLessThan(1.5)
  expect(heldBy(columns).checkpoints).toBe(31)
  expect(faultsOf(columns)).toEqual([])
})
