import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from '../support/postgres.ts'
import { errorOf, KEY, startServer, type TestServer } from '../support/server.ts'
import { exchange } from '../support/socket.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

describe('a body that is not read', () => {
  test('closes its connection, since its sender is still sending', async () => {
    for (const headers of [{ authorization: 'none' }, { 'content-type': 'text/plain' }]) {
      const answer = await server.send('POST', '/Companies', 'x', headers)
      expect([answer.status >= 400, answer.headers.get('connection')]).toEqual([true, 'close'])
    }
  })

  test('is the only kind that does: an answered request leaves its connection open', async () => {
    const created = await server.post('/Companies', { Name: 'Acme' })
    expect([created.status, created.headers.get('connection')]).not.toContain('close')
    expect((await server.get('/Companies')).headers.get('connection')).not.toBe('close')
  })
})

test('D18: a compressed body is 415', async () => {
  const answer = await server.send('POST', '/Companies', '{}', { 'content-encoding': 'gzip' })
  expect(errorOf(answer)).toEqual({ status: 415, code: 'UnsupportedMediaType', target: 'Body' })
  expect((await server.send('POST', '/Companies', '{}', { 'content-encoding': 'identity' })).status).toBe(201)
})

test('HTTP/1.0, which needs no Host, is answered; its links stand on the address listened on', async () => {
  const answer = await exchange(
    server.url,
    `GET /Companies?PageSize=5&page=2 HTTP/1.0\r\nAuthorization: ApiKey ${KEY}\r\n\r\n`,
  )
  expect(answer).toStartWith('HTTP/1.1 200 OK')
  expect(answer).toContain(`<${server.url}/Companies?PageSize=5&page=1>; rel="first"`)
})

test('an unknown path gets the nearest name, where one is near', async () => {
  const message = async (path: string) => (await server.get(path)).body.Error.Message
  expect(await message('/Compnies')).toBe('There is nothing at this path. Did you mean companies?')
  expect(await message('/x')).toBe('There is nothing at this path.')
  expect(await message('/errors')).toBe('There is nothing at this path.')
})

test.each(['GET', 'PATCH'])('a %s that does not end in time is answered 503 when the server stops', async (method) => {
  const stopping = await startServer()
  const { body: company } = await stopping.post('/Companies', { Name: 'Acme' })
  const holder = connect(stopping.databaseUrl)
  const held = Promise.withResolvers<void>()
  const ready = Promise.withResolvers<void>()
  const lock = holder.begin(async (sql) => {
    await sql`lock table company in access exclusive mode`
    ready.resolve()
    await held.promise
  })
  await ready.promise
  const answer = stopping.send(method, `/Companies/${company.id}`, method === 'PATCH' ? { Name: 'late' } : undefined)
  await Bun.sleep(100)
  const stopped = stopping.stop()
  expect(errorOf(await answer)).toMatchObject({ status: 503, code: 'ServiceUnavailable' })
  held.resolve()
  await lock
  await stopped
  await holder.end()
})

test('while the server stops it is not ready, and says so', async () => {
  const stopping = await startServer()
  const answers: number[] = []
  expect((await stopping.get('/readyz')).status).toBe(200)
  const stop = stopping.stop(100)
  answers.push((await stopping.get('/readyz')).status)
  await stop
  expect(answers).toEqual([503])
})
