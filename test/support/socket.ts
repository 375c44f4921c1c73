import { connect } from 'node:net'

/** Sends raw bytes; returns everything received until the server closes, or for `waitMs`. */
export function exchange(url: string, bytes: string | Uint8Array<ArrayBuffer>, waitMs = 2_000): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((done, fail) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const finish = () => done(Buffer.concat(chunks).toString('latin1'))
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    socket.on('close', finish)
    socket.on('error', fail)
    setTimeout(() => socket.destroy(), waitMs).unref()
  })
}
