// The request target: splits it into path and query string, limits its length, and keeps secrets out of the log.
import { ApiError } from '../errors.ts'
import { excerpt } from '../model/excerpt.ts'
import { encodeRaw, TARGET_LENGTH_MAX } from '../respond/pageLinks.ts'

/** Target of a request: its path as the client wrote it, and its query string without `?`. */
export interface Target {
  readonly path: string
  readonly query: string
  /** Error if the target cannot be read: then `path` and `query` are ''. Null: it can be read. */
  readonly fault: ApiError | null
}

/** Length up to which a target is short enough with any content: a link has up to three characters for each raw character. */
const TARGET_LENGTH_SAFE = TARGET_LENGTH_MAX / 3
/** Matches the parameter that links append to the query string. Links repeat all other parameters. */
const PAGE_AT_END = /&page=\d{1,16}$/
const LOGGED_LENGTH_MAX = 200
const ROOT: Target = { path: '/', query: '', fault: null }

/** Splits the URL of a request. Makes no URL object, which would cost more than all other steps of the routing. */
export function readTarget({ url, headers }: Request): Target {
  // The server leaves the URL relative when the Host header is not valid, or missing, which HTTP/1.0 allows.
  const host = headers.get('host')
  // Bun joins several Host headers by commas, and makes the URL from the first of them.
  if (host !== null && (url.startsWith('/') || host.includes(',')))
    return unreadable('InvalidHost', 'The Host header is not valid.')
  const start = startOf(url)
  if (start === -1) return ROOT
  // Counts the length of the target as links write it, because every link must be short enough. The number of the page is left
  // out, because a link appends the number of the page to which it leads.
  const isShort = url.length - start <= TARGET_LENGTH_SAFE
  if (!isShort && encodeRaw(url.slice(start).replace(PAGE_AT_END, '')).length > TARGET_LENGTH_MAX)
    return unreadable('UriTooLong', 'Path and query string together, percent-encoded, may have up to 3 KiB.')
  const mark = url.indexOf('?', start)
  const end = mark === -1 ? url.length : mark
  return { path: url.slice(start, end), query: url.slice(end + 1), fault: null }
}

/** Returns the index at which the path begins; -1 if there is no path, because CONNECT may name only a host and a port. */
function startOf(url: string): number {
  return url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
}

function unreadable(code: 'InvalidHost' | 'UriTooLong', message: string): Target {
  return { path: '', query: '', fault: new ApiError(code, message) }
}

/** Pattern of a key that a client has put into the path by mistake. */
const KEYS = /roster_\w+/gi

/** Returns the path for the log: without the query string, which can hold people's data, without keys, and shortened. */
export function pathOf(url: string): string {
  const start = startOf(url)
  if (start === -1) return ROOT.path
  const [path = ''] = url.slice(start).split('?', 1)
  return excerpt(path.replace(KEYS, 'roster_...'), LOGGED_LENGTH_MAX)
}
