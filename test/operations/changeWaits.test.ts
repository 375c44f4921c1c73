import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Database } from '../../src/execute/database.ts'
import type { Statement } from '../../src/model/sql.ts'
import { type View, viewOf, wholeView } from '../../src/model/view.ts'
import { ChangeWaits } from '../../src/operations/changes.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/process.ts'
import { untilSettled } from '../support/settled.ts'

const ENTITIES = [company, absence]
const START = { position: '0', number: '0' }
const HOUR_MS = 3_600_000

const server = useDatabase()
const database = server.poolOf()

const waitsOf = (options: Partial<ConstructorParameters<typeof ChangeWaits>[2]> = {}) =>
  new ChangeWaits(ENTITIES, database, { isDraining: () => false, ...options })
const never = new AbortController().signal
const behind = { position: '9'.repeat(18), number: '0' }
/** Waits an hour for a change of either entity that never comes. */
const forNothing = () => ({
  ...{ views: ENTITIES.map(wholeView), after: behind, untilMs: performance.now() + HOUR_MS, signal: never, key: 'k' },
})

test('a wait for changes ends without a change if the client leaves, too many requests wait, or the server stops', async () => {
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

test('a key has at most its share of waits for changes, and can wait again when a wait has ended', async () => {
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

test('a wait for changes lasts until its time is over while the database is unreachable', async () => {
  const away = { read: () => Promise.reject(new Error('away')) } as unknown as Database
  const lost = new ChangeWaits(ENTITIES, away, { isDraining: () => false })
  expect(await lost.wait({ ...forNothing(), after: START, untilMs: performance.now() + 300 })).toBe(false)
})

describe('a wait for changes of a view that hides properties', () => {
  const { sql } = server
  const entity = company
  const named = viewOf(
    company,
    new Set(company.properties.filter(({ name }) => name === 'Name')),
    [],
    'read Companies?fields=Id,Name',
  )
  const write = async (changed: string, action = 'u') => {
    await sql`
      insert into entity_change (position, entity, id, action, key, changed)
      values (change_position(), ${entity.table}, 1, ${action}, 'k', ${changed})`
    await untilSettled(sql)
  }
  const settled = async () => (await sql`select pg_snapshot_xmin(pg_current_snapshot())::text as position`)[0]?.position as string

  test('is not ended by updates of hidden properties, which no later poll reads again', async () => {
    await write('{enabled}')
    const asked: string[] = []
    const counted = {
      read: (statement: Statement) => {
        if (statement.text.includes('unnest')) asked.push(statement.values[2] as string)
        return database.read(statement)
      },
    } as Database
    const waits = new ChangeWaits([company], counted, { isDraining: () => false })
    const after = { position: '0', number: '0' }
    const wait = (views: readonly View[]) =>
      waits.wait({ views, after, untilMs: performance.now() + HOUR_MS, signal: never, key: 'k' })
    const [first, whole] = [wait([named]), wait([wholeView(company)])]
    expect(await whole).toBe(true)
    await until(() => asked.length === 1)
    const position = await settled()
    await write('{enabled,name_key}')
    await until(() => asked.length === 2)
    expect(BigInt(asked[1]?.replace(/\D/g, '') ?? 0)).toBeLessThanOrEqual(BigInt(position))
    expect(asked[1]).not.toBe(asked[0])
    await Bun.sleep(300)
    expect(asked).toHaveLength(2)
    await write('{enabled,name}')
    expect(await first).toBe(true)
  })

  test('is ended by an event that is further ahead than one poll can read', async () => {
    const before = { position: await settled(), number: '0' }
    await sql`
      insert into entity_change (position, entity, id, action, key, changed)
      select change_position(), ${entity.table}, 1, 'u', 'k', case n when 1300 then '{name}' else '{enabled}' end::text[]
      from generate_series(1, 1300) as n`
    await untilSettled(sql)
    const [near] = await sql<(typeof before)[]>`
      select position::text, number::text from entity_change as event where entity = ${entity.table}
      order by event.position desc, event.number desc offset 100 limit 1`
    const waits = waitsOf()
    const waiting = [before, near as typeof before].map((after) =>
      waits.wait({ views: [named], after, untilMs: performance.now() + HOUR_MS, signal: never, key: 'k' }),
    )
    expect(await Promise.all(waiting)).toEqual([true, true])
  })

  test.each([
    ['{}', 'c'],
    ['{}', 'd'],
    ['{name}', 'u'],
  ])(
    'is ended by an event with the changed properties %s and the action %p (create, delete or update)',
    async (changed, action) => {
      const waits = waitsOf()
      const after = { position: await settled(), number: '0' }
      const waiting = waits.wait({ views: [named], after, untilMs: performance.now() + HOUR_MS, signal: never, key: 'k' })
      await write(changed, action)
      expect(await waiting).toBe(true)
    },
  )
})
