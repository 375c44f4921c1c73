import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Log, LogFields } from '../../src/log.ts'
import { until } from '../support/process.ts'
import { createRow } from '../support/rows.ts'
import { startServer, type TestServer } from '../support/server.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const TRACE = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }

const lines: { level: string; message: string; fields: LogFields }[] = []
const at =
  (level: string) =>
  (message: string, fields: LogFields = {}) =>
    lines.push({ level, message, fields })
const log = {
  ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  isEnabled: () => true,
  flush: async () => undefined,
} as Log

let server: TestServer
beforeAll(async () => {
  server = await startServer({ log, environment: { SLOW_STATEMENT_MS: '1' } })
})
afterAll(() => server.stop())

const lineOf = (requestId: string) => lines.find(({ fields }) => fields.requestId === requestId)?.fields

describe('traceparent', () => {
  test('stands in the line of the request', async () => {
    await server.get('/Companies', { 'x-request-id': 'traced', traceparent: TRACEPARENT })
    expect(lineOf('traced')).toMatchObject(TRACE)
  })

  test('that is invalid does not, and the request is answered', async () => {
    const answer = await server.get('/Companies', { 'x-request-id': 'untraced', traceparent: `${TRACEPARENT}-x` })
    expect([answer.status, lineOf('untraced')?.traceId]).toEqual([200, undefined])
  })
})

describe('Server-Timing', () => {
  const FORM = /^total;dur=(\d+\.\d\d), db;dur=(\d+\.\d\d)$/
  const timed = (path: string, headers = {}) => server.get(path, { 'x-roster-timing': 'on', ...headers })
  const timesOf = (answer: { headers: Headers }) => {
    const [, total, database] = FORM.exec(answer.headers.get('server-timing') ?? '') ?? []
    return { total: Number(total), database: Number(database) }
  }

  test('D64: says how long a row took, and for how long of that the database was waited for', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Timed' })
    const { total, database } = timesOf(await timed(`/Companies/${id}`))
    expect(database).toBeGreaterThan(0)
    expect(total).toBeGreaterThanOrEqual(database)
  })

  test('D64: of a list that is not in memory too, and of a write', async () => {
    const list = timesOf(await timed('/Companies?Name=Timed&sort=-Name'))
    expect([list.database > 0, list.total >= list.database]).toEqual([true, true])
    const write = await server.send('POST', '/Companies', { Name: 'Written' }, { 'x-roster-timing': 'on' })
    expect(timesOf(write).database).toBeGreaterThan(0)
  })

  test('D64: requests beside each other each have their own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 === 0 ? timed(`/Companies/${n + 1}`) : server.get(`/Companies/${n + 1}`),
      ),
    )
    expect(answers.map(({ headers }) => headers.has('server-timing'))).toEqual(answers.map((_, n) => n % 2 === 0))
    for (const answer of answers.filter((_, n) => n % 2 === 0)) {
      const { total, database } = timesOf(answer)
      expect(total).toBeGreaterThanOrEqual(database)
    }
  })

  test('D64: stands on refusals too, and not where nothing or something else asks, or no key', async () => {
    expect((await timed('/Companies?Nam=x')).headers.get('server-timing')).toMatch(FORM)
    const untimed = [
      await server.get('/Companies'),
      await server.get('/Companies', { 'x-roster-timing': 'yes' }),
      await timed('/Companies', { authorization: 'ApiKey none-of-these-keys-0123' }),
    ]
    expect(untimed.map(({ status, headers }) => [status, headers.has('server-timing')])).toEqual([
      [200, false],
      [200, false],
      [401, false],
    ])
  })
})

test('a slow statement is logged by its shape, without a value', async () => {
  const { id } = await createRow(server, '/Companies', { Name: 'Slow' })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: held, resolve: hold } = Promise.withResolvers<void>()
  const holding = server.sql.begin(async (sql) => {
    await sql`select 1 from company where id = ${id} for update`
    hold()
    await released
  })
  await held
  const writing = server.patch(`/Companies/${id}`, { Name: 'Secretive' })
  await until(async () => {
    const [row] = await server.sql`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'`
    return row?.n > 0
  })
  await Bun.sleep(5)
  release()
  await holding
  expect((await writing).status).toBe(200)
  const slow = lines.filter(({ message }) => message === 'a slow statement')
  const update = slow.find(({ fields }) => /^(with|update).*"company"/s.test(String(fields.statement)))
  expect(update?.level).toBe('warn')
  expect(Number(update?.fields.ms)).toBeGreaterThan(0)
  expect(JSON.stringify(slow)).not.toContain('Secretive')
})
