import { connect } from 'node:net'
import { connect as connectSafely } from 'node:tls'
import { FINISH_MS } from '../../src/processes/messages.ts'

export interface Load {
  good: number
  /** Number of other outcomes: by status, or by the way in which a connection ended. */
  failures: Record<string, number>
  /** Number of responses that asked to close the connection. */
  leaves: number
  /** Number of connections that were closed while idle: no request has failed. */
  idleCuts: number
}

interface Options {
  count: number
  path: string
  key: string
  /** False if the client opens a new connection for each request. */
  keepAlive?: boolean
}

/**
 * Maximum pause in ms between the requests of a client. Without pauses, the clients would use the whole machine, and no
 * connection would be idle when its server closes it. The clients use HTTP/1.1, and obey `Connection: close`.
 */
const PAUSE_MS_MAX = 120
const pauseMs = () => (Math.random() < 0.25 ? 0 : Math.random() * PAUSE_MS_MAX)

export function startClients(url: string, { count, path, key, keepAlive = true }: Options) {
  const { hostname, port, host, protocol } = new URL(url)
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ApiKey ${key}\r\n\r\n`
  const load: Load = { good: 0, failures: {}, leaves: 0, idleCuts: 0 }
  const open = new Set<() => void>()
  let isEnding = false

  const fail = (what: string) => {
    load.failures[what] = (load.failures[what] ?? 0) + 1
  }
  function client() {
    if (isEnding) return
    let received = ''
    let isWaiting = false
    let sentMs = 0
    let isDone = false
    let isConnected = false
    const socket =
      protocol === 'https:'
        ? connectSafely({ port: Number(port), host: hostname, rejectUnauthorized: false })
        : connect(Number(port), hostname)
    const leave = (pauseMs: number) => {
      if (isDone) return
      isDone = true
      open.delete(end)
      socket.destroy()
      setTimeout(client, pauseMs)
    }
    const end = () => {
      if (!isWaiting) leave(0)
    }
    open.add(end)
    const cut = (what: string) => {
      if (isConnected && !isWaiting) load.idleCuts++
      else fail(what)
    }
    const ask = () => {
      if (isDone) return
      if (isEnding) return leave(0)
      isWaiting = true
      sentMs = performance.now()
      socket.write(request)
    }
    socket.on(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      isConnected = true
      ask()
    })
    socket.on('data', (chunk) => {
      received += chunk
      const head = received.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0)
      if (head === -1 || received.length < head + 4 + length) return
      isWaiting = false
      if (received.startsWith('HTTP/1.1 200')) load.good++
      else fail(performance.now() - sentMs < FINISH_MS ? received.slice(9, 12) : `${received.slice(9, 12)} after a second`)
      const mustLeave = /^connection: close/im.test(received.slice(0, head))
      if (mustLeave) load.leaves++
      received = ''
      if (mustLeave || !keepAlive) leave(keepAlive ? 0 : pauseMs())
      else setTimeout(ask, pauseMs())
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A refused connection is fine: the server has ended. No request over an accepted connection may be cut off.
      if (!isDone) cut(isConnected ? `cut: ${error.code}` : `not connected: ${error.code}`)
      leave(20)
    })
    socket.on('close', () => {
      if (!isDone) cut(isConnected ? 'cut' : 'not connected: closed')
      leave(20)
    })
  }
  for (let index = 0; index < count; index++) client()
  return {
    load,
    /** Lets the clients finish their requests; resolves with the counts. */
    async stop(): Promise<Load> {
      isEnding = true
      for (const end of open) end()
      for (const giveUpMs = performance.now() + 5_000; open.size > 0 && performance.now() < giveUpMs; ) await Bun.sleep(10)
      return load
    },
  }
}
