import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { HEAD, HIGH, LAP, LOW, SEEN, TAIL, Table, TIME } from '../../src/admit/table.ts'
import { HEADER_WORDS } from '../../src/os/region.ts'

const tableOf = (clients: number, depth: number, wrap?: number) =>
  new Table(new Int32Array(Table.words(clients, depth)), clients, depth, wrap)

const sizes = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }))
/** A table whose numbers wrap around soon, and one of its numbers. */
const wrapping = fc
  .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2, max: 5 }), fc.nat(), fc.nat())
  .map(([depth, laps, number, by]) => {
    const wrap = 2 * depth * laps
    return { table: tableOf(2, depth, wrap), depth, wrap, number: number % wrap, by: by % wrap }
  })

describe('places', () => {
  test('header, entries and rings share no word, and fill what was asked for', () => {
    fc.assert(
      fc.property(sizes, ([clients, depth]) => {
        const table = tableOf(clients, depth)
        const uses = new Map<number, number>()
        const use = (word: number) => uses.set(word, (uses.get(word) ?? 0) + 1)
        for (let word = 0; word < HEADER_WORDS; word++) use(word)
        for (let slot = 0; slot <= table.shared; slot++) {
          for (const part of [LOW, HIGH, HEAD, TAIL, SEEN]) use(table.entryOf(slot) + part)
          for (let number = 0; number < depth; number++) use(table.cellOf(table.ringOf(slot), number))
        }
        expect([...uses.values()].every((count) => count === 1)).toBe(true)
        expect(Math.max(...uses.keys())).toBeLessThan(Table.words(clients, depth))
      }),
    )
  })

  test('clients without an entry share one beside the others', () => {
    expect(tableOf(7, 3).shared).toBe(7)
    expect(Table.words(8, 3) - Table.words(7, 3)).toBe(Table.words(7, 3) - Table.words(6, 3))
  })

  test('a memory one word too small is refused', () => {
    const words = Table.words(5, 5)
    expect(() => new Table(new Int32Array(words), 5, 5)).not.toThrow()
    expect(() => new Table(new Int32Array(words - 1), 5, 5)).toThrow('the shared memory is too small for its table')
  })

  test('a number and the one a lap later have the same cell, all between have others', () => {
    fc.assert(
      fc.property(wrapping, ({ table, depth, number }) => {
        const cells = Array.from({ length: depth + 1 }, (_, by) => table.cellOf(0, table.plus(number, by)))
        expect(new Set(cells).size).toBe(depth)
        expect(cells[depth]).toBe(cells[0] as number)
      }),
    )
  })
})

describe('numbers', () => {
  test('before undoes plus, and distance measures it, across the end too', () => {
    fc.assert(
      fc.property(wrapping, ({ table, wrap, number, by }) => {
        const later = table.plus(number, by)
        expect(later).toBe((number + by) % wrap)
        expect(table.before(later, by)).toBe(number)
        expect(table.distance(number, later)).toBe(by)
        expect(table.after(number)).toBe(table.plus(number, 1))
      }),
    )
  })

  test('begin again after a whole number of pairs of laps, short of 31 bits', () => {
    for (const depth of [1, 2, 3, 60, 25_000, 1_000_000]) {
      const table = tableOf(1, depth)
      const wrap = table.before(0, 1) + 1
      expect([wrap % (2 * depth), wrap <= 0x7fffffff, wrap > 0x7f000000]).toEqual([0, true, true])
      expect(table.after(wrap - 1)).toBe(0)
    }
  })
})

describe('the lap bit', () => {
  test('distinguishes a number from the ones a lap before and after, at the end too', () => {
    fc.assert(
      fc.property(wrapping, fc.integer({ min: 0, max: TIME }), ({ table, depth, number }, time) => {
        const word = table.cellWord(time, number) | 0
        expect(word & TIME).toBe(time)
        expect(table.isTaken(word, number)).toBe(true)
        expect(table.isTaken(word, table.plus(number, depth))).toBe(false)
        expect(table.isTaken(word, table.before(number, depth))).toBe(false)
        expect(table.isTaken(word ^ LAP, number)).toBe(false)
      }),
    )
  })

  test('fresh memory, all zeroes, holds no number of the first lap', () => {
    const table = tableOf(1, 5)
    expect([0, 1, 4].map((number) => table.isTaken(0, number))).toEqual([false, false, false])
  })
})
