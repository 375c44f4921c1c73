import { beforeAll, describe, expect, test } from 'bun:test'
import { expectAll, outcomeOf } from '../support/cases.ts'
import { createRow, listed } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { useServer } from '../support/start.ts'

const BODY_BYTES_MAX = 1024 * 1024
const TARGET_BYTES_MAX = 3 * 1024

const server = useServer()
beforeAll(() => createRow(server, '/Companies', { Name: 'Acme', Enabled: true }))

/** A body of exactly so many bytes. */
const bodyOf = (bytes: number, name: string) => {
  const start = `{"Name":"${name}"`
  return `${start}${' '.repeat(bytes - start.length - 1)}}`
}

/** A target of exactly so many bytes that finds nothing. */
const targetOf = (bytes: number) => `/Companies?Name=${'x'.repeat(bytes - '/Companies?Name='.length)}`

describe('8 Limits', () => {
  test('rule 3, D18: a body of 1 MiB is read', async () => {
    const { status, body } = await server.post('/Companies', bodyOf(BODY_BYTES_MAX, 'Largest'))
    expect({ status, name: body?.name }).toEqual({ status: 201, name: 'Largest' })
  })

  test.each(['POST', 'PUT', 'PATCH'])('rule 3, D18: a body of 1 MiB and one byte is 413 for %s', async (method) => {
    const path = method === 'POST' ? '/Companies' : '/Companies/1'
    const answer = await server.send(method, path, bodyOf(BODY_BYTES_MAX + 1, 'Too large'))
    expect(outcomeOf(answer)).toBe('413 PayloadTooLarge Body')
    expect(await listed(server, '/Companies?Name=Too+large')).toEqual([])
  })

  test('D18: the bytes of a body without Content-Length are counted as they arrive, and more than 1 MiB are 413', async () => {
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

  const JSON_HEAD = `Host: x\r\nAuthorization: ApiKey ${KEY}\r\nContent-Type: application/json\r\n`
  const LENGTH = `Content-Length: ${BODY_BYTES_MAX + 1}\r\n`
  /** The head of an answer to a request whose body never ends: 408 where the server waits for the rest. */
  const headOf = async (lines: string, begin: string) => {
    const [head = ''] = (await exchange(server.url, `${lines}\r\n${begin}`)).split('\r\n\r\n').filter(isFinal)
    return `${head.split(' ')[1]} ${/^Connection: (\w+)/im.exec(head)?.[1]}`
  }
  const isFinal = (head: string) => head.startsWith('HTTP/1.1') && !head.startsWith('HTTP/1.1 100')

  test.concurrent.each([
    ['an object', 'POST /Companies', LENGTH, '{"Name":"'],
    ['an object of PUT', 'PUT /Companies/1', LENGTH, '{'],
    ['an object of PATCH', 'PATCH /Companies/1', LENGTH, '{'],
    ['an array of PUT', 'PUT /Companies/1', LENGTH, '['],
    ['an object after white space', 'POST /Companies', LENGTH, ' \r\n\t {'],
    ['an object after a byte order mark', 'POST /Companies', LENGTH, '\u{feff}{'],
    ['a text', 'POST /Companies', LENGTH, '"'],
    ['an object with Expect: 100-continue', 'POST /Companies', `${LENGTH}Expect: 100-continue\r\n`, '{'],
    ['an object with two equal Content-Length headers', 'POST /Companies', LENGTH + LENGTH, '{'],
    ['an object of PUT with two equal Content-Length headers', 'PUT /Companies/1', LENGTH + LENGTH, '{'],
    ['an array of over 2 MiB', 'POST /Companies', `Content-Length: ${2 * BODY_BYTES_MAX + 1}\r\n`, '['],
    ['an object for a dry run', 'POST /Companies?dryRun=1', LENGTH, '{'],
  ])('D18: a body whose Content-Length is too large is 413 before its rest arrives: %s', async (_, line, more, begin) => {
    expect(await headOf(`${line} HTTP/1.1\r\n${JSON_HEAD}${more}`, begin)).toBe('413 close')
  })

  test.concurrent('D18: an object in chunks is 413 once it has more than 1 MiB, before its rest arrives', async () => {
    const chunk = `${(BODY_BYTES_MAX + 1).toString(16)}\r\n{${' '.repeat(BODY_BYTES_MAX)}\r\n`
    const head = `POST /Companies HTTP/1.1\r\n${JSON_HEAD}Transfer-Encoding: chunked\r\n`
    expect(await headOf(head, chunk)).toBe('413 close')
  })

  test('D59: an array of over 1 MiB is read, also after a byte order mark and white space', async () => {
    for (const begin of ['[', ' \n[', '\u{feff}[', `${' '.repeat(BODY_BYTES_MAX)}[`]) {
      const rows = `${begin}{"Name":"Many"}${' '.repeat(BODY_BYTES_MAX / 2)},${' '.repeat(200_000)}{"Name":"Many"}]`
      expect((await server.send('POST', '/Companies?dryRun=1', rows)).body).toEqual({ rows: 2 })
    }
  })

  test('D19: a request target of 3 KiB is served, one byte more is 414; percent escapes count as they are written', async () => {
    const escapes = '%78'.repeat((TARGET_BYTES_MAX - '/Companies?Name='.length) / 3)
    for (const target of [targetOf(TARGET_BYTES_MAX), `/Companies?Name=${escapes}`])
      expect((await server.get(target)).text).toBe('[]')
    const longer = [targetOf(TARGET_BYTES_MAX + 1), `/${'x'.repeat(TARGET_BYTES_MAX)}`, `/Companies?Name=${escapes}%78`]
    await expectAll(
      server,
      '414 UriTooLong Api',
      longer.map((target) => [`GET ${target}`]),
    )
  })

  test('rule 3, D25: 32 filters are served, 33 are 400 TooManyFilters', async () => {
    const filters = Array(32).fill('Name=Acme').join('&')
    for (const query of [filters, `sort=Name&PageSize=5&page=1&${filters}`])
      expect(await listed(server, `/Companies?${query}`)).toEqual(['Acme'])
    const different = Array.from({ length: 33 }, (_, index) => `Id=!=${index + 1_000}`).join('&')
    for (const query of [`${filters}&Name=Acme`, different])
      expect(outcomeOf(await server.get(`/Companies?${query}`))).toStartWith('400 TooManyFilters')
  })
})
