import { KEY, type TestServer } from './server.ts'
import { exchange } from './socket.ts'

export interface RawAnswer {
  status: number
  head: string
  body: string
}

/** Sends a handwritten request with the key, which fetch would not send: `line` is `GET /Companies`. */
export async function sendRaw(
  server: TestServer,
  line: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<RawAnswer> {
  const all = { Host: new URL(server.url).host, Authorization: `ApiKey ${KEY}`, Connection: 'close', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const answer = await exchange(server.url, `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  const end = answer.indexOf('\r\n\r\n')
  return { status: Number(answer.split(' ')[1]), head: answer.slice(0, end), body: answer.slice(end + 4) }
}
