import { expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { ListenSocket } from '../../src/os/listenSocket.ts'
import { until } from '../support/process.ts'

const isLinux = process.platform === 'linux'

function serve(port: number, answer: string) {
  return Bun.serve({ port, hostname: '127.0.0.1', reusePort: true, fetch: () => new Response(answer) })
}

/** A connection on which one asks again and again. */
function client(port: number) {
  let received = ''
  const socket: Socket = connect(port, '127.0.0.1')
  socket.on('data', (piece) => (received += piece))
  return {
    connected: new Promise((done) => socket.once('connect', done)),
    async ask(): Promise<string> {
      received = ''
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await until(() => /\r\n\r\n./.test(received))
      return received.split('\r\n\r\n')[1] as string
    },
    end: () => socket.destroy(),
  }
}

const outcomeOf = (port: number) =>
  new Promise<string>((done) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      done('connected')
    })
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code as string))
  })

if (isLinux)
  test('a listener that stops accepting refuses clients; those that have connected go on, and others go to the next one', async () => {
    const first = serve(0, 'first')
    const port = first.port as number
    const listener = new ListenSocket(port)
    const [kept, begun] = [client(port), client(port)]
    await begun.connected // and has sent nothing, so that the listener has not accepted it
    expect(await kept.ask()).toBe('first')
    listener.stopAccepting()
    expect(await outcomeOf(port)).toBe('ECONNREFUSED')
    const second = serve(port, 'second')
    for (let turn = 0; turn < 8; turn++) {
      const other = client(port)
      expect([await other.ask(), await kept.ask(), await begun.ask()]).toEqual(['second', 'first', 'first'])
      other.end()
    }
    for (const { end } of [kept, begun]) end()
    await Promise.all([first.stop(true), second.stop(true)])
  })
else test('elsewhere than on Linux nothing happens', () => expect(() => new ListenSocket(1).stopAccepting()).not.toThrow())
