import { afterAll, expect, test } from 'bun:test'
import { provePairs } from '../support/rightsPairs.ts'
import type { PairsFindings } from '../support/rightsPairsReport.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

// What a key may not see must not change what it sees. `npm run prove -- --only rights` does the same for as long as you like.
/** A key of each kind, once. Some requests of all kinds find more than many of a few kinds. */
const KEYS = rounds(13, 221)
const EACH = { seed: firstSeed, reads: rounds(16, 24), writes: rounds(12, 24) }
const found: PairsFindings[] = []

async function expectEqual(options: Parameters<typeof provePairs>[0]): Promise<void> {
  const findings = await provePairs(options)
  expect(findings.differences).toEqual([])
  found.push(findings)
}

test('equal databases give a key with rights to whole entities the same answers', async () => {
  const { differences, pairs } = await provePairs({ ...EACH, keys: 2, isWhole: true })
  expect(differences).toEqual([])
  expect(pairs).toBeGreaterThan(100)
})

test('two databases that differ only in data hidden from a key give it the same answers, with lists from memory', () =>
  expectEqual({ ...EACH, keys: KEYS, followsMax: 3 }))

test('two databases that differ only in data hidden from a key give it the same answers, without memory, with values in histories', () =>
  expectEqual({ ...EACH, from: 1_000, keys: KEYS, environment: { MEMORY_MB: '0', CHANGES_VALUES: 'on' } }))

test('two databases that differ only in data hidden from a person with several rights to one verb give her the same answers', () =>
  expectEqual({ ...EACH, from: 3_000, keys: rounds(4, 80), kind: 'person' }))

test('a key with a view gets the answers of an entity that has only the properties of the view', () =>
  expectEqual({ ...EACH, from: 2_000, keys: 2, reads: rounds(40, 100), writes: 0, shadowEvery: 1 }))

afterAll(() => {
  const statuses = found.flatMap(({ channels }) => Object.values(channels).flatMap((counts) => Object.entries(counts)))
  const count = (isCounted: (status: string) => boolean) =>
    statuses.reduce((sum, [status, count]) => sum + (isCounted(status) ? count : 0), 0)
  // If most answers were errors, their equality would prove nothing.
  expect(2 * count((status) => status < '400')).toBeGreaterThan(count(() => true))
})
