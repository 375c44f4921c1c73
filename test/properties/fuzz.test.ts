import { expect, test } from 'bun:test'
import { errorTable } from '../../src/errors.ts'
import { type Conformance, conformance } from '../support/conformance.ts'
import { Connection, type RawResponse } from '../support/connection.ts'
import { LEAK } from '../support/hostile.ts'
import { Random } from '../support/random.ts'
import { type RandomRequest, randomRequest } from '../support/randomRequests.ts'
import { rounds } from '../support/rounds.ts'
import { type Json, startServer } from '../support/server.ts'
import { uriLength } from '../support/uri.ts'

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? rounds(2_000, 20_000))
const SEED = Number(process.env.FUZZ_SEED ?? process.env.PROVE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const CONNECTIONS = 12
/** Some of these are rare: there are more requests, up to ten times as many, until each was seen. */
const EXPECTED = [
  ...['GET 200', 'POST 201', 'PUT 200', 'PATCH 200', 'DELETE 204', 'HEAD 200', 'OPTIONS 204'],
  ...['InvalidFilter', 'InvalidSort', 'UnknownParameter', 'InvalidQueryString', 'InvalidJson', 'InvalidValue'],
  ...['ValidationFailed', 'ReferenceNotFound', 'NotFound', 'Unauthorized', 'MethodNotAllowed'],
]

test(
  `${REQUESTS} random requests, each answered as the specification's errors say (D38, D40), and as the OpenAPI document does`,
  async () => {
    console.log(`FUZZ_REQUESTS=${REQUESTS} FUZZ_SEED=${SEED}`)
    const logged: string[] = []
    const quiet = () => undefined
    const log = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      flush: async () => undefined,
      isEnabled: () => true,
      error: (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`),
    }
    const server = await startServer({ log })
    const described = await conformance()
    await server.sql`insert into company (name) select 'Company ' || n from generate_series(1, 120) as n`
    await server.sql`insert into employee (first_name) select 'Employee ' || n from generate_series(1, 120) as n`
    await server.sql`insert into absence (status) select 'Approved' from generate_series(1, 120) as n`
    const seen = new Map<string, number>()
    const faults: string[] = []
    let next = 0

    const isWanted = () => next < REQUESTS || (next < 10 * REQUESTS && EXPECTED.some((kind) => !seen.has(kind)))

    async function work() {
      const connection = new Connection(server.url)
      while (isWanted() && faults.length < 5) {
        const number = next++
        // A generator for each, so that a request is the same over every connection and at any time.
        const random = new Random(SEED ^ Math.imul(number + 1, 0x9e3779b1))
        const request = randomRequest(random)
        try {
          const response = await connection.send(bytesOf(request, server.url, random), request.method === 'HEAD')
          check(request, response, server.url, described)
          const kind = response.status < 400 ? `${request.method} ${response.status}` : codeOf(response)
          seen.set(kind, (seen.get(kind) ?? 0) + 1)
        } catch (error) {
          faults.push(`request ${number} of seed ${SEED}: ${show(request)}\n${(error as Error).message}`)
          connection.close()
        }
      }
      connection.close()
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, work))

    expect(faults).toEqual([])
    expect(logged).toEqual([])
    expect((await server.get('/readyz')).status).toBe(200)
    if (process.env.FUZZ_REQUESTS) console.log(Object.fromEntries([...seen].sort()))
    // Had the generator gone astray, all would be 404.
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...EXPECTED]))
    await server.stop()
  },
  30_000 + REQUESTS * 20,
)

function bytesOf({ method, target, headers, body }: RandomRequest, url: string, random: Random): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${new URL(url).host}`]
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  if (!body) return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const chunked = random.chance(15)
  lines.push(chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return Buffer.concat(chunked ? [head, ...chunks(body, 1 + random.below(5_000))] : [head, body])
}

function chunks(body: Buffer, length: number): Buffer[] {
  const parts: Buffer[] = []
  for (let start = 0; start < body.length; start += length) {
    const part = body.subarray(start, start + length)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return [...parts, Buffer.from('0\r\n\r\n')]
}

function check(
  { method, target, headers: sent }: RandomRequest,
  response: RawResponse,
  url: string,
  described: Conformance,
) {
  const { status, headers, body, headBytes } = response
  expect(described.faultsOf({ method, target }, { status, headers, text: body })).toEqual([])
  expect(status).toBeGreaterThanOrEqual(200)
  expect(status).toBeLessThan(500)
  expect(headBytes).toBeLessThanOrEqual(uriLength(target) <= 700 ? 4_096 : 16_384)
  const own = sent.find(([name]) => name === 'X-Request-Id')?.[1] ?? ''
  const id = headers.get('x-request-id') ?? ''
  if (/^[\w.:/+=~-]{1,128}$/.test(own)) expect(id).toBe(own)
  else expect(id).toMatch(/^[0-9a-f-]{36}$/)
  if (status === 204 || method === 'HEAD') expect(body).toBe('')
  if (status === 405) expect(headers.get('allow')).toBeTruthy()
  if (status === 401) expect(headers.get('www-authenticate')).toBe('ApiKey')
  if (status >= 400 && method !== 'HEAD') checkError(response, url)
  else if (headers.has('x-total-count')) checkList(response, method)
}

function checkError({ status, headers, body }: RawResponse, url: string) {
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  const { Error: error, ...rest } = JSON.parse(body) as Json
  expect(rest).toEqual({})
  expect(Object.keys(error)).toEqual(['Code', 'Reference', 'Target', 'Message', 'Details'])
  expect(errorTable[error.Code as keyof typeof errorTable]?.status).toBe(status as never)
  expect(error.Reference).toBe(`${url}/errors/${error.Code}`)
  expect(error).toMatchObject({ Target: expect.any(String), Message: expect.stringMatching(/\S/) })
  for (const detail of error.Details ?? []) {
    expect(detail).toEqual({
      Code: expect.any(String),
      Target: expect.any(String),
      Message: expect.stringMatching(/\S/),
    })
    expect(Object.keys(errorTable)).toContain(detail.Code)
  }
  expect(LEAK.exec(body)).toBeNull()
}

function checkList({ headers, body }: RawResponse, method: string) {
  expect(headers.get('x-total-count')).toMatch(/^\d+$/)
  if (method === 'HEAD') return
  const records = JSON.parse(body) as Json[]
  expect(records.length).toBeLessThanOrEqual(Math.min(50, Number(headers.get('x-total-count'))))
}

function codeOf({ status, body }: RawResponse): string {
  return body === '' ? String(status) : (JSON.parse(body) as Json).Error.Code
}

function show({ method, target, headers, body }: RandomRequest): string {
  const start = body?.toString('latin1').slice(0, 300)
  return `${method} ${target.slice(0, 500)} ${JSON.stringify(headers)} ${JSON.stringify(start)} (${body?.length ?? 0} bytes)`
}
