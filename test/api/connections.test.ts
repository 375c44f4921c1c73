import { beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { LogFields } from '../../src/log.ts'
import { BODY_BYTES_MAX } from '../../src/parse/body.ts'
import { Connection } from '../support/connection.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { createRow, listed } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { startServer, useServer } from '../support/start.ts'

const server = useServer()
let item: string
beforeAll(async () => {
  item = `/Companies/${(await createRow(server, '/Companies', { Name: 'Acme' })).id}`
})

const AUTHORIZED = `Host: x\r\nAuthorization: ApiKey ${KEY}\r\n`
const statusesOf = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

describe('Host headers', () => {
  test.each(['Host: a\r\nHost: b', 'Host: a\r\nhost: a', 'Host: a\r\nHost:', 'Host: a,b'])(
    '%j are 400 InvalidHost',
    async (hosts) => {
      const answer = await exchange(server.url, `GET /Companies HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`)
      expect(statusesOf(answer)).toEqual([400])
      expect(answer).toContain('"Code":"InvalidHost"')
    },
  )
})

describe('CONNECT', () => {
  test.each(['/Companies', '/', 'example.com:443', 'x'])('to %s is 405, and its connection is closed', async (target) => {
    const answer = await exchange(server.url, `CONNECT ${target} HTTP/1.1\r\n${AUTHORIZED}\r\n`)
    expect(statusesOf(answer)).toEqual([405])
    expect(answer).toContain('\r\nConnection: close\r\n')
    expect(answer).toContain('"Code":"MethodNotAllowed"')
  })

  test('on a connection that was used before is 405, and bytes after it are ignored', async () => {
    const connection = new Connection(server.url)
    const request = `GET ${item} HTTP/1.1\r\n${AUTHORIZED}\r\n`
    expect((await connection.send(Buffer.from(request), false)).status).toBe(200)
    const both = `CONNECT example.com:443 HTTP/1.1\r\n${AUTHORIZED}\r\n${request}`
    const { status, headers } = await connection.send(Buffer.from(both), false)
    expect([status, headers.get('connection')]).toEqual([405, 'close'])
    expect(statusesOf(await exchange(server.url, both))).toEqual([405])
  })
})

/**
 * Sends a head and 64 KiB of the body that it promises, and once there is an answer more and more of it, until the server
 * closes the connection.
 */
function flood(head: string, piece: Buffer, { url } = server): Promise<{ answer: string; sentBytes: number }> {
  const { hostname, port } = new URL(url)
  return new Promise((done) => {
    let answer = ''
    let sentBytes = 0
    const send = () => {
      if (socket.destroyed) return
      sentBytes += piece.length
      socket.write(piece, () => answer !== '' && setTimeout(send, 1))
    }
    const socket = connect(Number(port), hostname, () => {
      socket.write(head)
      send()
    })
    socket.on('data', (chunk) => {
      if (answer === '') setTimeout(send, 1)
      answer += chunk.toString('latin1')
    })
    // Writing to a closed connection fails, and only the close counts here.
    socket.on('error', () => undefined)
    socket.on('close', () => done({ answer, sentBytes }))
  })
}

const BYTES = Buffer.alloc(65_536, ' ')
const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), BYTES, Buffer.from('\r\n')])

