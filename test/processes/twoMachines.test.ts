import { expect, test } from 'bun:test'
import { proveMachines } from '../prove/machines.ts'

for (const disturbance of ['visibility', 'server'] as const)
  test(`two machines that write beside psql have the database’s lists; disturbed: ${disturbance}`, async () => {
    const found = await proveMachines({ seed: 1, roundMs: 800, disturbances: [disturbance] })
    expect(found.differences).toEqual([])
    expect(found.counts.exact).toBeGreaterThanOrEqual(16)
    expect(found.counts['list 200']).toBeGreaterThan(0)
    expect(found.counts.scripts).toBeGreaterThan(0)
  })
