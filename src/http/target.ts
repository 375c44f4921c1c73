// The request target: splits it into path and query string, limits its length, and keeps secrets out of the log.
import { ApiError } from '../errors.ts'
import { excerpt } from '../model/excerpt.ts'
import { encodeRaw, TARGET_LENGTH_MAX } from '../respond/pageLinks.ts'

/** Target of a request: its path, as the client wrote it, and the text behind `?`. */
export interface Target {
  readonly path: string
  readonly query: string
  /** Error for a target that cannot be read; path and query are then empty. */
  readonly fault: ApiError | null
}

/** Raw characters become up to three of a link. */
const TARGET_LENGTH_SAFE = TARGET_LENGTH_MAX / 3
/** Parameter that links add to the query that they repeat. */
const PAGE_AT_END = /&page=\d{1,16}$/
const LOGGED_LENGTH_MAX = 200
const ROOT: Target = { path: '/', query: '', fault: null }

/** Takes an absolute URL apart. No URL object: it costs more than the rest of the routing. */
export function readTarget({ url, headers }: Request): Target {
  // The server leaves the URL relative when the Host header is not valid, or missing, which HTTP/1.0 allows.
  const host = headers.get('host')
  // Several Host headers come as one, with commas between; the URL has the first of them.
  if (host !== null && (url.startsWith('/') || host.includes(',')))
    return unreadable('InvalidHost', 'The Host header is not valid.')
  const start = startOf(url)
  if (start === -1) return ROOT
  // By the length that links have of it. The page's number at a link's end is not counted: links must lead somewhere.
  const isShort = url.length - start <= TARGET_LENGTH_SAFE
  if (!isShort && encodeRaw(url.slice(start).replace(PAGE_AT_END, '')).length > TARGET_LENGTH_MAX)
    return unreadable('UriTooLong', 'Path and query string together, percent-encoded, may have up to 3 KiB.')
  const mark = url.indexOf('?', start)
  const end = mark === -1 ? url.length : mark
  return { path: url.slice(start, end), query: url.slice(end + 1), fault: null }
}

/** The path's begin; -1: there is none, since CONNECT may name a host and a port alone. */
function startOf(url: string): number {
  return url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
}

function unreadable(code: 'InvalidHost' | 'UriTooLong', message: string): Target {
  return { path: '', query: '', fault: new ApiError(code, message) }
}

/** A key that a client has put into the path by mistake. */
const KEYS = /roster_\w+/gi

/** The path for the log: without the query string, which can hold people's data, without keys, and not longer than a line. */
export function pathOf(url: string): string {
  const start = startOf(url)
  if (start === -1) return ROOT.path
  const [path = ''] = url.slice(start).split('?', 1)
  return excerpt(path.replace(KEYS, 'roster_...'), LOGGED_LENGTH_MAX)
}
