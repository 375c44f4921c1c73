import { ApiError } from './errors.ts'

/** What a request asks for: its path, as the client wrote it, and what stands behind `?`. */
export interface Target {
  readonly path: string
  readonly query: string
  /** Why the two cannot be read, and are empty. */
  readonly fault: ApiError | null
}

const TARGET_LENGTH_MAX = 8 * 1024

/** Takes an absolute URL apart. No URL object: it costs more than the rest of the routing. */
export function readTarget({ url, headers }: Request): Target {
  // The server leaves the URL relative when the Host header is not valid, or missing, which HTTP/1.0 allows.
  const isRelative = url.startsWith('/')
  if (isRelative && headers.has('host')) return unreadable('InvalidHost', 'The Host header is not valid.')
  const start = isRelative ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  if (url.length - start > TARGET_LENGTH_MAX)
    return unreadable('UriTooLong', 'Path and query string together may have up to 8 KiB.')
  const mark = url.indexOf('?', start)
  return mark === -1
    ? { path: url.slice(start), query: '', fault: null }
    : { path: url.slice(start, mark), query: url.slice(mark + 1), fault: null }
}

function unreadable(code: 'InvalidHost' | 'UriTooLong', message: string): Target {
  return { path: '', query: '', fault: new ApiError(code, message) }
}

/** The path for the log: without the query string, which can hold people's data, and not longer than a line. */
export function pathOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const mark = url.indexOf('?', start)
  return url.slice(start, Math.min(mark === -1 ? url.length : mark, start + 200))
}
