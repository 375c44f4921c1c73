import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import { type Json, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  const databaseUrl = await createSampleDatabase()
  server = await startServer({ databaseUrl })
})
afterAll(() => server.stop())

const open = { authorization: '' }

describe('D33: /openapi.json', () => {
  test('is open, and names this server', async () => {
    const { status, headers, body } = await server.get('/openapi.json', open)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(body).toMatchObject({ openapi: '3.1.1', servers: [{ url: server.url }] })
  })

  test('stands on PUBLIC_URL where that is set', async () => {
    const behind = await startServer({ environment: { PUBLIC_URL: 'https://api.example.com/people/' } })
    const { body } = await behind.get('/openapi.json', open)
    await behind.stop()
    expect(body.servers).toEqual([{ url: 'https://api.example.com/people' }])
    expect(JSON.stringify(body)).not.toContain('127.0.0.1')
  })

  test('is gzipped for clients that take it, and the same', async () => {
    const plain = await fetch(`${server.url}/openapi.json`, { headers: { 'accept-encoding': 'identity' } })
    const zipped = await fetch(`${server.url}/openapi.json`, {
      headers: { 'accept-encoding': 'gzip' },
      decompress: false,
    })
    expect([plain.headers.get('content-encoding'), zipped.headers.get('content-encoding')]).toEqual([null, 'gzip'])
    const bytes = new Uint8Array(await zipped.arrayBuffer())
    expect(Number(zipped.headers.get('content-length'))).toBe(bytes.length)
    const text = await plain.text()
    expect(new TextDecoder().decode(Bun.gunzipSync(bytes))).toBe(text)
    expect(bytes.length * 4).toBeLessThan(text.length)
  })

  test('is asked for again by its ETag, and is not sent again', async () => {
    const { headers } = await server.get('/openapi.json', open)
    const etag = headers.get('etag') as string
    const again = await server.get('/openapi.json', { ...open, 'if-none-match': etag })
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
    expect((await server.get('/openapi.json', { ...open, 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('HEAD has its head', async () => {
    const { text } = await server.get('/openapi.json', open)
    const head = await server.send('HEAD', '/openapi.json', undefined, { ...open, 'accept-encoding': 'identity' })
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', String(Buffer.byteLength(text))])
  })
})

describe('the examples of its parameters work', () => {
  test('each filter, and each sort', async () => {
    const { body: document } = await server.get('/openapi.json')
    const lists = Object.entries(document.paths as Json).filter(([, item]: Json) =>
      item.get?.parameters?.some(({ name }: Json) => name === 'sort'),
    )
    expect(lists).toHaveLength(3)
    for (const [path, { get }] of lists as [string, Json][]) {
      for (const { name, examples = {} } of get.parameters)
        for (const { value } of Object.values(examples) as Json[]) {
          const answer = await server.get(`${path}?${name}=${encodeURIComponent(value)}`)
          expect([path, name, value, answer.status]).toEqual([path, name, value, 200])
        }
      const { example } = get.parameters.find(({ name }: Json) => name === 'sort')
      expect((await server.get(`${path}?sort=${encodeURIComponent(example.join(','))}`)).status).toBe(200)
    }
  })

  test('every value of sort', async () => {
    const { body: document } = await server.get('/openapi.json')
    for (const plural of ['Companies', 'Employees', 'Absences']) {
      const { parameters } = document.paths[`/${plural}`].get
      const { $ref } = parameters.find(({ name }: Json) => name === 'sort').schema.items
      const values: string[] = document.components.schemas[$ref.split('/').at(-1)].enum
      expect((await server.get(`/${plural}?sort=${encodeURIComponent(values.join(','))}`)).status).toBe(200)
    }
  })
})
