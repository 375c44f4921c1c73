import { afterAll, expect, test } from 'bun:test'
import { useIssuer } from '../support/issuer.ts'
import { provePersonPairs } from '../support/personPairs.ts'
import type { PairsFindings } from '../support/rightsPairsReport.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

// What a person may not see must not change what she sees, also while reporting lines change and her row comes and goes.
const PERSONS = rounds(8, 100)
const EACH = { seed: firstSeed, reads: rounds(16, 24), writes: rounds(10, 16) }
const issuer = useIssuer()
const found: PairsFindings[] = []

test.each([
  ['with lists from memory', 0, {}],
  ['without memory, and with values in histories', 1_000, { MEMORY_MB: '0', CHANGES_VALUES: 'on' }],
] as const)(
  'two databases that differ only in data hidden from a person give her the same answers, %s',
  async (_, from, environment) => {
    const findings = await provePersonPairs(issuer, { ...EACH, from, persons: PERSONS, environment })
    expect(findings.differences).toEqual([])
    found.push(findings)
  },
)

afterAll(() => {
  const statuses = found.flatMap(({ channels }) => Object.values(channels).flatMap((counts) => Object.entries(counts)))
  const count = (isCounted: (status: string) => boolean) =>
    statuses.reduce((sum, [status, count]) => sum + (isCounted(status) ? count : 0), 0)
  // If most answers were errors, their equality would prove nothing.
  expect(2 * count((status) => status < '400')).toBeGreaterThan(count(() => true))
})
