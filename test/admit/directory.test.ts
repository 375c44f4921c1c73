import { describe, expect, test } from 'bun:test'
import { Directory } from '../../src/admit/directory.ts'
import { HEAD, SEEN, TAIL, Table } from '../../src/admit/table.ts'
import type { Region } from '../../src/os/region.ts'
import { privateRegion } from '../support/region.ts'

const SILENT_MS = 10_000
let nowMs = 5_000_000

function directoryOf(
  clients: number,
  { depth = 3, seed = 1, region, reach }: { depth?: number; seed?: number; region?: Region; reach?: number } = {},
) {
  const memory = region ?? privateRegion(Table.words(clients, depth), seed)
  const table = new Table(memory.words, clients, depth)
  const directory = new Directory(memory, table, SILENT_MS, () => nowMs, reach ?? clients)
  const enter = (client: number) => directory.enter(client, -client)
  const find = (client: number) => directory.find(client, -client)
  return { directory, table, words: memory.words, region: memory, enter, find }
}

const range = (length: number, from = 1) => Array.from({ length }, (_, index) => from + index)

describe('enter and find', () => {
  test('those in use are the clients that were seen of late', () => {
    const { directory, table, words, enter } = directoryOf(16)
    for (const client of [1, 2, 3]) words[table.entryOf(enter(client) as number) + SEEN] = nowMs / 1_000
    expect(directory.countInUse()).toBe(3)
    words[table.entryOf(enter(2) as number) + SEEN] = (nowMs - 2 * SILENT_MS) / 1_000
    expect(directory.countInUse()).toBe(2)
  })

  test('all 64 bits count', () => {
    const { directory } = directoryOf(16)
    const slots = [directory.enter(1, 1), directory.enter(1, 2), directory.enter(2, 1), directory.enter(-1, 1)]
    expect(new Set(slots).size).toBe(4)
    expect([directory.find(1, 1), directory.find(1, 2), directory.find(2, 1), directory.find(-1, 1)]).toEqual(slots)
    expect([directory.find(2, 2), directory.find(1, -1)]).toEqual([null, null])
  })

  test('a client that enters while another waits for the lock is found, not entered twice', () => {
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
})

test('who has just got the last entry by another process is found, though nothing is vacant any more', () => {
  const region = privateRegion(Table.words(1, 3))
  const first = directoryOf(1, { region })
  const second = directoryOf(1, { region })
  expect(second.find(1)).toBeNull()
  const slot = first.enter(1)
  expect(second.enter(1)).toBe(slot as number)
  expect(second.enter(2)).toBeNull()
})

describe('room', () => {
  test.each([1, 2, 16, 1_024])('a table of %d has room for exactly so many', (clients) => {
    const { enter, find } = directoryOf(clients)
    const slots = range(clients).map(enter)
    expect(new Set(slots).size).toBe(clients)
    expect(slots.every((slot) => slot !== null && slot >= 0 && slot < clients)).toBe(true)
    expect(enter(clients + 1)).toBeNull()
    expect([find(clients + 1), find(1), find(clients)]).toEqual([null, slots[0] as number, slots[clients - 1] as number])
  })

  test('a large table is full to the half before a client is turned away, and none has two entries', () => {
    const { enter, find } = directoryOf(8_192, { depth: 1, reach: 64 })
    const slots = range(4_096).map(enter)
    expect(slots).not.toContain(null)
    expect(new Set(slots).size).toBe(4_096)
    expect(range(4_096).map(find)).toEqual(slots)
  })

  test('no more entries are looked at than are in reach, so that a stranger costs the same when a large table is full', () => {
    const { enter, table } = directoryOf(8_192, { depth: 1, reach: 64 })
    let looked = 0
    const entryOf = table.entryOf
    table.entryOf = (slot) => {
      looked++
      return entryOf.call(table, slot)
    }
    for (const client of range(30_000)) enter(client)
    looked = 0
    expect(enter(99_999)).toBeNull()
    expect(looked).toBeLessThan(200)
  })

  test('where a client is looked for first differs with the seeds of the region', () => {
    const homes = (seed: number) => range(50).map((client) => directoryOf(1_000, { seed, depth: 1 }).enter(client))
    expect(homes(1)).toEqual(homes(1))
    expect(homes(2).filter((home, index) => home === homes(1)[index]).length).toBeLessThan(10)
  })

  test('neighbours, who differ in one of the numbers, do not crowd one place', () => {
    const crowd = (client: (index: number) => [number, number]) => {
      const homes = range(1_000).map((index) => directoryOf(1_000, { depth: 1 }).directory.enter(...client(index)))
      return new Set(homes).size
    }
    expect(crowd((index) => [index, 0])).toBeGreaterThan(550)
    expect(crowd((index) => [1, index])).toBeGreaterThan(550)
    expect(crowd((index) => [1, index << 16])).toBeGreaterThan(550)
  })
})

describe('the entry of a silent client', () => {
  test('begins anew: nothing of the one before is counted, and the new one is not silent', () => {
    nowMs = 5_000_000
    const { enter, table, words } = directoryOf(1, { depth: 4 })
    const entry = table.entryOf(enter(1) as number)
    words[entry + TAIL] = 0
    for (const number of [0, 1, 2]) words[table.cellOf(table.ringOf(0), number)] = table.cellWord(77, number)
    words[entry + HEAD] = 3
    nowMs += 60_000
    expect(enter(2)).toBe(0)
    expect(words[entry + TAIL]).toBe(words[entry + HEAD] as number)
    expect(words[entry + SEEN]).toBe(5_060)
    // A process that was about to charge the client before finds its number used up.
    expect(table.isTaken(words[table.cellOf(table.ringOf(0), 3)] as number, 3)).toBe(true)
    expect(enter(3)).toBeNull()
  })

  test.each([
    [0, 10, false],
    [0, 11, true],
    [100, 100, false],
    [100, 110, false],
    [100, 111, true],
  ])('last seen in second %d, in second %d it is silent: %p', (seen, second, isSilent) =>
    expect(directoryOf(1).directory.isSilent(seen, second)).toBe(isSilent),
  )
})
