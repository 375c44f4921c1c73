import { expect, test } from 'bun:test'
import { Directory } from '../../src/admit/directory.ts'
import { Table } from '../../src/admit/table.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

const SILENT_MS = 10_000
const nowMs = 5_000_000

/** A table that counts how often an entry is looked at. */
class CountedTable extends Table {
  looked = 0

  override entryOf(slot: number): number {
    this.looked++
    return super.entryOf(slot)
  }
}

function directoryOf(
  clients: number,
  { depth = 3, seed = 1, region, reach }: { depth?: number; seed?: number; region?: Region; reach?: number } = {},
) {
  const memory = region ?? privateRegion(Table.words(clients, depth), seed)
  const table = new CountedTable(memory.words, clients, depth)
  const directory = new Directory(memory, table, SILENT_MS, () => nowMs, reach ?? clients)
  const enter = (client: number) => directory.assign(client, -client)
  const find = (client: number) => directory.find(client, -client)
  return { directory, table, words: memory.words, region: memory, enter, find }
}

const range = (length: number, from = 1) => Array.from({ length }, (_, index) => from + index)

test('a client is found in its slot, and clients that differ in any of their 64 bits have different slots', () => {
  const { directory } = directoryOf(16)
  expect([directory.find(1, 1), directory.assign(-1, 1) !== null]).toEqual([null, true])
  const slots = [directory.assign(1, 1), directory.assign(1, 2), directory.assign(2, 1), directory.assign(-1, 1)]
  expect(new Set(slots).size).toBe(4)
  expect([directory.find(1, 1), directory.find(1, 2), directory.find(2, 1), directory.find(-1, 1)]).toEqual(slots)
  expect([directory.find(2, 2), directory.find(1, -1)]).toEqual([null, null])
})

test('a client that was assigned a slot while it waited for the lock is found, not assigned again', () => {
  const region = privateRegion(Table.words(16, 3))
  const first = directoryOf(16, { region })
  let before: number | null = null
  const late = {
    ...region,
    exclusive<T>(work: () => T) {
      before = first.enter(1)
      return work()
    },
  }
  expect(directoryOf(16, { region: late }).enter(1)).toBe(before as never)
  expect(before).not.toBeNull()
})

test('a client to which another process has just assigned the last slot is found, although no slot is vacant', () => {
  const region = privateRegion(Table.words(1, 3))
  const [first, second] = [directoryOf(1, { region }), directoryOf(1, { region })]
  expect(second.find(1)).toBeNull()
  const slot = first.enter(1)
  expect(second.enter(1)).toBe(slot as number)
  expect(second.enter(2)).toBeNull()
})

test('a large table refuses no new client before it is half full, and a refusal takes no longer than the longest probe', () => {
  const { enter, table } = directoryOf(8_192, { depth: 1, reach: 64 })
  expect(range(4_096).map(enter)).not.toContain(null)
  for (const client of range(30_000)) enter(client)
  table.looked = 0
  expect(enter(99_999)).toBeNull()
  expect(table.looked).toBeWithin(1, 200)
})

test('the first slot to try for a client depends on the seed, and similar clients are spread over the table', () => {
  const homes = (seed: number, client: (index: number) => [number, number] = (index) => [index, -index]) =>
    range(1_000).map((index) => directoryOf(1_000, { seed, depth: 1 }).directory.assign(...client(index)))
  const first = homes(1)
  expect(homes(1)).toEqual(first)
  expect(homes(2).filter((home, index) => home === first[index]).length).toBeLessThan(50)
  const patterns: ((index: number) => [number, number])[] = [(index) => [index, 0], (index) => [1, index]]
  for (const pattern of [...patterns, (index: number): [number, number] => [1, index << 16]])
    expect(new Set(homes(1, pattern)).size).toBeGreaterThan(550)
})
