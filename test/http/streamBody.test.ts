import { afterAll, expect, test } from 'bun:test'
import { streamBody } from '../../src/http/streamBody.ts'
import { PAID_ROWS, TEXT_ROWS } from '../../src/operations/streamPace.ts'

interface End {
  readonly isWhole: boolean
  readonly released: number
}

const NO_PLACE = { idleSinceMs: null, onEvict: () => undefined, release: () => undefined }
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
      saysFault: false,
      place: { ...NO_PLACE, release: () => void released++ },
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
    { texts: texts('/'), isGzipped: false, saysFault: false, place: NO_PLACE },
    { request: new Request(server.url.href), stallMs, faultLine: () => '', onEnd: (_, isWhole) => onEnd(isWhole) },
  )
const nextEnd = () => new Promise<End>((resolve) => ends.push(resolve))

test('sends what there is, and gives its place back once', async () => {
  texts = async function* () {
    yield 'one '
    yield 'two'
  }
  const end = nextEnd()
  expect(await (await fetch(server.url)).text()).toBe('one two')
  expect(await end).toEqual({ isWhole: true, released: 1 })
})

test('a client that takes nothing is cut off, and what makes the texts is ended', async () => {
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

test('D55: a client that sips is cut off before it has a thousand rows, however often it takes a little', async () => {
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

test('one that takes a thousand rows in time has its time again for the next', async () => {
  texts = async function* () {
    for (let index = 0; index < 1_000; index++) yield 'x'
  }
  let read = 0
  for await (const piece of bodyOf(20_000)) read += piece.length
  expect(read).toBe(1_000)
})
