import type { Reply } from './reply.ts'

/**
 * The longest head that nginx takes by default (`proxy_buffer_size`). Node's fetch takes 16 KiB, which is more than four
 * links of a target of 3 KiB, on an address of 128, with a page's number and all that stands beside them: under 13,500.
 */
export const HEAD_BYTES_MAX = 4 * 1024

const DATE_BYTES = 'Date: Sat, 21 Nov 2026 13:05:00 GMT\r\n'.length
/** What the server adds, but for the digits of the body's length. */
const SERVER_BYTES = 'HTTP/1.1 200 OK\r\n'.length + DATE_BYTES + 'Content-Length: \r\n\r\n'.length

/**
 * The most that a list's head has beside `Location` and `Link`: in turn the server's own and the body's length; content
 * type; total; the limit's period, what remains of it and its reset; request id; connection.
 */
export const OTHER_BYTES_MAX = SERVER_BYTES + 8 + 47 + 33 + (28 + 32 + 41) + 144 + 19

/** `Location` has one relation that is longer by so much: `previous` for `prev`. */
const LONGER_BYTES = 4
const NAMES_BYTES = 'Location: \r\nLink: \r\n'.length
/** Shorter ones fit twice in any head. */
const LINK_LENGTH_SAFE = (HEAD_BYTES_MAX - OTHER_BYTES_MAX - NAMES_BYTES - LONGER_BYTES) / 2

/** Leaves `Link`, which is the second copy of the links, out of a head that it would take over 4 KiB. */
export function fitHead(reply: Reply): void {
  const { Link } = reply.headers
  if (Link === undefined || Link.length <= LINK_LENGTH_SAFE) return
  if (headBytes(reply) > HEAD_BYTES_MAX) delete reply.headers.Link
}

/** The bytes of an answer 200's head as it goes out. Its headers are ASCII. */
function headBytes({ headers, body }: Reply): number {
  let bytes = SERVER_BYTES + String(Buffer.byteLength(body ?? '')).length
  for (const [name, value] of Object.entries(headers)) bytes += `${name}: ${value}\r\n`.length
  return bytes
}
