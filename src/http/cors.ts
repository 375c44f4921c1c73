// CORS: headers by which browsers let web pages of other origins read responses, and the answer to preflights.
import { parseOrigins } from '../model/corsOrigins.ts'
import { type Reply, respondEmpty } from '../respond/reply.ts'

/** Headers that browsers ask leave for: all that the server reads, those of the 401, and Cache-Control, which pages send. */
const REQUEST_HEADERS =
  'Authorization, Content-Type, Content-Encoding, X-Request-Id, X-API-Key, API-Key, If-Match, If-None-Match, Cache-Control, Idempotency-Key, traceparent'
/** All that the server writes and a browser would keep from the page. Fetch standard, CORS-safelisted response-header name */
const EXPOSED =
  'Location, Link, ETag, Content-Disposition, Idempotency-Replayed, X-Total-Count, X-Changes-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, RetryAfter, Retry-After, X-Request-Id, Allow, WWW-Authenticate'
/** Chromium keeps the answer to a preflight for two hours at most, Firefox for a day. */
const PREFLIGHT_SECONDS = 86_400

/** Adds the headers that the page at `origin` needs; null: the request names none. */
export type AddCors = (headers: Record<string, string>, origin: string | null) => void

/** Reads the setting CORS_ORIGINS; null: no page of another origin may read responses, and none has a header for it. */
export function createCors(corsOrigins: string | null): AddCors | null {
  if (corsOrigins === null) return null
  const origins = parseOrigins(corsOrigins)
  const isOpen = origins === '*'
  return (headers, origin) => {
    // Also where the origin is none of these, or missing: a cache must not give that answer to a page that may read it.
    if (!isOpen) headers.Vary = headers.Vary === undefined ? 'Origin' : `${headers.Vary}, Origin`
    const allowed = isOpen ? '*' : origin
    if (allowed === null || !(isOpen || origins.has(allowed))) return
    headers['Access-Control-Allow-Origin'] = allowed
    headers['Access-Control-Expose-Headers'] = EXPOSED
  }
}

/** Returns whether a request is a browser's preflight. It sends no key, and the page cannot see why it is refused. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
}

/** Allows any request, whatever is at its path: the page can read the answer that says what is wrong. `AddCors` adds the rest. */
export function respondPreflight(): Reply {
  return respondEmpty({
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': REQUEST_HEADERS,
    'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
  })
}
