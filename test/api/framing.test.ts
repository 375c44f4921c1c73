import { describe, expect, test } from 'bun:test'
import { useServer } from '../support/cases.ts'
import { KEY } from '../support/server.ts'
import { exchange } from '../support/socket.ts'

// What a proxy and a server may read otherwise, so that a request is hidden in the body of another. RFC 9112, 6.1 and 11.2

const server = useServer()

const AUTHORIZED = `Host: a\r\nAuthorization: ApiKey ${KEY}\r\nContent-Type: application/json\r\n`
const BODY = '{"Name":"a"}'
const CHUNKED = `c\r\n${BODY}\r\n0\r\n\r\n`
/** Behind each: were it read as a request, it would be answered too. */
const HIDDEN = `DELETE /Companies/1 HTTP/1.1\r\n${AUTHORIZED}\r\n`

const statusesOf = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

async function send(headers: string, body: string): Promise<number[]> {
  const bytes = `POST /Companies HTTP/1.1\r\n${AUTHORIZED}${headers}\r\n\r\n${body}${HIDDEN}`
  return statusesOf(await exchange(server.url, bytes, 30_000))
}

describe('is refused, and its connection closed: nothing behind it is read', () => {
  test.each([
    'xchunked',
    'chunked, identity',
    'identity',
    'identity, chunked',
    'gzip, chunked',
    '\x0bchunked',
    '',
    'chunked\r\nTransfer-Encoding: identity',
    'identity\r\nTransfer-Encoding: chunked',
    'chunked\r\nContent-Length: 12',
  ])('Transfer-Encoding: %j', async (encoding) => {
    expect(await send(`Transfer-Encoding: ${encoding}`, CHUNKED)).toEqual([400])
  })

  test.each([
    ...['12, 12', '12\r\nContent-Length: 13', '+12', '-12', '0xc', '', '1e1', '12a', '99999999999999999999999'],
    '18446744073709551628',
  ])('Content-Length: %j', async (length) => {
    expect(await send(`Content-Length: ${length}`, BODY)).toEqual([400])
  })

  test.each([
    'Transfer-Encoding : chunked',
    'Content-Length : 12',
    ' Content-Length: 12',
    'X: a\r\n folded',
    'X: a\0b',
    'X: a\rb',
  ])('the header %j', async (header) => {
    expect(await send(header, BODY)).toEqual([400])
  })

  test.each([
    ...['0xc\r\n', 'c\n', '-c\r\n', 'c \r\n', '1000000000000000c\r\n', 'c;\n', 'g\r\n', '\r\n'].map(
      (size) => `${size}${BODY}\r\n0\r\n\r\n`,
    ),
    `c\r\n${BODY}XX0\r\n\r\n`,
  ])('the chunks %j', async (chunks) => {
    expect(await send('Transfer-Encoding: chunked', chunks)).toEqual([400])
  })
})

test('nothing was deleted or created', async () => {
  expect((await server.get('/Companies')).body).toEqual([])
})
