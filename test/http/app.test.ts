import { describe, expect, test } from 'bun:test'
import type { LogFields } from '../../src/log.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { type Answer, errorOf, KEY } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { startServer, useServer } from '../support/start.ts'

const server = useServer()

test('D18: a compressed body gets 415', async () => {
  const answer = await server.send('POST', '/Companies', '{}', { 'content-encoding': 'gzip' })
  expect(errorOf(answer)).toEqual({ status: 415, code: 'UnsupportedMediaType', target: 'Body' })
  expect((await server.send('POST', '/Companies', '{}', { 'content-encoding': 'identity' })).status).toBe(201)
})

test('an HTTP/1.0 request without a Host is answered, and its links have the address on which the server listens', async () => {
  const answer = await exchange(server.url, `GET /Companies?PageSize=5&page=2 HTTP/1.0\r\nAuthorization: ApiKey ${KEY}\r\n\r\n`)
  expect(answer).toStartWith('HTTP/1.1 200 OK')
  expect(answer).toContain(`<${server.url}/Companies?PageSize=5&page=1>; rel="first"`)
})

describe('the access log’s line of a request', () => {
  const lines: { message: string; fields: LogFields }[] = []
  const log = quietLog({ info: (message, fields = {}) => void lines.push({ message, fields }), isEnabled: () => true })
  const environment = { TRUSTED_PROXIES: '127.0.0.1', MEMORY_MB: '0' }
  const logged = useServer(() => ({ databaseUrl: server.databaseUrl, log, environment }))
  const lineOf = async (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) => {
    lines.length = 0
    const answer = await logged.send(method, path, body, headers)
    expect(lines).toHaveLength(1)
    return { ...(lines[0] as (typeof lines)[number]), answer }
  }

  test('has its path, and the pattern of the path as its route', async () => {
    for (const [method, path, route] of [
      ['GET', '/Companies?PageSize=5', '/Companies'],
      ['GET', '/COMPANIES/', '/Companies'],
      ['GET', '/absences/4711', '/Absences/{id}'],
      ['DELETE', '/Employees/x', '/Employees/{id}'],
      ['GET', '/errors/NotFound', '/errors/{code}'],
      ['GET', '/livez', '/livez'],
      ['GET', '/', '/'],
    ] as const) {
      const { message, fields, answer } = await lineOf(method, path)
      expect([message, fields.route]).toEqual([`${method} ${path.replace(/\?.*/, '')} ${answer.status}`, route])
    }
    expect((await lineOf('GET', '/Nowhere')).fields).not.toHaveProperty('route')
  })

  test('has the bytes of the body, for a new list, a cached list, an error, and a response without a body', async () => {
    await server.post('/Companies', { Name: 'Zoë' })
    for (const path of ['/Companies', '/Companies', '/Companies?Nmae=x', '/Companies/999999'])
      for (const method of ['GET', 'HEAD']) {
        const { fields, answer } = await lineOf(method, path)
        expect(fields.bytes).toBe(Buffer.byteLength(answer.text))
      }
    expect((await lineOf('OPTIONS', '/Companies')).fields.bytes).toBe(0)
  })

  test('has the address of the client, which a trusted proxy forwards', async () => {
    expect((await lineOf('GET', '/Companies')).fields.client).toBe('127.0.0.1')
    const forwarded = { 'x-forwarded-for': '203.0.113.7' }
    expect((await lineOf('GET', '/Companies', forwarded)).fields.client).toBe('203.0.113.7')
    expect((await lineOf('GET', '/Companies', { ...forwarded, authorization: '' })).fields.client).toBe('203.0.113.7')
  })

  test('has its duration, bytes, client, route, request id and key id, and no other field', async () => {
    const { fields, answer } = await lineOf('GET', '/Companies')
    expect(fields).toEqual({
      ...{ ms: expect.any(Number), bytes: expect.any(Number), client: '127.0.0.1', route: '/Companies' },
      ...{ requestId: answer.headers.get('x-request-id') as string, key: expect.any(String) },
    })
    expect((await lineOf('GET', '/Companies', { authorization: '' })).fields).not.toHaveProperty('key')
  })
})

test('the 404 of an unknown path suggests a similar collection, if there is one', async () => {
  const message = async (path: string) => (await server.get(path)).body.Error.Message
  expect(await message('/Compnies')).toBe('There is nothing at this path. Did you mean Companies?')
  expect(await message('/x')).toBe('There is nothing at this path.')
})

test.each([
  ['GET', 'ServiceUnavailable'],
  ['PATCH', 'OutcomeUnknown'],
])('a %s that is still running when the server stops gets 503 %s', async (method, code) => {
  // Without memory no load of the table waits for the lock.
  const stopping = await startServer({ environment: { MEMORY_MB: '0' } })
  const { body: company } = await stopping.post('/Companies', { Name: 'Acme' })
  const held = Promise.withResolvers<void>()
  const ready = Promise.withResolvers<void>()
  // A write would wait for a lock outside of its connection, too, where its outcome is known.
  await stopping.sql`
    create function nap() returns trigger language plpgsql as 'begin perform pg_sleep(20); return new; end'`
  await stopping.sql`create trigger nap before update on company for each row execute function nap()`
  const holder = connect(stopping.databaseUrl)
  const lock = holder.begin(async (sql) => {
    if (method === 'GET') await sql`lock table company in access exclusive mode`
    ready.resolve()
    await held.promise
  })
  await ready.promise
  let isAnswered = true
  let answer = Promise.resolve<Answer>({} as Answer)
  const send = () => {
    isAnswered = false
    answer = stopping.send(method, `/Companies/${company.id}`, method === 'PATCH' ? { Name: 'late' } : undefined)
    const end = () => (isAnswered = true)
    answer.then(end, end)
  }
  // It waits in PostgreSQL: for the lock, or in the trigger. On a busy machine one may have ended before that is seen.
  const waits = method === 'GET' ? 'Lock' : 'Timeout'
  await until(async () => {
    if (isAnswered) send()
    const waiting = await holder`
      select from pg_stat_activity where wait_event_type = ${waits} and datname = current_database() and backend_type = 'client backend'`
    return waiting.length > 0
  })
  const stopped = stopping.stop()
  expect(errorOf(await answer)).toMatchObject({ status: 503, code })
  held.resolve()
  await lock
  await stopped
})

test('a server that is stopping answers /readyz with 503', async () => {
  const stopping = await startServer()
  expect((await stopping.get('/readyz')).status).toBe(200)
  const stop = stopping.stop(100)
  expect((await stopping.get('/readyz')).status).toBe(503)
  await stop
})
