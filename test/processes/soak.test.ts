import { expect, test } from 'bun:test'
import { proveSoak } from '../prove/soak.ts'

const SECONDS = 8

test('under load with faults, every answer is right or explained by a fault, and the server leaks no resources', async () => {
  const faults = ['a worker is killed', 'all connections to PostgreSQL are cut', 'PostgreSQL stands still']
  const found = await proveSoak({ seed: 1, seconds: SECONDS, faults, pauseSeconds: 1.5 })
  expect(found.differences).toEqual([])
  for (const fault of faults) expect(found.faults[fault]).toBeGreaterThan(0)
  for (const kind of ['GET 200', 'POST 201', 'PUT 200', 'PATCH 200', 'DELETE 204']) expect(found.counts[kind]).toBeGreaterThan(0)
  expect(found.rows).toBeGreaterThan(20)
})
