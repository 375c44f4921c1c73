import { expect, test } from 'bun:test'
import { proveLists } from '../prove/lists.ts'

// D70: every read includes every write that had committed when the request arrived.
test('lists from memory equal lists from PostgreSQL during and after writes of clients, another server and psql, and after kills of servers', async () => {
  const { counts, differences, remembered } = await proveLists({
    seed: Number(process.env.SEED ?? 1),
    rows: 5_000,
    alone: 4,
    together: 1,
    faults: [
      'a worker is killed',
      'tables are truncated, rewritten and defined anew',
      'commits wait for a standby that is not there',
      'another server is killed',
    ],
    states: 2,
    listsMin: 200,
    statesForMs: 1_500,
  })
  expect(differences).toEqual([])
  expect(counts.exact).toBeGreaterThan(300)
  expect(counts.states).toBeGreaterThanOrEqual(200)
  expect(counts['states, beside a write']).toBeGreaterThan(0)
  expect(remembered).toBeGreaterThan(0.5)
  // On a busy machine indexes are ready later, so only some lists are found by them.
  expect(counts['lists, memory: index']).toBeGreaterThan(0)
})
