import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { type DeliveryOptions, deliver, makeSecret } from '../../src/hooks/delivery.ts'
import { parseTargets } from '../../src/model/networks.ts'
import { hasOpenssl, makeCertificate } from '../support/certificate.ts'
import { leaveOut } from '../support/process.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'

const NAME = 'hooks.example.test'
const options = { allowed: parseTargets('127.0.0.0/8'), timeoutMs: 60_000 }
const message = { id: 'msg_1', body: '{}' }
const never = new AbortController().signal

let receiver: Receiver
beforeAll(() => {
  receiver = startReceiver()
})
afterAll(() => receiver.stop())

const post = (url: string, more: Partial<DeliveryOptions> = {}, signal = never) =>
  deliver({ url, secret: makeSecret() }, message, signal, { ...options, ...more })

test('a delivery looks the host name up once, connects to the checked address, and sends the name as its Host', async () => {
  let asked = 0
  const resolve = async () => [asked++ === 0 ? '127.0.0.1' : '127.0.0.2']
  const url = `http://${NAME}:${receiver.port}/hook?secret=1`
  expect(await post(url, { resolve })).toEqual({ isDelivered: true, status: '204', isGone: false })
  expect(asked).toBe(1)
  const { headers, path } = receiver.deliveries.at(-1) ?? {}
  expect([headers?.get('host'), path]).toEqual([`${NAME}:${receiver.port}`, '/hook'])
})

test('a delivery to the name of this machine is refused unless HOOKS_ALLOW permits it', async () => {
  const { length } = receiver.deliveries
  const url = `https://localhost:${receiver.port}/hook`
  const { isDelivered, status } = await post(url, { allowed: parseTargets(null) })
  expect([isDelivered, status]).toEqual([false, expect.stringContaining('is a private address')])
  expect(receiver.deliveries).toHaveLength(length)
})

test('a delivery follows no redirect', async () => {
  receiver.answer = () => new Response(null, { status: 307, headers: { Location: `${receiver.url}/elsewhere` } })
  const { length } = receiver.deliveries
  expect(await post(receiver.url)).toMatchObject({ isDelivered: false, status: '307, which is not followed' })
  expect(receiver.deliveries).toHaveLength(length + 1)
})

test('a delivery times out if the receiver does not answer, and is aborted when the sender stops', async () => {
  const silent = await listen(() => undefined)
  expect(await post(silent.url, { timeoutMs: 50 })).toMatchObject({ isDelivered: false, status: 'timed out' })
  const leaving = new AbortController()
  setTimeout(() => leaving.abort(), 20)
  expect((await post(silent.url, {}, leaving.signal)).isDelivered).toBe(false)
  silent.server.close()
})

test('a sender that stops does not wait for a DNS lookup, and posts nothing afterwards', async () => {
  const { length } = receiver.deliveries
  const looking = Promise.withResolvers<void>()
  const found = Promise.withResolvers<string[]>()
  const resolve = () => {
    looking.resolve()
    return found.promise
  }
  const leaving = new AbortController()
  const posted = post(`http://${NAME}:${receiver.port}/hook`, { resolve }, leaving.signal)
  await looking.promise
  leaving.abort()
  const cut = { isDelivered: false, status: 'cut off', isGone: false }
  // Only the abort can end the delivery: the name is not resolved yet, and the timeout of these tests is long.
  expect(await posted).toEqual(cut)
  found.resolve(['127.0.0.1'])
  expect(await post(receiver.url, {}, leaving.signal)).toEqual(cut)
  receiver.answer = () => new Response(null, { status: 204 })
  expect(await post(receiver.url)).toMatchObject({ isDelivered: true })
  expect(receiver.deliveries).toHaveLength(length + 1)
})

test('a delivery with an endless answer succeeds by its status, and closes the connection', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n'
  let isClosed = false
  const endless = await listen((socket) => {
    socket.write(head)
    const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const write = () => socket.writable && socket.write(piece, () => setImmediate(write))
    socket.on('close', () => {
      isClosed = true
    })
    write()
  })
  expect(await post(endless.url)).toMatchObject({ isDelivered: true, status: '200' })
  while (!isClosed) await Bun.sleep(5)
  endless.server.close()
})

test('a delivery to an unreachable receiver, or to one that is no HTTP server, fails, and its status does not contain the URL', async () => {
  const broken = await listen((socket) => socket.end('nothing\r\n\r\n'))
  const { status } = await post(`${broken.url}?token=secret`)
  expect(status).toMatch(/^failed/)
  expect(status).not.toContain('secret')
  await new Promise((resolve) => broken.server.close(resolve))
  expect(await post(broken.url)).toMatchObject({
    isDelivered: false,
    status: expect.stringMatching(/^failed \(\w+\)$/),
  })
})

test('a delivery requires a certificate for the host name of its URL, although it connects to an IP address', async () => {
  if (!hasOpenssl) return leaveOut('CI_REQUIRES_NGINX', 'there is no openssl')
  const files = makeCertificate(`DNS:${NAME}`)
  const ca = await Bun.file(files.certificate).text()
  const secure = startReceiver({ key: await Bun.file(files.key).text(), cert: ca })
  const resolve = async () => ['127.0.0.1']
  const to = (name: string) => `https://${name}:${secure.port}/hook`
  expect(await post(to(NAME), { resolve, ca })).toMatchObject({ isDelivered: true, status: '204' })
  expect(secure.deliveries[0]?.headers.get('host')).toBe(`${NAME}:${secure.port}`)
  const others = [await post(to('other.example.test'), { resolve, ca }), await post(to(NAME), { resolve })]
  expect(others.map(({ status }) => status)).toEqual([
    'failed (ERR_TLS_CERT_ALTNAME_INVALID)',
    'failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
  ])
  expect(secure.deliveries).toHaveLength(1)
  await secure.stop()
})

async function listen(onSocket: (socket: import('node:net').Socket) => void): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => onSocket(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as { port: number }
  return { server, url: `http://127.0.0.1:${port}/` }
}
