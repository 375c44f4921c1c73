import { describe, expect, test } from 'bun:test'
import { ColumnStore } from '../../src/columns/columnStore.ts'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Indexes } from '../../src/columns/indexes.ts'
import { Kernel, KernelFull } from '../../src/columns/kernel.ts'
import type { FoundPage } from '../../src/columns/listSearch.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Row } from '../../src/model/sql.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { codeUnitTexts } from '../support/codeUnitOrder.ts'
import { faultsOf, heldBy } from '../support/columnInvariants.ts'
import { findList, ListComparison, misprinted } from '../support/columnLists.ts'
import { Random } from '../support/random.ts'
import { idsOf, listOf, RandomTable } from '../support/randomTable.ts'
import { reading } from '../support/reading.ts'

/** Seed of the random values, another one in each run; set SEED to the printed seed to repeat a run. */
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const NONE = { extremes: 0, uncoded: 0 }
const everything = { has: () => true }
const nothing = { has: () => false }

const listed = (query: string) => listOf(parseList(wholeView(reading), query))

describe('memory of a table in columns:', () => {
  test('a page that was found keeps its rows, even if rows of the table are removed or replaced', () => {
    const random = new Random(SEED)
    const table = new RandomTable(absence, random, 300, NONE)
    const columns = table.load()
    const ids = table.rows.map(([id]) => Number(id)).sort((one, other) => other - one)
    const query = parseList(wholeView(absence), 'sort=-Id')
    const pages = [1, 2, 50].map((page) => columns.lists.find(listOf(query, page, 20)) as FoundPage)
    for (const id of ids.slice(0, 30)) columns.remove(String(id))
    for (const row of new RandomTable(absence, random, 400).rows) columns.put(row)
    expect(pages.map(idsOf)).toEqual([ids.slice(0, 20), ids.slice(20, 40), []])
    expect(pages.map((page) => misprinted(table, page))).toEqual([null, null, null])
  })

  test('without memory for an index, only lists of few rows are found, and the next lists do not try to build it', async () => {
    const table = new RandomTable(reading, new Random(SEED), 6_000, NONE)
    let asked = 0
    const columns = table.load({
      has() {
        asked++
        return false
      },
    })
    expect(await findList(columns, listed('sort=-At'))).toBe('index')
    expect(await findList(columns, listed('On=true&sort=-At'))).toBe('index')
    const before = asked
    for (let times = 0; times < 20; times++) await findList(columns, listed('sort=-At'))
    expect(asked).toBe(before)
    for (const query of ['Amount=>29&sort=-At', 'Level=7&sort=Label', '', 'sort=-Id', 'On=true'])
      expect([query, await new ListComparison(table, columns).differencesOf(parseList(wholeView(reading), query), 4)]).toEqual([
        query,
        [],
      ])
    expect(heldBy(columns)).toEqual({ indexes: 0, checkpoints: 0, bitmaps: 0 })
  })

  test('indexes and checkpoints count toward the limit as soon as a list requests them', async () => {
    const table = new RandomTable(reading, new Random(SEED), 34_000, NONE)
    let left = Number.POSITIVE_INFINITY
    const columns: ColumnTable = table.load({ has: (bytes) => columns.bytes + bytes <= left })
    // One index, with its checkpoints.
    left = columns.bytes + 34_000 * 9
    for (const query of ['sort=-At', 'sort=-Amount', 'sort=-Level', 'sort=-At', 'sort=-Amount']) columns.lists.find(listed(query))
    await columns.indexesBuilt()
    for (const query of ['sort=-At', 'sort=-Id']) columns.lists.find(listed(query))
    await columns.indexesBuilt()
    expect([heldBy(columns).indexes, columns.bytes <= left]).toEqual([1, true])
  })

  test('indexes, checkpoints and bitmaps can be freed, and later lists build them again', async () => {
    const table = new RandomTable(reading, new Random(SEED), 34_000, NONE)
    const columns = table.load()
    const build = async () => {
      for (const query of ['sort=-At', 'On=true&sort=Amount', 'Level=7&sort=-At', 'Amount=!=3&On=true'])
        for (let times = 0; times < 2; times++) await findList(columns, listed(query))
      await columns.indexesBuilt()
      await findList(columns, listed('sort=-Amount'))
      await columns.indexesBuilt()
    }
    const bare = columns.bytes
    await build()
    const { bytes } = columns
    const held = heldBy(columns)
    expect(Math.min(held.indexes, held.checkpoints, held.bitmaps)).toBeGreaterThan(1)
    columns.freeUnused('bitmaps', 60_000)
    columns.freeUnused('checkpoints', 60_000)
    columns.freeUnused('indexes', 60_000)
    expect(heldBy(columns)).toEqual(held)
    // All that was used in a former millisecond.
    await Bun.sleep(2)
    columns.freeUnused('bitmaps', 0)
    expect(heldBy(columns)).toEqual({ ...held, bitmaps: 0 })
    columns.freeUnused('checkpoints', 0)
    expect(heldBy(columns)).toEqual({ ...held, bitmaps: 0, checkpoints: 0 })
    columns.freeUnused('indexes', 0)
    expect(heldBy(columns)).toEqual({ indexes: 0, checkpoints: 0, bitmaps: 0 })
    expect(columns.bytes).toBeLessThan(bare + 0.2 * (bytes - bare))
    expect(columns.partsBytes).toBeLessThan(0.2 * (bytes - bare))
    expect(await findList(columns, listed('Level=7&On=true'))).not.toBeString()
    expect(faultsOf(columns)).toEqual([])
  })

  test('a row beyond the number of slots is refused with KernelFull, and lists of the other rows work', () => {
    const columns = new ColumnTable(
      company,
      1,
      codeUnitTexts(() => []),
      everything,
    )
    expect(columns.isWorn).toBe(false)
    let id = 0
    const fill = () => {
      for (; id < 1_000_000; id++) columns.put([String(id + 1), null, 't'])
    }
    expect(fill).toThrow(KernelFull)
    expect([columns.isWorn, columns.rows, id > 100_000, id < 101_000]).toEqual([true, id, true, true])
    // Lists still find the rows of the table.
    expect(columns.lists.find(listOf(parseList(wholeView(company), 'sort=-Id'), 1, 5))).toMatchObject({ total: id })
  })

  test('a large table needs to be loaded again (isWorn) once half of its rows are deleted; a small table does not', () => {
    const columns = new ColumnTable(
      company,
      1,
      codeUnitTexts(() => []),
      nothing,
    )
    for (let id = 1; id <= 1_000; id++) columns.put([String(id), null, 't'])
    for (let id = 1; id <= 900; id++) columns.remove(String(id))
    expect(columns.isWorn).toBe(false)
    const large = new ColumnTable(
      company,
      60_000,
      codeUnitTexts(() => []),
      nothing,
    )
    for (let id = 1; id <= 110_000; id++) large.put([String(id), null, 't'])
    for (let id = 1; id <= 54_000; id++) large.remove(String(id))
    expect(large.isWorn).toBe(false)
    for (let id = 54_001; id <= 56_000; id++) large.remove(String(id))
    expect(large.isWorn).toBe(true)
  })

  test('new rows reuse the memory of deleted rows', () => {
    const columns = new ColumnTable(
      company,
      1_000,
      codeUnitTexts(() => []),
      everything,
    )
    const row = (id: number): Row => [String(id), id % 2 === 0 ? 'even' : 'odd', 't']
    for (let id = 11; id <= 9_010; id++) columns.put(row(id))
    const full = columns.bytes
    for (let id = 11; id < 8_990; id++) columns.remove(String(id))
    for (let id = 8_980; id > 5_000; id--) columns.put(row(id))
    expect(columns.bytes).toBeLessThanOrEqual(full)
    const found = columns.lists.find(listOf(parseList(wholeView(company), 'Name=odd&sort=-Id'), 2, 10)) as FoundPage
    expect([found.total, idsOf(found)]).toEqual([2_000, Array.from({ length: 10 }, (_, index) => 8_979 - 2 * index)])
    expect(faultsOf(columns)).toEqual([])
  })

  test('a kept bitmap has one bit per slot and one bit per text, even if all 100,000 texts match', async () => {
    const columns = new ColumnTable(
      company,
      100_000,
      codeUnitTexts(() => []),
      everything,
    )
    for (let id = 1; id <= 100_000; id++) columns.put([String(id), `name ${id}`, 't'])
    // One collection may keep what the last list has left, since its address is still on the stack: later ones free it.
    const used = async () => {
      const sizes: number[] = []
      for (let left = 5; left > 0; left--) {
        await Bun.sleep(10)
        Bun.gc(true)
        sizes.push(process.memoryUsage().heapUsed)
      }
      return Math.min(...sizes) + columns.bytes
    }
    // Folds the texts.
    await findList(columns, listOf(parseList(wholeView(company), 'Name[contains]=x')))
    const before = await used()
    for (const part of ['n', 'na', 'nam', 'name', 'a', 'am', 'ame', 'm', 'me', 'e'])
      for (let times = 0; times < 2; times++) {
        const found = await findList(columns, listOf(parseList(wholeView(company), `Name[contains]=${part}`)))
        expect(found).toMatchObject({ total: 100_000 })
      }
    expect(heldBy(columns).bitmaps).toBe(10)
    // A bit for each row, and one for each text.
    expect(columns.partsBytes).toBeGreaterThan(10 * 25_000)
    expect((await used()) - before).toBeLessThan(10 * 200_000)
  })

  test('a bitmap is freed again if there is no memory to mark the texts that match', async () => {
    const columns = new ColumnTable(
      company,
      10_000,
      codeUnitTexts(() => []),
      everything,
    )
    // Private, since what a kernel has given out shows nowhere else.
    const { store } = columns as unknown as { store: ColumnStore }
    for (let id = 1; id <= 10_000; id++) columns.put([String(id), `name ${id}`, 't'])
    store.freeBitmap(store.reserveBitmap())
    const fill = () => {
      for (;;) store.kernel.reserve(64)
    }
    expect(fill).toThrow(KernelFull)
    // The second one is to be kept.
    for (let times = 0; times < 3; times++)
      expect(await findList(columns, listOf(parseList(wholeView(company), 'Name[contains]=me')), false)).toBe('index')
    store.freeBitmap(store.reserveBitmap())
  })

  test('1,000 lists with different long filters keep less than 2 MiB', async () => {
    const columns = new ColumnTable(
      company,
      1,
      codeUnitTexts(() => []),
      everything,
    )
    columns.put(['1', 'name', 't'])
    const used = () => {
      Bun.gc(true)
      return process.memoryUsage().heapUsed
    }
    const ask = (count: number) => {
      for (let number = 0; number < count; number++)
        columns.lists.find(listOf(parseList(wholeView(company), `Name=${number}${'x'.repeat(15_000)}`)))
    }
    ask(10)
    const before = used()
    ask(1_000)
    expect(used() - before).toBeLessThan(2 * 2 ** 20)
  })

  test('a new text is marked as matching or not without a new allocation', async () => {
    const columns = new ColumnTable(
      company,
      1_000,
      codeUnitTexts(() => []),
      everything,
    )
    // Private, since what a kernel has given out shows nowhere else.
    const { kernel } = (columns as unknown as { store: { kernel: { next: number } } }).store
    for (let id = 1; id <= 10_000; id++) columns.put([String(id), `name ${id}`, 't'])
    const find = async () => {
      const found = await findList(columns, listOf(parseList(wholeView(company), 'Name[contains]=ME')))
      return typeof found === 'string' ? found : found.total
    }
    expect(await find()).toBe(10_000)
    const before = kernel.next
    for (let id = 10_001; id <= 14_000; id++) {
      columns.put([String(id), `name ${id}`, 't'])
      // Each asks for a bitmap of its own, since the last one does not know the new text.
      if (id % 80 === 0) expect(await find()).toBe(id)
    }
    // Leaves of the index of ids, and one bitmap.
    expect(kernel.next - before).toBeLessThan(100_000)
  })
})

test('an index for which memory runs out during its building frees all that it had reserved', async () => {
  const kernel = new Kernel(4 * 2 ** 20)
  const store = new ColumnStore(kernel, 2, 65_536)
  const indexes = new Indexes(store, 2, () => null, everything)
  for (let id = 0; id < 60_000; id++) {
    const slot = store.takeSlot()
    store.set(slot, 0, 0, id)
    store.set(slot, 1, 0, id % 100)
    indexes.ids.insert(slot)
  }
  const left: number[] = []
  const take = () => {
    for (;;) left.push(kernel.reserve(8_192))
  }
  expect(take).toThrow(KernelFull)
  // Half of what the index needs.
  for (let count = 0; count < 16; count++) kernel.free(left.pop() as number, 8_192)
  indexes.want(1, 'codes')
  await indexes.built()
  expect(indexes.want(1, 'codes')).toBeNull()
  for (let count = 0; count < 16; count++) kernel.reserve(8_192)
  expect(take).toThrow(KernelFull)
})
