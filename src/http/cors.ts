// CORS: headers by which browsers let web pages of other origins read responses, and the answer to preflights.
import { parseOrigins } from '../model/corsOrigins.ts'
import { type Reply, respondEmpty } from '../respond/reply.ts'

/**
 * Request headers that pages may send: headers that the server reads, headers that people send by mistake and that a 401
 * explains, and Cache-Control.
 */
const REQUEST_HEADERS =
  'Authorization, Content-Type, Content-Encoding, X-Request-Id, X-API-Key, API-Key, If-Match, If-None-Match, Cache-Control, Idempotency-Key, traceparent'
/** Response headers that a browser would otherwise hide from the page. Fetch standard, CORS-safelisted response-header name */
const EXPOSED =
  'Location, Link, ETag, Content-Disposition, Idempotency-Replayed, X-Total-Count, X-Changes-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, RetryAfter, Retry-After, X-Request-Id, Allow, WWW-Authenticate'
/** Time for which a browser may keep the answer to a preflight. Chromium keeps it for at most two hours, Firefox for a day. */
const PREFLIGHT_SECONDS = 86_400

/** Adds the headers by which a page at `origin` may read the response. `origin`: null if the request names no origin. */
export type AddCors = (headers: Record<string, string>, origin: string | null) => void

/**
 * Reads the setting CORS_ORIGINS. Returns null if the setting is empty: then responses have no CORS headers, and no page of
 * another origin may read them.
 */
export function createCors(corsOrigins: string | null): AddCors | null {
  if (corsOrigins === null) return null
  const origins = parseOrigins(corsOrigins)
  const isOpen = origins === '*'
  return (headers, origin) => {
    // `Vary` is sent for every origin, so that no cache gives a response without CORS headers to a page that may read it.
    if (!isOpen) headers.Vary = headers.Vary === undefined ? 'Origin' : `${headers.Vary}, Origin`
    const allowed = isOpen ? '*' : origin
    if (allowed === null || !(isOpen || origins.has(allowed))) return
    headers['Access-Control-Allow-Origin'] = allowed
    headers['Access-Control-Expose-Headers'] = EXPOSED
  }
}

/** Returns whether a request is a browser's preflight, which has no key. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
}

/**
 * Allows every request at any path: a page cannot see why a preflight is refused, but can read the error of the request itself.
 */
export function respondPreflight(): Reply {
  return respondEmpty({
    'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': REQUEST_HEADERS,
    'Access-Control-Max-Age': String(PREFLIGHT_SECONDS),
  })
}
