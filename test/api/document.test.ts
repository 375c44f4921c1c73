import { describe, expect, test } from 'bun:test'
import { createSampleDatabase } from '../support/postgres.ts'
import type { Json } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'

const server = useServer(async () => ({ databaseUrl: await createSampleDatabase() }))

const open = { authorization: '' }

describe('D33: /openapi.json', () => {
  test('needs no key, and names this server', async () => {
    const { status, headers, body } = await server.get('/openapi.json', open)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(body).toMatchObject({ openapi: '3.1.1', servers: [{ url: server.url }] })
  })

  test('uses PUBLIC_URL if it is set', async () => {
    const behind = await startServer({ environment: { PUBLIC_URL: 'https://api.example.com/people/' } })
    const { body } = await behind.get('/openapi.json', open)
    await behind.stop()
    expect(body.servers).toEqual([{ url: 'https://api.example.com/people' }])
    expect(JSON.stringify(body)).not.toContain('127.0.0.1')
  })

  test('has the same content gzipped, for clients that accept it', async () => {
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
})

describe('the examples of parameters in the OpenAPI document', () => {
  test.each(['Companies', 'Employees', 'Absences'])(
    'work for %s: each filter, each sort, and all sorts together are 200',
    async (plural) => {
      const { body: document } = await server.get('/openapi.json')
      const { parameters } = document.paths[`/${plural}`].get
      const requireGood = async (name: string, value: string) => {
        const { status } = await server.get(`/${plural}?${name}=${encodeURIComponent(value)}`)
        expect([name, value, status]).toEqual([name, value, 200])
      }
      for (const { name, examples = {} } of parameters)
        for (const { value } of Object.values(examples) as Json[]) await requireGood(name, value)
      const { example, schema } = parameters.find(({ name }: Json) => name === 'sort')
      await requireGood('sort', example.join(','))
      await requireGood('sort', document.components.schemas[schema.items.$ref.split('/').at(-1)].enum.join(','))
    },
  )
})
