import { isStreamed, type Reply } from './reply.ts'

/** The longest head that nginx takes by default (`proxy_buffer_size`). */
const HEAD_BYTES_MAX = 4 * 1024

const DATE_BYTES = 'Date: Sat, 21 Nov 2026 13:05:00 GMT\r\n'.length
/** Bytes that the server adds, except the digits of the body's length. */
const SERVER_BYTES = 'HTTP/1.1 200 OK\r\n'.length + DATE_BYTES + 'Content-Length: \r\n\r\n'.length

/** Shorter links fit twice into any head: all other headers together are less than 2 KiB. */
const LINKS_LENGTH_SAFE = 1024

/**
 * Ways to shorten a head over 4 KiB, applied in turn until it fits. `*` names all headers for pages that send no cookies, which
 * are all that get an answer. `Link` repeats `Location`. Without a cursor a link leads to its page by the page's number; the
 * next page keeps its cursor longest. A page whose origin may read the answer may read it by `*` too.
 */
const SHORTENINGS: readonly ((headers: Reply['headers']) => void)[] = [
  (headers) => replaceBy(headers, 'Access-Control-Expose-Headers', '*'),
  (headers) => delete headers.Link,
  dropFirstCursor,
  dropFirstCursor,
  (headers) => replaceBy(headers, 'Access-Control-Allow-Origin', '*'),
]

/** Keeps the head of a list within 4 KiB where its links leave that possible. */
export function fitHead(reply: Reply): void {
  const { Location } = reply.headers
  if (Location === undefined || Location.length <= LINKS_LENGTH_SAFE) return
  for (const shorten of SHORTENINGS) {
    if (headBytes(reply) <= HEAD_BYTES_MAX) return
    shorten(reply.headers)
  }
}

function dropFirstCursor(headers: Reply['headers']) {
  headers.Location = (headers.Location as string).replace(/&cursor=[\w-]+/, '')
}

function replaceBy(headers: Reply['headers'], name: string, value: string) {
  if (headers[name] !== undefined) headers[name] = value
}

/** The bytes of an answer 200's head as it goes out. Its headers are ASCII. */
function headBytes({ headers, body }: Reply): number {
  let bytes = SERVER_BYTES + String(isStreamed(body) ? 0 : Buffer.byteLength(body ?? '')).length
  for (const [name, value] of Object.entries(headers)) bytes += `${name}: ${value}\r\n`.length
  return bytes
}
