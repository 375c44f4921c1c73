// Shortens the headers of a page of a list, whose links can be long, until proxies and clients accept the response's head. D31
import { CURSOR_PARAMETER } from '../respond/pageLinks.ts'
import { isStreamed, type Reply } from '../respond/reply.ts'

type Headers = Record<string, string>

/** Longest head that nginx accepts by default (`proxy_buffer_size`). */
const HEAD_BYTES_MAX = 4 * 1024
/** Longest head that clients accept: Node's fetch has the smallest limit. */
const LONG_HEAD_BYTES_MAX = 16 * 1024

const DATE_BYTES = 'Date: Sat, 21 Nov 2026 13:05:00 GMT\r\n'.length
/** Number of bytes that Bun adds to the headers, without the digits of the body's length. */
const SERVER_BYTES = 'HTTP/1.1 200 OK\r\n'.length + DATE_BYTES + 'Content-Length: \r\n\r\n'.length

/**
 * Maximum length of `Location` with which every head is short enough. `Link` repeats the links, and all other headers have less
 * than 2 KiB.
 */
const LINKS_LENGTH_SAFE = 1024

/** One way to shorten a head, and whether the client loses a cursor by it. */
interface Step {
  readonly shorten: (headers: Headers) => void
  /** True if a link loses its cursor: then the link names its page only by number. */
  readonly dropsCursor: boolean
}

/**
 * Steps in the order in which they are taken until the head fits. The first `dropFirstCursor` drops the cursor of `previous`,
 * because this link is before `next` in `Location`. The second drops the cursor of `next`.
 */
const STEPS: readonly Step[] = [
  // For web pages that send no cookies, `*` names all headers. Web pages that send cookies may not read the response.
  { shorten: (headers) => replace(headers, 'Access-Control-Expose-Headers', '*'), dropsCursor: false },
  // `Link` repeats `Location`.
  { shorten: (headers) => delete headers.Link, dropsCursor: false },
  // A web page whose origin may read the response may also read it if the header is `*`.
  { shorten: (headers) => replace(headers, 'Access-Control-Allow-Origin', '*'), dropsCursor: false },
  { shorten: dropFirstCursor, dropsCursor: true },
  { shorten: dropFirstCursor, dropsCursor: true },
]

/**
 * Edits `headers` so that the head has at most 4 KiB. If this is impossible even without cursors, drops cursors only until the
 * head has at most 16 KiB.
 */
export function shortenHeaders(headers: Headers, body: Reply['body']): void {
  if (headers.Location === undefined || headers.Location.length <= LINKS_LENGTH_SAFE) return
  for (const { shorten, dropsCursor } of STEPS) {
    const bytes = headBytes(headers, body)
    if (bytes <= HEAD_BYTES_MAX) return
    if (dropsCursor && staysLong(headers, bytes)) return
    shorten(headers)
  }
}

/** Returns whether the head has more than 4 KiB even without any cursor, while clients accept it with all its cursors. */
function staysLong({ Location = '' }: Headers, bytes: number): boolean {
  const cursorBytes = Location.length - Location.split(CURSOR_PARAMETER).join('').length
  return bytes - cursorBytes > HEAD_BYTES_MAX && bytes <= LONG_HEAD_BYTES_MAX
}

function dropFirstCursor(headers: Headers) {
  replace(headers, 'Location', (headers.Location as string).replace(CURSOR_PARAMETER, ''))
}

function replace(headers: Headers, name: string, value: string) {
  if (headers[name] !== undefined) headers[name] = value
}

/** Returns the number of bytes of the head of a 200 as it is sent. Its headers are ASCII. */
function headBytes(headers: Headers, body: Reply['body']): number {
  let bytes = SERVER_BYTES + String(isStreamed(body) ? 0 : Buffer.byteLength(body ?? '')).length
  for (const [name, value] of Object.entries(headers)) bytes += `${name}: ${value}\r\n`.length
  return bytes
}
