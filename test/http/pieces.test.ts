import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { inPieces } from '../../src/http/streamBody.ts'
import { usePlace } from '../support/place.ts'
import { workersOf } from '../support/process.ts'
import { resourcesOf } from '../support/resources.ts'

const CLIENTS = 100

const place = usePlace()

test('a long body comes in pieces, and comes whole', async () => {
  const body = crypto.getRandomValues(new Uint8Array(65_536)).toHex().repeat(9)
  const bytes = new TextEncoder().encode(body)
  const pieces = inPieces(bytes, 'GET')
  expect(pieces).toBeInstanceOf(ReadableStream)
  expect(await new Response(pieces).text()).toBe(body)
  expect(bytes).toHaveLength(body.length)
})

test('a short one, a text, and one that HEAD asks about stay as they are', () => {
  const [short, long] = [new Uint8Array(1_000), new Uint8Array(1_000_000)]
  for (const body of [short, '[]', null]) expect(inPieces(body, 'GET')).toBe(body)
  expect(inPieces(long, 'HEAD')).toBe(long)
})

test('clients that read the docs’ script slowly do not fill the memory', async () => {
  const { server, url } = await place.start({ WORKERS: '1' })
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
    return new Promise((done) => socket.once('data', () => done(socket.pause())))
  })
  await Promise.all(begun)
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  const grownMb = rss() - beforeMb
  for (const socket of clients) socket.destroy()
  expect(grownMb).toBeLessThan((CLIENTS * whole.length) / 1e6 / 2)
})
