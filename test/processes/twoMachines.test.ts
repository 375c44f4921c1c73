import { expect, test } from 'bun:test'
import { proveMachines } from '../prove/machines.ts'

const TIMEOUT_MS = 120_000

for (const [changes, disturbance] of [
  ['slot', 'visibility'],
  ['notify', 'server'],
] as const)
  test(
    `two machines that write beside psql have the database’s lists after silence, by ${changes}; disturbed: ${disturbance}`,
    async () => {
      const found = await proveMachines({ seed: 1, changes, roundMs: 800, disturbances: [disturbance] })
      expect(found.differences).toEqual([])
      expect(found.counts.compared).toBeGreaterThanOrEqual(16)
      expect(found.counts['answers 2xx']).toBeGreaterThan(10)
      expect(found.counts.scripts).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )
