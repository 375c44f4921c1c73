import { afterAll, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { createRow } from '../support/rows.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
let other: postgres.Sql
beforeAll(async () => {
  server = await startServer({ environment: { DATABASE_POOL: '2' } })
  other = connect(server.databaseUrl)
})
afterAll(async () => {
  await other.end()
  await server.stop()
})

/** How many backends wait for a lock. */
async function waiting(): Promise<number> {
  const rows = await server.sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return rows.length
}

/** What happened, in order; null where the machine was so busy that the write gave up before the others had their answers. */
async function attempt(locked: number, id: number): Promise<string[] | null> {
  const events: string[] = []
  let late: Promise<unknown> = Promise.resolve()
  let isWaiting = false
  await other.begin(async (transaction) => {
    await transaction`select from company where id = ${locked} for update`
    late = rename(locked).then(({ status }) => events.push(`late ${status}`))
    await until(async () => (await waiting()) === 1)
    // Texts of their own, since equal ones would share a statement.
    const names = ['FirstName', 'Title', 'Status']
    const asked = names.flatMap((name) => [
      server.get(`/Employees?${name}=2024-01-01T00:00:00Z&sort=${name}`),
      server.get(`/Employees?sort=-${name}`),
      server.get(`/Employees?${name}=!=&page=2`),
    ])
    asked.push(server.get(`/Companies/${id}`), server.get(`/Companies/${locked}`), server.post('/Absences', {}))
    events.push(...new Set((await Promise.all(asked)).map(({ status }) => `at once ${status}`)))
    isWaiting = (await waiting()) === 1
  })
  await late
  return isWaiting ? events : null
}

const rename = (id: number) => server.patch(`/Companies/${id}`, { Name: 'Renamed' })

test('while a write waits for a lock of another program, others are answered over the connections left', async () => {
  const { id: locked } = await createRow(server, '/Companies', { Name: 'Locked' })
  const { id } = await createRow(server, '/Companies', { Name: 'Free' })
  // Until every connection has its statement prepared, which from then on waits for nothing but its result.
  for (let use = 0; use < 8; use++) await rename(locked)
  let events: string[] | null = null
  await until(async () => (events = await attempt(locked, id)) !== null)
  expect(events as unknown).toEqual(['at once 200', 'at once 201', 'late 200'])
})
