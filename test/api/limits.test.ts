import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sendRaw } from '../support/raw.ts'
import { createRow, listed } from '../support/rows.ts'
import { errorOf, KEY, startServer, type TestServer } from '../support/server.ts'

const BODY_BYTES_MAX = 1024 * 1024
const TARGET_BYTES_MAX = 3 * 1024

let server: TestServer
beforeAll(async () => {
  server = await startServer()
  await createRow(server, '/Companies', { Name: 'Acme', Enabled: true })
})
afterAll(() => server.stop())

/** A body of exactly so many bytes. */
const bodyOf = (bytes: number, name: string) => {
  const start = `{"Name":"${name}"`
  return `${start}${' '.repeat(bytes - start.length - 1)}}`
}

/** A target of exactly so many bytes that finds nothing. */
const targetOf = (bytes: number) => `/Companies?Name=${'x'.repeat(bytes - '/Companies?Name='.length)}`

describe('8 Limits', () => {
  test('page size: 5 to 50, values outside are clamped', async () => {
    await server.sql`insert into company (name) select 'Many' from generate_series(1, 60)`
    for (const [size, rows] of [
      [4, 5],
      [5, 5],
      [50, 50],
      [51, 50],
    ])
      expect((await server.get(`/Companies?PageSize=${size}`)).body).toHaveLength(rows as number)
    await server.sql`delete from company where name = 'Many'`
  })

  test('rule 3, D18: a body of 1 MiB is read', async () => {
    const { status, body } = await server.post('/Companies', bodyOf(BODY_BYTES_MAX, 'Largest'))
    expect({ status, name: body?.name }).toEqual({ status: 201, name: 'Largest' })
  })

  test.each(['POST', 'PUT', 'PATCH'])('rule 3, D18: one byte more is 413 for %s', async (method) => {
    const path = method === 'POST' ? '/Companies' : '/Companies/1'
    const answer = await server.send(method, path, bodyOf(BODY_BYTES_MAX + 1, 'Too large'))
    expect(errorOf(answer)).toEqual({ status: 413, code: 'PayloadTooLarge', target: 'Body' })
    expect(await listed(server, '/Companies?Name=Too+large')).toEqual([])
  })

  test('D18: when Content-Length says so, a body is refused before it is read', async () => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(BODY_BYTES_MAX + 1) }
    const { status, body } = await sendRaw(server, 'PUT /Companies/1', headers)
    expect({ status, code: JSON.parse(body).Error.Code }).toEqual({ status: 413, code: 'PayloadTooLarge' })
  })

  test('D18: a body without Content-Length is counted as it comes', async () => {
    const send = async (bytes: number) => {
      const whole = new TextEncoder().encode(bodyOf(bytes, 'Chunked'))
      const stream = new ReadableStream({
        start(controller) {
          for (let at = 0; at < whole.length; at += 65_536) controller.enqueue(whole.subarray(at, at + 65_536))
          controller.close()
        },
      })
      const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
      return (await fetch(`${server.url}/Companies`, { method: 'POST', headers, body: stream })).status
    }
    expect(await send(BODY_BYTES_MAX)).toBe(201)
    expect(await send(BODY_BYTES_MAX + 1)).toBe(413)
    expect(await send(2 * BODY_BYTES_MAX)).toBe(413)
    expect(await listed(server, '/Companies?Name=Chunked')).toEqual(['Chunked'])
  })

  test('D19: a request target of 3 KiB is served', async () => {
    const { status, text } = await server.get(targetOf(TARGET_BYTES_MAX))
    expect({ status, text }).toEqual({ status: 200, text: '[]' })
  })

  test('D19: one byte more is 414', async () => {
    const answer = await server.get(targetOf(TARGET_BYTES_MAX + 1))
    expect(errorOf(answer)).toEqual({ status: 414, code: 'UriTooLong', target: 'Api' })
    const path = await server.get(`/${'x'.repeat(TARGET_BYTES_MAX)}`)
    expect(errorOf(path)).toEqual({ status: 414, code: 'UriTooLong', target: 'Api' })
  })

  test('D19: percent escapes count as they are written', async () => {
    const escapes = '%78'.repeat((TARGET_BYTES_MAX - '/Companies?Name='.length) / 3)
    expect((await server.get(`/Companies?Name=${escapes}`)).status).toBe(200)
    expect((await server.get(`/Companies?Name=${escapes}%78`)).status).toBe(414)
  })

  test('rule 3, D25: 32 filters are served', async () => {
    const filters = Array(32).fill('Name=Acme').join('&')
    expect(await listed(server, `/Companies?${filters}`)).toEqual(['Acme'])
    const others = `sort=Name&PageSize=5&page=1&${filters}`
    expect(await listed(server, `/Companies?${others}`)).toEqual(['Acme'])
  })

  test('rule 3, D25: 33 filters are 400 TooManyFilters', async () => {
    const filters = Array(33).fill('Name=Acme').join('&')
    expect(errorOf(await server.get(`/Companies?${filters}`))).toMatchObject({ status: 400, code: 'TooManyFilters' })
    const different = Array.from({ length: 33 }, (_, index) => `Id=!=${index + 1_000}`).join('&')
    expect(errorOf(await server.get(`/Companies?${different}`))).toMatchObject({ status: 400, code: 'TooManyFilters' })
  })

  test('rule 3, 4.2 Sorting 4: sort definitions have no limit of their own', async () => {
    const definitions = Array(500).fill('-Name').join(',')
    expect(await listed(server, `/Companies?Name=Acme&sort=${definitions}`)).toEqual(['Acme'])
  })
})
