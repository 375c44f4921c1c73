import { expect, test } from 'bun:test'
import type { TableCopy } from '../../src/columns/tableCopy.ts'
import { noteListCost, readingOf, type Tracked, trackedOf } from '../../src/columns/tracked.ts'
import absence from '../../src/entities/absence.ts'

const LONG_MS = 60_000
/** Longer than any list takes, and than the longest wait. */
const COSTLY_MS = 100_000
const never = new Promise<void>(() => undefined)

/** A table that has been read from for so long, of which lists have cost so much. */
function beingRead(forMs: number, costMs: number, more: Partial<Tracked> = {}): Tracked {
  const tracked = Object.assign(trackedOf(absence), more)
  noteListCost(tracked, costMs)
  tracked.reading = { done: never, fromMs: performance.now() - forMs }
  return tracked
}
const copied = { copy: {} as TableCopy }

test('a list does not wait where nothing is read', () => {
  expect(readingOf(Object.assign(trackedOf(absence), copied))).toBeNull()
})

test('a list waits for a refresh that has just begun, whatever lists cost', () => {
  expect(readingOf(beingRead(0, 0, copied))).toBeInstanceOf(Promise)
})

test('a list waits for a refresh as long as the database would take for lists, and then asks it', () => {
  expect(readingOf(beingRead(1_000, 1, copied))).toBeNull()
  expect(readingOf(beingRead(1_000, COSTLY_MS, copied))).toBeInstanceOf(Promise)
  expect(readingOf(beingRead(LONG_MS, COSTLY_MS, copied))).toBeNull()
})

test('a list waits for a table to be read whole only if lists cost more than that', () => {
  expect(readingOf(beingRead(1_000, 1))).toBeNull()
  expect(readingOf(beingRead(0, COSTLY_MS, { priceMs: 2_400 }))).toBeInstanceOf(Promise)
  expect(readingOf(beingRead(0, COSTLY_MS, { priceMs: LONG_MS }))).toBeNull()
})

test('a list does not wait for what is read again behind a failure', () => {
  expect(readingOf(beingRead(0, COSTLY_MS, { hasFailed: true }))).toBeNull()
  expect(readingOf(beingRead(0, COSTLY_MS, { ...copied, hasFailed: true }))).toBeNull()
})

test('a wait ends with the reading, or without it when it takes too long', async () => {
  const tracked = beingRead(0, COSTLY_MS, copied)
  const { promise: done, resolve } = Promise.withResolvers<void>()
  tracked.reading = { done, fromMs: performance.now() }
  const ends: string[] = []
  const waiting = readingOf(tracked)?.then(() => ends.push('list'))
  done.then(() => ends.push('reading'))
  resolve()
  await waiting
  expect(ends).toEqual(['reading', 'list'])
  tracked.reading = { done: never, fromMs: performance.now() - 4_990 }
  await readingOf(tracked)
})
