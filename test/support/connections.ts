import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands before PostgreSQL, and notes when a client connects. */
export async function countConnections(url: string) {
  const target = new URL(url)
  const timesMs: number[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    timesMs.push(performance.now())
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => to.write(bytes))
      from.on('close', () => to.destroy())
      from.on('error', () => to.destroy())
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    timesMs,
    /** For this role, through here. */
    urlOf(user: string, password: string): string {
      const address = new URL(url)
      Object.assign(address, { username: user, password, host: `127.0.0.1:${(server.address() as AddressInfo).port}` })
      return address.href
    },
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
