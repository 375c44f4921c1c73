import { isStreamed, type Reply } from './reply.ts'

/**
 * The longest head that nginx takes by default (`proxy_buffer_size`). Node's fetch takes 16 KiB, which is more than four
 * links of a target of 3 KiB, on an address of 128, with a page's number and all that stands beside them: under 14,000.
 */
export const HEAD_BYTES_MAX = 4 * 1024

const DATE_BYTES = 'Date: Sat, 21 Nov 2026 13:05:00 GMT\r\n'.length
/** What the server adds, but for the digits of the body's length. */
const SERVER_BYTES = 'HTTP/1.1 200 OK\r\n'.length + DATE_BYTES + 'Content-Length: \r\n\r\n'.length

const CORS_SHORTEST = 'Vary: Origin\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: *\r\n'.length
/** With an origin of 267 characters, and the names of all headers that are exposed. */
const CORS_LONGEST = CORS_SHORTEST + 267 + 220

/** In turn: content type; its certainty; caching; tag; total; limit's period, what remains of it, reset; request id; connection. */
const OWN_BYTES_MAX = 47 + 33 + 25 + 25 + 33 + (28 + 32 + 41) + 144 + 19

/** The most that a list's head has to have beside `Location`: also the server's own, and up to 8 digits of a length. */
export const OTHER_BYTES_MAX = SERVER_BYTES + 8 + OWN_BYTES_MAX + CORS_SHORTEST

/** `Location` has one relation that is longer by so much: `previous` for `prev`. */
const LONGER_BYTES = 4
const NAMES_BYTES = 'Location: \r\nLink: \r\n'.length
/** Shorter ones fit twice in any head. */
const LINKS_LENGTH_SAFE =
  (HEAD_BYTES_MAX - OTHER_BYTES_MAX - (CORS_LONGEST - CORS_SHORTEST) - NAMES_BYTES - LONGER_BYTES) / 2

/**
 * What a head over 4 KiB loses, in turn, until it fits. `*` names all headers for pages that send no cookies, as all do
 * whom we answer; it comes first, since a page can then still read `Link`, which is the second copy of the links. A page
 * whose origin may read the answer may read it by `*` too; it comes last, since it says less.
 */
const SHORTENINGS: readonly ((headers: Reply['headers']) => void)[] = [
  (headers) => replaceBy(headers, 'Access-Control-Expose-Headers', '*'),
  (headers) => delete headers.Link,
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

function replaceBy(headers: Reply['headers'], name: string, value: string) {
  if (headers[name] !== undefined) headers[name] = value
}

/** The bytes of an answer 200's head as it goes out. Its headers are ASCII. */
function headBytes({ headers, body }: Reply): number {
  let bytes = SERVER_BYTES + String(isStreamed(body) ? 0 : Buffer.byteLength(body ?? '')).length
  for (const [name, value] of Object.entries(headers)) bytes += `${name}: ${value}\r\n`.length
  return bytes
}
