import { expect, test } from 'bun:test'
import { connect, createServer } from 'node:net'
import { isInTimeWait } from '../../src/os/portUse.ts'
import { takePort } from '../../src/processes/startError.ts'
import { freePort, until } from '../support/process.ts'

const listen = (port: number) =>
  new Promise<ReturnType<typeof createServer>>((done, fail) => {
    const server = createServer((socket) => socket.on('end', () => socket.end()))
    server.once('error', fail)
    server.listen(port, '127.0.0.1', () => done(server))
  })
const portOf = (server: ReturnType<typeof createServer>) => (server.address() as { port: number }).port

test('a port that a client’s end has just had is in TIME-WAIT; a start says so, and that it will be free', async () => {
  const server = await listen(0)
  const client = connect(portOf(server), '127.0.0.1')
  await new Promise((done) => client.once('connect', done))
  const port = client.localPort as number
  expect(isInTimeWait(port)).toBe(false) // it is open
  client.end()
  await until(() => isInTimeWait(port))
  await expect(takePort({ host: '127.0.0.1', port })).rejects.toThrow(
    `port ${port} on 127.0.0.1 is kept for a connection that has ended (TIME-WAIT): start again in a minute, or set PORT`,
  )
  server.close()
})

test('a port whose server has closed its connections itself is given to the next server', async () => {
  const server = createServer((socket) => socket.end())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const port = portOf(server)
  const client = connect(port, '127.0.0.1')
  client.resume()
  await new Promise((done) => client.once('close', done))
  await new Promise((done) => server.close(done))
  await until(() => isInTimeWait(port))
  ;(await takePort({ host: '127.0.0.1', port }))()
})

test('a port that a server listens on is taken by another program, whatever else has been on it', async () => {
  const server = await listen(0)
  const port = portOf(server)
  const client = connect(port, '127.0.0.1')
  await new Promise((done) => client.once('connect', done))
  client.end()
  await new Promise((done) => client.once('close', done))
  expect(isInTimeWait(port)).toBe(false)
  await expect(takePort({ host: '127.0.0.1', port })).rejects.toThrow('is taken by another program')
  server.close()
})

test('a port that nothing uses is not in TIME-WAIT', () => {
  expect(isInTimeWait(freePort())).toBe(false)
})
