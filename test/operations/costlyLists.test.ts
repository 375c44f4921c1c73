import { describe, expect, test } from 'bun:test'
import { until } from '../support/process.ts'
import { makeKey } from '../support/server.ts'
import { useServer } from '../support/start.ts'

const keys = ['one', 'two', 'three'].map((name) => makeKey({ name }))
const server = useServer(async () => ({ keys: keys.map(({ record }) => record), environment: { MEMORY_MB: '0' } }))

/** Returns the statements that wait for the locked table. */
const reading = async () =>
  Number(
    (
      await server.sql`
        select count(*)::int as n from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%absence%'`
    )[0]?.n,
  )

/** Requests of every kind for which PostgreSQL reads or sorts the whole table. */
const COSTLY: [string, Record<string, string>][] = [
  ['/Absences?Reason[contains]=a', {}],
  ['/Absences?Reason[begins]=a&page=2', {}],
  ['/Absences?sort=Type,Status', {}],
  ['/Absences?Reason[contains]=b', { accept: 'application/x-ndjson' }],
  ['/Absences?sort=Type,-Start', { accept: 'text/csv' }],
  ['/Absences/Summary?groupBy=Type', {}],
  ['/Absences/Summary?Reason[contains]=c', { accept: 'text/csv' }],
]

describe('costly reads of the database', () => {
  test('one costly list, stream or summary per key and two in total run at a time, while other lists are answered', async () => {
    const answers: Promise<{ status: number }>[] = []
    const ask = (key: number) => {
      for (const [path, headers] of COSTLY) answers.push(server.get(path, { ...keys[key]?.headers, ...headers }))
    }
    const cheap = async (key: number) => (await server.get('/Companies?Name=x&sort=-Name', keys[key]?.headers)).status
    await server.sql.begin(async (transaction) => {
      await transaction`lock table absence in access exclusive mode`
      ask(0)
      await until(async () => (await reading()) > 0)
      // Further statements would have begun by then.
      await Bun.sleep(200)
      expect(await reading()).toBe(1)
      expect(await cheap(0)).toBe(200)
      ask(1)
      ask(2)
      await until(async () => (await reading()) > 1)
      await Bun.sleep(200)
      expect(await reading()).toBe(2)
      expect([await cheap(0), await cheap(1), await cheap(2)]).toEqual([200, 200, 200])
    })
    // A list waits two seconds for a lock.
    for (const { status } of await Promise.all(answers)) expect([200, 503]).toContain(status)
  })
})
