// Clients that ask for lists and read nothing: `<port> <key> <clients> <readers>`. Says "asked" when all have; when something is
// read from stdin, all but the readers leave, and the readers read at last. Then it says the statuses and rows of their answers.
import { createConnection, type Socket } from 'node:net'

const [port, key, clients, readers] = process.argv.slice(2)

const ask = (index: number) =>
  new Promise<Socket>((resolve, reject) => {
    const head = `Host: x\r\nConnection: close\r\nAuthorization: ApiKey ${key}\r\n\r\n`
    const socket = createConnection({ host: '127.0.0.1', port: Number(port) }, () => {
      socket.pause()
      socket.write(`GET /Companies?Id=!=${index}&sort=-Id&PageSize=50 HTTP/1.1\r\n${head}`)
      resolve(socket)
    })
    socket.on('error', reject)
  })

async function read(socket: Socket): Promise<string> {
  const pieces: Buffer[] = []
  const ended = new Promise((resolve) => socket.once('end', resolve))
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.resume()
  await ended
  const bytes = Buffer.concat(pieces)
  const bodyAt = bytes.indexOf('\r\n\r\n') + 4
  const head = bytes.subarray(0, bodyAt).toString()
  const body = bytes.subarray(bodyAt)
  const text = /^transfer-encoding: chunked/im.test(head) ? unchunked(body) : body
  return `${head.slice(9, 12)} ${JSON.parse(text.toString()).length}`
}

/** RFC 9112, 7.1 */
function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.subarray(at, lineEnd).toString(), 16)
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + length))
    at = lineEnd + 2 + length + 2
  }
}

const sockets = await Promise.all(Array.from({ length: Number(clients) }, (_, index) => ask(index)))
process.stdout.write('asked')
process.stdin.once('data', async () => {
  for (const socket of sockets.slice(Number(readers))) socket.destroy()
  const answers = await Promise.all(sockets.slice(0, Number(readers)).map(read))
  process.stdout.write(answers.join(), () => process.exit())
})
