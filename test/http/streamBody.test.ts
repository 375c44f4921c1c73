import { afterAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { ApiError } from '../../src/errors.ts'
import { chunked, streamBody } from '../../src/http/streamBody.ts'
import { PAID_ROWS, TEXT_ROWS } from '../../src/operations/streams.ts'
import { usePlace } from '../support/place.ts'
import { workersOf } from '../support/process.ts'
import { resourcesOf } from '../support/resources.ts'
import { startProcess } from '../support/start.ts'

interface End {
  readonly isWhole: boolean
  readonly released: number
}

const NO_PLACE = { idleSinceMs: null, onEvict: () => undefined, bytes: 0, release: () => undefined }
const ends: ((end: End) => void)[] = []
let texts: (path: string) => AsyncGenerator<string>

/** Answers with what `texts` makes; at one path a client that stalls has a tenth of a second. */
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  development: false,
  fetch(request) {
    let released = 0
    const { pathname } = new URL(request.url)
    const streamed = {
      texts: texts(pathname),
      isGzipped: false,
      reportsErrorInBody: false,
      slot: { ...NO_PLACE, release: () => void released++ },
    }
    const body = streamBody(streamed, {
      request,
      ...(pathname === '/stalled' ? { stallMs: 100 } : {}),
      faultLine: () => '',
      onEnd: (_, isWhole) => ends.shift()?.({ isWhole, released }),
    })
    return new Response(body)
  },
})
afterAll(() => server.stop(true))

/** A stream that no server sends, of what `texts` makes. */
const bodyOf = (stallMs: number, onEnd: (isWhole: boolean) => void = () => undefined) =>
  streamBody(
    { texts: texts('/'), isGzipped: false, reportsErrorInBody: false, slot: NO_PLACE },
    { request: new Request(server.url.href), stallMs, faultLine: () => '', onEnd: (_, isWhole) => onEnd(isWhole) },
  )
const nextEnd = () => new Promise<End>((resolve) => ends.push(resolve))

test('a stream sends all of its texts, and releases its slot once', async () => {
  texts = async function* () {
    yield 'one '
    yield 'two'
  }
  const end = nextEnd()
  expect(await (await fetch(server.url)).text()).toBe('one two')
  expect(await end).toEqual({ isWhole: true, released: 1 })
})

test('a client that reads nothing is disconnected, and the generator of the texts is ended', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  texts = async function* () {
    try {
      for (;;) yield 'x'.repeat(1_000_000)
    } finally {
      resolve()
    }
  }
  const end = nextEnd()
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port as number,
    socket: { open: (own) => void own.pause(), data() {}, error() {}, close() {} },
  })
  socket.write('GET /stalled HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(await end).toEqual({ isWhole: false, released: 1 })
  await promise
  socket.terminate()
})

test('D55: a client that takes too long for 1,000 rows is disconnected, even if it reads a little again and again', async () => {
  texts = async function* () {
    for (;;) yield 'x'
  }
  const ended = Promise.withResolvers<boolean>()
  const body = bodyOf(200, ended.resolve)
  const reader = body.getReader()
  let isCut = false
  // So slowly that a thousand rows take half as long again as they may, and half of them less.
  for (let text = 1; text < PAID_ROWS / TEXT_ROWS && !isCut; text++) {
    await reader.read().catch(() => (isCut = true))
    await Bun.sleep(66)
  }
  expect(isCut).toBe(true)
  expect(await ended.promise).toBe(false)
})

test('an evicted stream ends with a line about the eviction, even if its next text is ready at that moment', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  texts = async function* () {
    yield await promise
  }
  const place = { ...NO_PLACE, onEvict: (_: ApiError) => undefined }
  const body = streamBody(
    { texts: texts('/'), isGzipped: true, reportsErrorInBody: true, slot: place },
    { request: new Request(server.url.href), faultLine: () => 'evicted\n', onEnd: () => undefined },
  )
  const reader = body.getReader()
  const first = reader.read()
  await Bun.sleep(20)
  place.onEvict(new ApiError('ServiceUnavailable', 'Another needs the place.'))
  const pieces = [(await first).value as Uint8Array]
  resolve('too late\n')
  for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value)
  expect(gunzipSync(Buffer.concat(pieces)).toString()).toBe('evicted\n')
})

test('a client that reads 1,000 rows in time gets the whole time limit again for the next 1,000', async () => {
  texts = async function* () {
    for (let index = 0; index < 1_000; index++) yield 'x'
  }
  let read = 0
  for await (const piece of bodyOf(20_000)) read += piece.length
  expect(read).toBe(1_000)
})

const CLIENTS = 100

const place = usePlace()

test('a long body is sent in chunks, and arrives complete', async () => {
  const body = crypto.getRandomValues(new Uint8Array(65_536)).toHex().repeat(9)
  const bytes = new TextEncoder().encode(body)
  const pieces = chunked(bytes, 'GET')
  expect(pieces).toBeInstanceOf(ReadableStream)
  expect(await new Response(pieces).text()).toBe(body)
  expect(bytes).toHaveLength(body.length)
})

test('a short body, a string, and a long body for HEAD are not split into chunks', () => {
  const [short, long] = [new Uint8Array(1_000), new Uint8Array(1_000_000)]
  for (const body of [short, '[]', null]) expect(chunked(body, 'GET')).toBe(body)
  expect(chunked(long, 'HEAD')).toBe(long)
})

test('clients that read the script of /docs slowly do not fill the memory of the worker', async () => {
  const { server, url } = await startProcess({ ...place.settings, WORKERS: '1' })
  const [worker = 0] = workersOf(server.pid)
  const rss = () => resourcesOf([worker]).rssMb[0] as number
  const page = await (await fetch(`${url}/docs`, { headers: { accept: 'text/html' } })).text()
  const script = new URL(/src="([^"]*scalar[^"]*)"/.exec(page)?.[1] as string, `${url}/docs`)
  const whole = await (await fetch(script, { headers: { 'accept-encoding': 'identity' } })).bytes()
  expect(whole.length).toBeGreaterThan(4_000_000)
  const beforeMb = rss()
  const clients = Array.from({ length: CLIENTS }, () => connect(Number(script.port), script.hostname))
  // Each takes the first of it, and no more.
  const begun = clients.map((socket) => {
    socket.write(`GET ${script.pathname} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n`)
    return new Promise((done, fail) => {
      socket.once('data', () => done(socket.pause()))
      socket.once('error', fail).once('close', () => fail(new Error('closed before a byte of the script')))
    })
  })
  await Promise.all(begun)
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  const grownMb = rss() - beforeMb
  for (const socket of clients) socket.destroy()
  expect(grownMb).toBeLessThan((CLIENTS * whole.length) / 1e6 / 2)
})
