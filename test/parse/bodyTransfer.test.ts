import { afterAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { readBody } from '../../src/parse/body.ts'

/** Answers with the body that it has read, or with the code of the error. */
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 30,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  fetch: (request) =>
    readBody(request).then(
      (body) => Response.json(body),
      ({ code, headers }) => {
        failures.push(code)
        return new Response(code, { headers })
      },
    ),
})
const failures: string[] = []
afterAll(() => server.stop(true))

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
const BODY = '{"Name":"Zoë"}'
/** Each alone, so that pieces end within a character. */
const BYTES = Array.from(Buffer.from(BODY), (byte) => Buffer.of(byte))
const LENGTH = `Content-Length: ${Buffer.byteLength(BODY)}\r\n`

/** What comes back for pieces that are sent one after the other; the client leaves once its body is answered. */
function send(pieces: (string | Buffer)[]): Promise<string> {
  return new Promise((done, fail) => {
    let answer = ''
    const socket = connect(server.port as number, '127.0.0.1', async () => {
      for (const piece of pieces) {
        if (!socket.destroyed) socket.write(piece)
        await Bun.sleep(20)
      }
    })
    socket.on('data', (chunk) => {
      answer += chunk
      if (answer.includes(BODY)) socket.destroy()
    })
    socket.on('close', () => done(answer))
    socket.on('error', fail)
  })
}

describe('a body over a real connection', () => {
  test('is read if it comes as a whole, byte by byte, after 100 Continue, or in chunks without a length', async () => {
    expect(await send([`${HEAD}${LENGTH}\r\n${BODY}`])).toStartWith('HTTP/1.1 200')
    expect(await send([`${HEAD}${LENGTH}\r\n`, ...BYTES])).toStartWith('HTTP/1.1 200')
    expect(await send([`${HEAD}Expect: 100-continue\r\n${LENGTH}\r\n`, BODY])).toContain('HTTP/1.1 200')
    const size = Buffer.byteLength(BODY).toString(16)
    const chunks = `${size}\r\n${BODY}\r\n0\r\n\r\n`
    expect(await send([`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunks])).toStartWith('HTTP/1.1 200')
  })

  test('gets InvalidJson if the client disconnects before its end', async () => {
    failures.length = 0
    const socket = connect(server.port as number, '127.0.0.1', () => socket.write(`${HEAD}${LENGTH}\r\n{"N`))
    await Bun.sleep(100)
    socket.destroy()
    while (failures.length === 0) await Bun.sleep(10)
    expect(failures).toEqual(['InvalidJson'])
  })

  test('D18: gets RequestTimeout if it stops, trickles or never begins, and the connection is closed', async () => {
    const head = `${HEAD}Content-Length: 1000\r\n\r\n`
    const chunked = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
    const trickle = Array<string>(900).fill(' ')
    const answers = await Promise.all(
      [[head], [head, '{'], [head, ...trickle], [chunked, '1\r\n{\r\n']].map((pieces) => send(pieces)),
    )
    for (const answer of answers) {
      expect(answer).toContain('\r\nConnection: close\r\n')
      expect(answer).toEndWith('RequestTimeout')
    }
  })
})