describe('a body that no operation reads', () => {
  const key = `Authorization: ApiKey ${KEY}\r\n`
  const json = 'Content-Type: application/json\r\n'

  test.each([
    ['GET', '/Companies', key, 200],
    ['HEAD', '/Companies', key, 200],
    ['OPTIONS', '/Companies', key, 204],
    ['DELETE', '/Companies/999999', key, 404],
    ['PUT', '/Companies', key, 405],
    ['GET', '/Nowhere', key, 404],
    ['GET', '/Companies', '', 401],
    ['POST', '/Companies', json, 401],
    ['GET', '/livez', '', 200],
    ['POST', '/Companies', key + json, 413],
    ['POST', '/Companies', key, 415],
  ])(
    'and that never ends: %s %s is answered without reading it, and the connection is closed',
    async (method, path, headers, status) => {
      const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}`
      const { answer, sentBytes } = await flood(`${head}Content-Length: 5000000000\r\n\r\n`, BYTES)
      expect(statusesOf(answer)).toEqual([status])
      expect(answer).toContain('\r\nConnection: close\r\n')
      expect(sentBytes).toBeLessThan(100_000_000)
      if (status === 413) return // without a length it is read, and counted as it comes
      const chunked = await flood(`${head}Transfer-Encoding: chunked\r\n\r\n`, CHUNK)
      expect(chunked.answer).toContain('\r\nConnection: close\r\n')
      expect(chunked.sentBytes).toBeLessThan(100_000_000)
    },
  )

  test('and that never ends is charged like any request, and is 429 beyond the limit', async () => {
    const limited = await startServer({ environment: { RATE_LIMITS: '3/1h' } })
    const answers: unknown[] = []
    for (const method of ['GET', 'GET', 'PUT', 'GET']) {
      const head = `${method} /Companies HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 5000000000\r\n\r\n`
      const { answer } = await flood(head, BYTES, limited)
      answers.push([...statusesOf(answer), /^X-RateLimit-Remaining: (\d+)/im.exec(answer)?.[1]])
    }
    await limited.stop()
    expect(answers.map(String)).toEqual(['200,2', '200,1', '405,0', '429,0'])
  })

  test('leaves the connection open if its Content-Length is 0', async () => {
    const connection = new Connection(server.url)
    for (const line of ['DELETE /Companies', `GET ${item}`, 'POST /Companies']) {
      const request = `${line} HTTP/1.1\r\n${AUTHORIZED}Content-Length: 0\r\n\r\n`
      const { headers } = await connection.send(Buffer.from(request), false)
      expect(headers.get('connection')).not.toBe('close')
    }
    connection.close()
  })
})

describe('a small body of a request that is refused before it is read', () => {
  const refused: [string, number, string][] = [
    ['POST /Companies', 401, 'Host: x\r\n'],
    ['POST /Companies', 415, `${AUTHORIZED}Content-Type: text/plain\r\n`],
    ['PUT /Companies/x', 404, `${AUTHORIZED}Content-Type: application/json\r\n`],
    ['POST /openapi.json', 405, AUTHORIZED],
    ['DELETE /Nowhere', 404, AUTHORIZED],
  ]

  test.each(refused)('is read to its end: %s is %d, and the connection stays open', async (line, status, headers) => {
    const connection = new Connection(server.url)
    const again = Buffer.from(`GET ${item} HTTP/1.1\r\n${AUTHORIZED}\r\n`)
    const chunked = [`${line} HTTP/1.1\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`, '2\r\n{}\r\n', '0\r\n\r\n']
    const whole = [`${line} HTTP/1.1\r\n${headers}Content-Length: 12\r\n\r\n`, '{"name"', ':1', '  ', '}']
    for (const pieces of [whole, chunked]) {
      const bytes = pieces.map((piece) => Buffer.from(piece))
      const [answer] = await connection.sendAll(bytes, [false])
      expect([answer?.status, answer?.headers.get('connection')]).toEqual([status, undefined])
      expect((await connection.send(again, false)).status).toBe(200)
    }
    connection.close()
  })

  test('is not waited for if it does not end: the request is 401, and the connection is closed', async () => {
    const head = `POST /Companies HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{`
    const answer = await exchange(server.url, head)
    expect(statusesOf(answer)).toEqual([401])
    expect(answer).toContain('\r\nConnection: close\r\n')
  })
})

test('a request whose client disconnects is either done and logged with the client’s address, or has no effect', async () => {
  const lines: { message: string; fields: LogFields }[] = []
  const note = (message: string, fields: LogFields = {}) => void lines.push({ message, fields })
  const leaving = await startServer({
    log: quietLog({ debug: note, info: note, warn: note, error: note, isEnabled: () => true }),
  })
  const { hostname, port } = new URL(leaving.url)
  const ids: string[] = []
  for (let number = 0; number < 8; number++) {
    const { id } = await createRow(leaving, '/Companies', { Name: 'Kept' })
    ids.push(String(id))
    const request = `DELETE /Companies/${id} HTTP/1.1\r\n${AUTHORIZED}X-Request-Id: left-${id}\r\n\r\n`
    const { promise, resolve } = Promise.withResolvers<void>()
    const socket = connect(Number(port), hostname, () =>
      socket.write(request, () => {
        if (number % 2 === 0) socket.resetAndDestroy()
        else socket.destroy()
        resolve()
      }),
    )
    await promise
  }
  const lineOf = (id: string) => lines.find(({ fields }) => fields.requestId === `left-${id}`)
  await until(() => ids.every((id) => lineOf(id) !== undefined))
  for (const id of ids) {
    const { message = '', fields } = lineOf(id) ?? {}
    const isDone = message.endsWith(' 204')
    expect([isDone, fields?.client === '']).toEqual([isDone, !isDone])
    expect((await leaving.get(`/Companies/${id}`)).status).toBe(isDone ? 404 : 200)
  }
})

const JSON_OF_KEY = `${AUTHORIZED}Content-Type: application/json\r\n`
const BODY = '{"Name":"a"}'
const CHUNKED = `c\r\n${BODY}\r\n0\r\n\r\n`
/** Behind each: were it read as a request, it would be answered too. */
const HIDDEN = `DELETE /Companies/1 HTTP/1.1\r\n${JSON_OF_KEY}\r\n`

async function sendFramed(headers: string, body: string): Promise<number[]> {
  const bytes = `POST /Companies HTTP/1.1\r\n${JSON_OF_KEY}${headers}\r\n\r\n${body}${HIDDEN}`
  return statusesOf(await exchange(server.url, bytes))
}

// Such a request could hide another one in its body. RFC 9112, 6.1 and 11.2
describe('a request that a proxy may read differently is refused and its connection closed, and nothing after it is read', () => {
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
    expect(await sendFramed(`Transfer-Encoding: ${encoding}`, CHUNKED)).toEqual([400])
  })

  test.each([
    ...['12, 12', '12\r\nContent-Length: 13', '+12', '-12', '0xc', '', '1e1', '12a', '99999999999999999999999'],
    '18446744073709551628',
  ])('Content-Length: %j', async (length) => {
    expect(await sendFramed(`Content-Length: ${length}`, BODY)).toEqual([400])
  })

  test('but two equal Content-Length headers count as one', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Twice' })
    const statusOf = async (text: string) => {
      const lengths = `Content-Length: ${text.length}\r\n`.repeat(2)
      const head = `PATCH /Companies/${id} HTTP/1.1\r\nConnection: close\r\n${JSON_OF_KEY}${lengths}\r\n`
      return statusesOf(await exchange(server.url, head + text))
    }
    expect([await statusOf(BODY), await statusOf(BODY.padEnd(BODY_BYTES_MAX + 1))]).toEqual([[200], [413]])
    await server.remove(`/Companies/${id}`)
  })

  test.each([
    'Transfer-Encoding : chunked',
    'Content-Length : 12',
    ' Content-Length: 12',
    'X: a\r\n folded',
    'X: a\0b',
    'X: a\rb',
  ])('the header %j', async (header) => {
    expect(await sendFramed(header, BODY)).toEqual([400])
  })

  test.each([
    ...['0xc\r\n', 'c\n', '-c\r\n', 'c \r\n', '1000000000000000c\r\n', 'c;\n', 'g\r\n', '\r\n'].map(
      (size) => `${size}${BODY}\r\n0\r\n\r\n`,
    ),
    `c\r\n${BODY}XX0\r\n\r\n`,
  ])('the chunks %j', async (chunks) => {
    expect(await sendFramed('Transfer-Encoding: chunked', chunks)).toEqual([400])
  })

  test('D4: but raw UTF-8 in a target is accepted; other bytes become U+FFFD', async () => {
    const { id } = await createRow(server, '/Companies', { Name: 'Bé' })
    const answerTo = async (...value: number[]) => {
      const begin = Buffer.from('GET /Companies?Name=B')
      const rest = Buffer.from(` HTTP/1.1\r\nConnection: close\r\n${AUTHORIZED}\r\n`)
      const answer = await exchange(server.url, new Uint8Array([...begin, ...value, ...rest]))
      return [...statusesOf(answer), /^X-Total-Count: (\d+)/im.exec(answer)?.[1]]
    }
    expect(await answerTo(0xc3, 0xa9)).toEqual([200, '1'])
    expect(await answerTo(0xe9)).toEqual([200, '0'])
    expect(await answerTo(...Buffer.from('%C3%A9'))).toEqual([200, '1'])
    expect(await answerTo(...Buffer.from('%E9'))).toEqual([400, undefined])
    await server.remove(`/Companies/${id}`)
  })

  test('none of the refused requests has deleted or created a row', async () => {
    expect(await listed(server, '/Companies')).toEqual(['Acme'])
  })
})
