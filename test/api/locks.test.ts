import { beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { createRow } from '../support/rows.ts'
import { errorOf, makeKey, type TestServer } from '../support/server.ts'
import { useServer } from '../support/start.ts'

// Without memory, so that lists need connections.
const server = useServer({ environment: { DATABASE_POOL: '2', MEMORY_MB: '0' } })
let other: postgres.Sql
beforeAll(() => {
  other = connect(server.databaseUrl)
})

/** How many backends wait for a lock. */
async function waitingIn({ sql }: TestServer): Promise<number> {
  const waiting = await sql`select from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and wait_event_type = 'Lock'`
  return waiting.count
}

/** What happened, in order; null where the machine was so busy that the write gave up before the others had their answers. */
async function attempt(locked: number, id: number): Promise<string[] | null> {
  const events: string[] = []
  let late: Promise<unknown> = Promise.resolve()
  let isWaiting = false
  await other.begin(async (transaction) => {
    await transaction`select from company where id = ${locked} for update`
    late = rename(locked).then(({ status }) => events.push(`late ${status}`))
    await until(async () => (await waitingIn(server)) === 1)
    // Each list has another text, since equal lists would share a statement.
    const names = ['FirstName', 'Title', 'Status']
    const asked = names.flatMap((name) => [
      server.get(`/Employees?${name}=2024-01-01T00:00:00Z&sort=${name}`),
      server.get(`/Employees?sort=-${name}`),
      server.get(`/Employees?${name}=!=&page=2`),
    ])
    asked.push(server.get(`/Companies/${id}`), server.get(`/Companies/${locked}`), server.post('/Absences', {}))
    events.push(...new Set((await Promise.all(asked)).map(({ status }) => `at once ${status}`)))
    // The write may wait within its connection or outside of it (D69).
    isWaiting = !events.some((event) => event.startsWith('late'))
  })
  await late
  return isWaiting ? events : null
}

const rename = (id: number) => server.patch(`/Companies/${id}`, { Name: 'Renamed' })

test('while a write waits for a lock of another program, other requests use the other connections', async () => {
  const { id: locked } = await createRow(server, '/Companies', { Name: 'Locked' })
  const { id } = await createRow(server, '/Companies', { Name: 'Free' })
  // Enough renames for every connection to prepare the statement, which from then on waits only for its result.
  for (let use = 0; use < 8; use++) await rename(locked)
  let events: string[] | null = null
  await until(async () => (events = await attempt(locked, id)) !== null)
  expect(events as unknown).toEqual(['at once 200', 'at once 201', 'late 200'])
})

describe('D69: locks of other transactions', () => {
  const [greedy, other] = [makeKey(), makeKey()]
  const busy = useServer({ keys: [greedy.record, other.record] })
  let blocker: postgres.Sql
  beforeAll(() => {
    blocker = connect(busy.databaseUrl)
  })

  test.each([
    ['PATCH', '/Companies/ID', { Name: 'Mine' }],
    ['PUT', '/Companies/ID', { Name: 'Mine', Enabled: true }],
    ['DELETE', '/Companies/ID', undefined],
    ['POST', '/Employees', { CompanyId: 'ID' }],
    ['POST', '/Employees', [{ CompanyId: 'ID' }, { CompanyId: 'ID' }]],
  ])('on a row delay only the writes to this row (%s %s), each of which is done or refused', async (method, path, body) => {
    const { id } = await createRow(busy, '/Companies', { Name: 'Locked' })
    const fill = (text: string) => text.replaceAll('"ID"', String(id)).replaceAll('ID', String(id))
    const sent = body === undefined ? undefined : JSON.parse(fill(JSON.stringify(body)))
    const headersOf = (index: number) => ({
      ...greedy.headers,
      ...(index % 2 === 0 ? {} : { 'Idempotency-Key': `"${crypto.randomUUID()}"` }),
    })
    let own: Promise<unknown[]> = Promise.resolve([])
    await blocker.begin(async (transaction) => {
      await transaction`select from company where id = ${id} for update`
      const writes = Array.from({ length: 24 }, async (_, index) => {
        const answer = await busy.send(method, fill(path), sent, headersOf(index))
        return answer.status < 400 ? 'done' : errorOf(answer).code
      })
      own = Promise.all(writes)
      await until(async () => (await waitingIn(busy)) > 0)
      const others = [
        busy.get(`/Companies/${id}`, other.headers),
        busy.get('/Companies?sort=-Name', other.headers),
        busy.get('/readyz'),
        busy.send('POST', '/Companies', { Name: 'Free' }, other.headers),
      ]
      const statuses = (await Promise.all(others)).map(({ status }) => status)
      expect(statuses).toEqual([200, 200, 200, 201])
      expect(await waitingIn(busy)).toBeLessThanOrEqual(3)
    })
    const known = ['done', 'ServiceUnavailable', 'InProgress', 'NotFound', 'ReferenceNotFound', 'StillReferenced']
    for (const answer of await own) expect(known).toContain(answer as string)
  })

  test('on a table delay the reads of this table, which are 200 if the lock ends in time', async () => {
    const { id } = await createRow(busy, '/Companies', { Name: 'Read' })
    const asked = await blocker.begin(async (transaction) => {
      await transaction`lock table company in access exclusive mode`
      const answers = [busy.get(`/Companies/${id}`), busy.get('/Companies?PageSize=5')]
      await Bun.sleep(400)
      return { answers }
    })
    expect((await Promise.all(asked.answers)).map(({ status }) => status)).toEqual([200, 200])
  })

  test('cause no deadlock when employees who are each other’s managers are updated', async () => {
    const ids = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => (await createRow(busy, '/Employees', { LastName: `L${index}` })).id),
    )
    const deadlocks = async () => {
      const [row] = await busy.sql`select deadlocks::int from pg_stat_database where datname = current_database()`
      return row?.deadlocks
    }
    const before = await deadlocks()
    const writes = Array.from({ length: 24 }, (_, index) => {
      const body = { LastName: `Name ${index}`, ManagerId: ids[(index * 3 + 1) % 4] }
      return busy.send('PATCH', `/Employees/${ids[index % 4]}`, body, greedy.headers)
    })
    expect(new Set((await Promise.all(writes)).map(({ status }) => status))).toEqual(new Set([200]))
    expect(await deadlocks()).toBe(before)
  })
})
