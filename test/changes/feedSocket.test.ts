import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { feedSockets } from '../../src/changes/feedSocket.ts'
import { temporaryFolder, until } from '../support/process.ts'

const COPY = 'd'
/** A message of PostgreSQL: its kind, the length of what follows and of itself, the text. */
const message = (kind: string, text: string) => {
  const bytes = Buffer.from(`${kind}....${text}`)
  bytes.writeUInt32BE(bytes.length - 1, 1)
  return bytes
}
const MESSAGES = [message('R', 'ok'), message('W', ''), message(COPY, 'one'), message(COPY, ''), message('N', 'note')]
const LATER = [message(COPY, 'x'.repeat(100_000)), message('c', ''), message(COPY, 'last')]

let server: Server
let accepted: Socket[]
let opened: Socket[]
let port: number
let read: string[]
let rests: number
let isPausing: boolean
let resume: () => void

const sockets = feedSockets({
  read: (bytes) => void read.push(bytes.toString()),
  rest(resumeReading) {
    rests++
    resume = resumeReading
    return isPausing
  },
})

beforeEach(async () => {
  ;[accepted, opened, read, rests, isPausing] = [[], [], [], 0, false]
  server = createServer((socket) => void accepted.push(socket.setNoDelay()))
  port = await listenOn(server, 0)
})
afterEach(() => {
  for (const socket of [...opened, ...accepted]) socket.destroy()
  server.close()
})

async function listenOn(listening: Server, at: number | string): Promise<number> {
  await new Promise<void>((resolve) => void listening.listen(at as number, resolve))
  const address = listening.address()
  return typeof address === 'string' || address === null ? 0 : address.port
}

/** A connection, and all that the driver would be given of it. */
async function connect(
  place: Partial<Parameters<typeof sockets>[0]> = {},
): Promise<{ driver: () => Buffer; peer: Socket }> {
  const socket = await sockets({
    host: ['127.0.0.1'],
    port: [port],
    path: false,
    ssl: false,
    connect_timeout: 5,
    ...place,
  })
  opened.push(socket)
  const pieces: Buffer[] = []
  socket.on('data', (bytes: Buffer) => void pieces.push(Buffer.from(bytes)))
  socket.on('error', () => undefined)
  await until(() => accepted.length > 0)
  return { driver: () => Buffer.concat(pieces), peer: accepted.at(-1) as Socket }
}

const expected = [...MESSAGES, ...LATER].filter(([kind]) => kind !== COPY.charCodeAt(0))

for (const [how, length] of [
  ['at once', 1_000_000],
  ['in pieces of 7 bytes', 7],
  ['byte by byte', 1],
] as const)
  test(`what PostgreSQL copies is read whole, and the driver gets all else, where it comes ${how}`, async () => {
    const { driver, peer } = await connect()
    for (const bytes of [Buffer.concat(MESSAGES), Buffer.concat(LATER)])
      for (let from = 0; from < bytes.length; from += length < 7 && from > 500 ? 10_000 : length) {
        const step = length < 7 && from > 500 ? 10_000 : length
        await new Promise((resolve) => peer.write(bytes.subarray(from, from + step), resolve))
      }
    await until(() => read.at(-1) === 'last')
    expect(read).toEqual(['one', '', 'x'.repeat(100_000), 'last'])
    expect(driver().equals(Buffer.concat(expected))).toBe(true)
  })

test('nothing more is read once that is asked for, until it is to go on; then it comes together', async () => {
  const { peer } = await connect()
  isPausing = true
  peer.write(message(COPY, 'first'))
  await until(() => rests === 1)
  for (let count = 0; count < 20; count++) {
    await new Promise((resolve) => peer.write(message(COPY, String(count)), resolve))
    await Bun.sleep(1)
  }
  expect([read, rests]).toEqual([['first'], 1])
  isPausing = false
  resume()
  await until(() => read.length === 21)
  expect(read.at(-1)).toBe('19')
  expect(rests).toBeLessThan(5)
})

test('where the connection is to be encrypted the driver gets all, and has the host whose certificate it checks', async () => {
  const { driver, peer } = await connect({ ssl: 'verify-full' })
  peer.write(Buffer.concat(MESSAGES))
  await until(() => driver().length === Buffer.concat(MESSAGES).length)
  expect([read, rests]).toEqual([[], 0])
  expect(opened[0] as object).toMatchObject({ host: '127.0.0.1', port })
})

test('of several hosts the next is tried where one refuses; where all do, that is thrown', async () => {
  const closed = createServer()
  const refusing = await listenOn(closed, 0)
  await new Promise((resolve) => closed.close(resolve))
  for (let attempt = 0; attempt < 2; attempt++) {
    await connect({ host: ['127.0.0.1', '127.0.0.1'], port: [refusing, port] })
    expect(accepted).toHaveLength(attempt + 1)
  }
  await expect(connect({ port: [refusing] })).rejects.toThrow(/ECONNREFUSED|connect/i)
})

test('a path is a socket of the file system', async () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'socket')
  const local = createServer((socket) => void accepted.push(socket))
  await listenOn(local, path)
  const { peer } = await connect({ path })
  peer.write(message(COPY, 'here'))
  await until(() => read.length === 1)
  expect(read).toEqual(['here'])
  local.close()
  folder.remove()
})

test('the end of the connection is an end for the driver', async () => {
  const { peer } = await connect()
  const closed = new Promise((resolve) => opened[0]?.once('close', resolve))
  peer.end(message(COPY, 'last'))
  await closed
  expect(read).toEqual(['last'])
})
