// Links between pages: first, previous, next and last; shortened until the head of the response fits into 4 KiB.
import type { ListQuery } from '../model/query.ts'
import { isStreamed, type Reply } from './reply.ts'

type Paging = Pick<ListQuery, 'page' | 'pageSize' | 'seek'>

/** Numbers of the pages that links lead to; null: none. `rows`: of this page. `hasMore`: in its direction there are. Spec 4.3 */
export function pageLinksOf({ page, pageSize, seek }: Paging, total: number, rows: number, hasMore: boolean) {
  const last = Math.max(1, Math.ceil(total / pageSize))
  // Past the last page the previous one is the last there is.
  const previous = page > 1 ? Math.min(page - 1, last) : null
  if (seek === null) return { previous, next: page < last ? page + 1 : null, isFirst: page === 1, isLast: page === last, last }
  const isBehind = seek.side === 'behind'
  // Nothing is left on that side: the page lies behind the last, or before the first.
  if (rows === 0) return { previous: isBehind ? last : null, next: isBehind ? null : 1, isFirst: false, isLast: false, last }
  // The rows found decide, not the page's number: rows that came or went meanwhile have moved the pages, and a client that
  // follows links to their end must meet every row. On the side from which it was sought there is the page with the link.
  const [hasBefore, hasBehind] = isBehind ? [true, hasMore] : [hasMore, true]
  const within = (number: number) => Math.min(Math.max(number, 1), last)
  const number = within(page)
  return {
    previous: hasBefore ? within(number - 1) : null,
    next: hasBehind ? within(number + 1) : null,
    isFirst: !hasBefore,
    isLast: !hasBehind,
    last,
  }
}

/** Adds a page's links to its headers; `Link` is the standard's spelling (RFC 8288). `cursors`: null without one. Spec 4.3 */
export function addLinks(
  headers: Record<string, string>,
  { previous, next, isFirst, isLast, last }: ReturnType<typeof pageLinksOf>,
  cursors: Readonly<Record<'previous' | 'next', string | null>>,
  url: string,
  kept: string,
) {
  const address = `<${url}?${encodeRaw(kept)}${kept && '&'}page=`
  const first = isFirst ? '' : `${address}1>; rel="first"`
  const back = previous === null ? '' : `${address}${previous}${parameter(address, cursors.previous)}>; rel=`
  let forth = next === null ? '' : `${address}${next}${parameter(address, cursors.next)}>; rel="next"`
  if (!isLast) forth += `${forth && ', '}${address}${last}>; rel="last"`
  if (first === '' && back === '' && forth === '') return
  headers.Location = joined(first, back && `${back}"previous"`, forth)
  headers.Link = joined(first, back && `${back}"prev"`, forth)
}

/** None where the link would be longer than what the server takes. */
function parameter(address: string, cursor: string | null): string {
  const text = cursor === null ? '' : `&cursor=${cursor}`
  return address.length + PAGE_DIGITS_MAX + text.length > TARGET_LENGTH_MAX ? '' : text
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).join(', ')
}

/** How long a request target may be. A page's links repeat it up to four times, in a head that clients take 16 KiB of. */
export const TARGET_LENGTH_MAX = 3 * 1024
const PAGE_DIGITS_MAX = 16

/** Characters that clients send raw although URIs do not allow them; a # would begin a fragment. RFC 3986, 2. */
const NOT_IN_URIS = /[#|\\^`{}[\]]/g

/** Percent-encodes what no URI has, as far as the server has left that raw. */
export function encodeRaw(text: string): string {
  return text.search(NOT_IN_URIS) === -1 ? text : text.replace(NOT_IN_URIS, encodeURIComponent)
}

/** The longest head that nginx takes by default (`proxy_buffer_size`), and that clients take. */
const [HEAD_BYTES_MAX, LONG_HEAD_BYTES_MAX] = [4 * 1024, 16 * 1024]

const DATE_BYTES = 'Date: Sat, 21 Nov 2026 13:05:00 GMT\r\n'.length
/** Bytes that the server adds, except the digits of the body's length. */
const SERVER_BYTES = 'HTTP/1.1 200 OK\r\n'.length + DATE_BYTES + 'Content-Length: \r\n\r\n'.length

/** Shorter links fit twice into any head: all other headers together are less than 2 KiB. */
const LINKS_LENGTH_SAFE = 1024

/**
 * Ways to shorten a head over 4 KiB, applied in turn until it fits. `*` names all headers for pages that send no cookies, which
 * are all that get an answer. `Link` repeats `Location`. A page whose origin may read the answer may read it by `*` too.
 * Without a cursor a link leads to its page by the page's number; the next page keeps its cursor longest.
 */
const SHORTENINGS: readonly ((headers: Reply['headers']) => void)[] = [
  (headers) => replaceBy(headers, 'Access-Control-Expose-Headers', '*'),
  (headers) => delete headers.Link,
  (headers) => replaceBy(headers, 'Access-Control-Allow-Origin', '*'),
  dropFirstCursor,
  dropFirstCursor,
]

/** Keeps the head of a list within 4 KiB where its links leave that possible; else within 16 KiB, with cursors. */
export function fitHead(reply: Reply): void {
  const { Location } = reply.headers
  if (Location === undefined || Location.length <= LINKS_LENGTH_SAFE) return
  for (const shorten of SHORTENINGS) {
    const bytes = headBytes(reply)
    if (bytes <= HEAD_BYTES_MAX) return
    const isLong = bytes - cursorBytes(reply) > HEAD_BYTES_MAX && bytes <= LONG_HEAD_BYTES_MAX
    if (shorten !== dropFirstCursor || !isLong) shorten(reply.headers)
  }
}

function cursorBytes({ headers: { Location = '' } }: Reply): number {
  return Location.length - Location.replace(/&cursor=[\w-]+/g, '').length
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
