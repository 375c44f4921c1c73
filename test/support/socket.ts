import { connect } from 'node:net'

/** Maximum wait in ms for the server to close the connection. After it, a test fails by the text that has arrived. */
const NEVER_MS = 60_000

/** Sends raw bytes; returns everything received until the server closes. */
export function exchange(url: string, bytes: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((done, fail) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const finish = () => done(Buffer.concat(chunks).toString('latin1'))
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    socket.on('close', finish)
    socket.on('error', fail)
    setTimeout(() => socket.destroy(), NEVER_MS).unref()
  })
}
