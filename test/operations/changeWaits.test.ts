import { expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Database } from '../../src/execute/database.ts'
import { ChangeWaits } from '../../src/operations/changes.ts'
import { useDatabase } from '../support/database.ts'

const ENTITIES = [company, absence]
const START = { position: '0', number: '0' }
const HOUR_MS = 3_600_000

const database = useDatabase().poolOf()

const waitsOf = (options: Partial<ConstructorParameters<typeof ChangeWaits>[2]> = {}) =>
  new ChangeWaits(ENTITIES, database, { isDraining: () => false, ...options })
const never = new AbortController().signal
const behind = { position: '9'.repeat(18), number: '0' }
/** Waits an hour for a change of either entity that never comes. */
const forNothing = () => ({
  ...{ entities: ENTITIES, after: behind, untilMs: performance.now() + HOUR_MS, signal: never, key: 'k' },
})

test('a wait ends if the client leaves, too many wait, or the server stops', async () => {
  const leaving = new AbortController()
  let isDraining = false
  const waits = waitsOf({ waitersMax: 2, isDraining: () => isDraining })
  const [one, two] = [leaving.signal, never].map((signal) => waits.wait({ ...forNothing(), signal }))
  expect(await waits.wait(forNothing())).toBe(false)
  leaving.abort()
  expect(await one).toBe(false)
  isDraining = true
  expect(await two).toBe(false)
  expect(await waits.wait(forNothing())).toBe(false)
})

test('a key has at most its share of waits, and an ended wait is free again', async () => {
  const leaving = new AbortController()
  const waits = waitsOf({ waitersMax: 3, waitersOfKeyMax: 2 })
  const wait = (key: string) => waits.wait({ ...forNothing(), signal: leaving.signal, key })
  const held = [wait('greedy'), wait('greedy')]
  expect(await wait('greedy')).toBe(false)
  held.push(wait('other'))
  expect(await wait('third')).toBe(false)
  leaving.abort()
  expect(await Promise.all(held)).toEqual([false, false, false])
  const again = new AbortController()
  const waiting = waits.wait({ ...forNothing(), signal: again.signal, key: 'greedy' })
  expect(await Promise.race([waiting, Bun.sleep(200)])).toBeUndefined()
  again.abort()
  expect(await waiting).toBe(false)
})

test('an unreachable database ends no wait', async () => {
  const away = { read: () => Promise.reject(new Error('away')) } as unknown as Database
  const lost = new ChangeWaits(ENTITIES, away, { isDraining: () => false })
  expect(await lost.wait({ ...forNothing(), after: START, untilMs: performance.now() + 300 })).toBe(false)
})
