import { beforeAll, describe, expect, test } from 'bun:test'
import { hostileTexts, LEAK } from '../support/hostile.ts'
import { KEY } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { useServer } from '../support/start.ts'

/** Bytes that a URL should not contain, although a socket can send them and the server accepts them. */
const hostileBytes = ['\x7f', '\xff', '\xc3\x28', '\xc3\xa9', '"', '<', '>', '`', '{|}', '\\', '^', '[', "'"]

const server = useServer()
beforeAll(async () => {
  await server.sql`insert into company (name) select 'Company ' || n from generate_series(1, 12) as n`
})

interface Reply {
  status: number
  /** Header lines in order: lower-case name, value. */
  headers: [string, string][]
  body: string
}

/** Sends one request, its characters as bytes; returns the only response. */
async function raw(
  line: string,
  headers: string[] = [`Authorization: ApiKey ${KEY}`],
  host = '127.0.0.1',
  body = '',
): Promise<Reply> {
  const lines = [`${line} HTTP/1.1`, `Host: ${host}`, ...headers, 'Connection: close', '', body]
  const text = await exchange(server.url, Buffer.from(lines.join('\r\n'), 'latin1'))
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...rest] = text.slice(0, end).split('\r\n')
  const reply = {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]),
    headers: rest.map((header): [string, string] => {
      const colon = header.indexOf(': ')
      return [header.slice(0, colon).toLowerCase(), header.slice(colon + 2)]
    }),
    body: text.slice(end + 4),
  }
  // No request splits a response in two.
  expect(reply.body).toHaveLength(Number(valuesOf(reply, 'content-length')[0] ?? 0))
  expect({ line, status: reply.status < 500, leak: LEAK.exec(reply.body)?.[0] ?? null }).toEqual({
    line,
    status: true,
    leak: null,
  })
  return reply
}

const valuesOf = ({ headers }: Reply, name: string) => headers.filter(([own]) => own === name).map(([, value]) => value)
const namesOf = ({ headers }: Reply) => headers.map(([name]) => name).sort()

/** Returns UTF-8, each byte as a character, without bytes that would end the header for any server. */
const inHeader = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[\r\n\0]/g, ' ')

describe('links of a hostile request', () => {
  const encoded = [
    '%0d%0aX-Injected:%20yes',
    '%0a%0a<html>',
    '%E2%80%A8',
    '%3E;%20rel=%22next%22',
    '%C3%A9',
    '%2500',
    '%%30'.replace('%%', '%25'),
  ]
  const cases = [...hostileBytes, ...encoded].flatMap((value) => [
    `/Companies?Name=!=${value}&PageSize=5&page=2`,
    `/Companies?PageSize=5&page=2&Name=!=x${value}`,
    `/Companies?PageSize=5&page=2&Name=!=${value},<http://localhost/>; rel="next"`.replaceAll(' ', '%20'),
  ])

  test('lead to our own address, and add no header to the response. D31', async () => {
    const ordinary = namesOf(await raw('GET /Companies?Name=!=x&PageSize=5&page=2'))
    for (const path of cases) {
      const reply = await raw(`GET ${path}`)
      expect({ path, status: reply.status, names: namesOf(reply) }).toEqual({ path, status: 200, names: ordinary })
      for (const [header, back] of [
        ['location', 'previous'],
        ['link', 'prev'],
      ] as const) {
        const relations = valuesOf(reply, header).flatMap((value) => readLinks(value))
        expect({ path, relations }).toEqual({ path, relations: ['first', back, 'next', 'last'] })
      }
    }
  })
})

/** Returns the relations of a header, all of whose links must be to the collection. */
function readLinks(value: string): string[] {
  const relations: string[] = []
  const link = new RegExp(`(?:^|, )<${server.url}/Companies\\?[\\x21\\x23-\\x3b\\x3d\\x3f-\\x7e]+>; rel="(\\w+)"`, 'y')
  for (let match = link.exec(value); match; match = link.exec(value)) {
    relations.push(match[1] as string)
    if (link.lastIndex === value.length) return relations
  }
  throw new Error(`not links alone: ${value}`)
}

describe('hostile headers', () => {
  test('a hostile X-Request-Id is replaced, and never returned. D40', async () => {
    const texts = ['x'.repeat(129), ...hostileTexts.map(inHeader)]
    const insane = texts.filter((text) => !/^[\w.:/+=~-]{1,128}$/.test(text.trim()))
    expect(insane.length).toBeGreaterThan(40)
    for (const text of insane) {
      const reply = await raw('GET /', [`X-Request-Id: ${text}`])
      if (reply.status === 400) continue // not HTTP: refused before it is a request
      expect({ text, status: reply.status }).toEqual({ text, status: 200 })
      expect(valuesOf(reply, 'x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)])
    }
  })

  test('a hostile Authorization gets the same 401 as a request without one, except for a hint about its form. D33', async () => {
    const hint = / (ApiKey and a space stand in front of the key|The scheme is ApiKey, not \w+)\.(?=",)/
    const none = await raw('GET /Companies', [])
    expect({ status: none.status, challenge: valuesOf(none, 'www-authenticate') }).toEqual({
      status: 401,
      challenge: ['ApiKey'],
    })
    for (const text of hostileTexts.map(inHeader).filter((text) => text.trim() !== ''))
      for (const header of [`ApiKey ${text}`, text, `ApiKey ${KEY}${text}x`, `ApiKey ${text} ${KEY}`, `Bearer ${KEY}`]) {
        const reply = await raw('GET /Companies', [`Authorization: ${header}`])
        if (reply.status === 400 && reply.body === '') continue // not HTTP
        const body = reply.body.replace(hint, '')
        expect({ header, status: reply.status, body }).toEqual({ header, status: 401, body: none.body })
      }
  })
})
