import { expect, setDefaultTimeout, test } from 'bun:test'
import { proveChanges } from '../prove/changes.ts'

setDefaultTimeout(240_000)

test('a copy that is kept by the changes is what the database has, after a worker was killed and PostgreSQL restarted', async () => {
  const { differences, lines, rows } = await proveChanges({ seed: 1, rounds: 2, writes: 150 })
  expect(differences).toEqual([])
  expect(lines).toBeGreaterThan(30)
  expect(rows).toBeGreaterThan(5)
})
