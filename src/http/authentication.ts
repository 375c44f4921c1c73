// Authentication: reads, checks and charges the API key or token of a request, and makes the errors of refused requests.
import type { Admission, Credential } from '../admit/admission.ts'
import { canonicalAuthorization } from '../admit/apiKey.ts'
import type { RateLimitStatus } from '../admit/limiter.ts'
import { ApiError } from '../errors.ts'
import { retryLater } from '../execute/outcomes.ts'
import type { Principal } from '../model/principal.ts'
import type { KeysInUse } from '../operations/resourceRequest.ts'
import { bearerOf } from './elysia.ts'
import type { Endpoint } from './router.ts'

/** Matches `Bearer`, in upper or lower case, spaces, and a token. RFC 6750, 2.1 */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i

/**
 * Reads the key of `Authorization: ApiKey <key>`, or the token of `Bearer <token>` if the server takes tokens; undefined if the
 * header is missing or not well formed. Spec 5, rule 1; D97
 */
export function credentialOf({ headers }: Request, takesTokens: boolean): Credential | undefined {
  const header = headers.get('authorization')
  if (header === null) return undefined
  const authorization = canonicalAuthorization(header)
  const key = authorization === null ? undefined : bearerOf(authorization)
  if (key !== undefined) return { kind: 'key', text: key }
  const token = takesTokens ? BEARER.exec(header)?.[1] : undefined
  return token === undefined ? undefined : { kind: 'token', text: token }
}

/** Matches the header of a client that tries to send a key, even if the header is not well formed. */
const MEANS_KEY = /^\s*ApiKey\b/i
/** Matches the header of a client that tries to send a token, even if the header is not well formed. */
const MEANS_TOKEN = /^\s*Bearer\b/i

/**
 * Returns whether a request to this endpoint is answered without a valid key. `isKnown`: true if the key or person of the request
 * is already known.
 */
export function needsNoKey(
  endpoint: Endpoint | undefined,
  { headers }: Request,
  { takesTokens }: Admission,
  isKnown = false,
): boolean {
  if (!endpoint?.isOpen) return false
  if (!endpoint.checksKey) return true
  const header = headers.get('authorization') ?? ''
  return !(isKnown || MEANS_KEY.test(header) || (takesTokens && MEANS_TOKEN.test(header)))
}

/** Authentication schemes that people try by mistake. */
const OTHER_SCHEMES = ['Bearer', 'Basic', 'Token', 'Key', 'Api-Key', 'Digest']
/** Headers in which people send keys by mistake. */
const OTHER_HEADERS = ['X-API-Key', 'Api-Key']
/** Matches a JWT, which people send by mistake with the scheme ApiKey. */
const TOKEN_AS_KEY = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Returns a hint about a wrong `Authorization` header, such as ` The scheme is ApiKey, not Bearer.`; '' if nothing can be hinted.
 * D33, D97
 */
function hintForKey({ headers }: Request, takesTokens: boolean): string {
  const header = headers.get('authorization')
  if (header === null || header === '') {
    const name = OTHER_HEADERS.find((other) => headers.has(other))
    return name === undefined ? '' : ` A key in the header ${name} is not read.`
  }
  const [first = '', ...rest] = header.split(' ')
  if (/^ApiKey$/i.test(first)) {
    const isToken = takesTokens && TOKEN_AS_KEY.test(rest.join(' ').trim())
    return isToken ? ' The scheme of a token is Bearer, not ApiKey.' : ''
  }
  if (takesTokens && /^Bearer$/i.test(first)) return ' Bearer, a space and one token make the header.'
  const scheme = OTHER_SCHEMES.find((other) => other.toLowerCase() === first.toLowerCase())
  if (scheme !== undefined) return ` The scheme is ApiKey${takesTokens ? ' or Bearer' : ''}, not ${scheme}.`
  return rest.length === 0 ? ' ApiKey and a space stand in front of the key.' : ''
}

/**
 * Returns the error 429. Its message names the limit, and its headers have the seconds until a retry: `RetryAfter` is the name in
 * the spec, and `Retry-After` is the standard's. Spec 7, rule 1
 */
export function rateLimitExceeded({ rule, retryAfterSeconds }: RateLimitStatus): ApiError {
  const seconds = String(retryAfterSeconds)
  const message = `The limit of ${rule.limit} per ${rule.period} is reached; retry after ${seconds} s.`
  return new ApiError('RateLimitExceeded', message, { headers: { RetryAfter: seconds, 'Retry-After': seconds } })
}

/** Returns the error 503, which requests get until the database has been reached for the first time. */
export function databaseIsAway(): ApiError {
  return retryLater('The database is not there yet; retry after the seconds in Retry-After.')
}

/**
 * Returns the error 401 of a request without a valid key or token. `refusal`: what is wrong with its token; null if it has no
 * token.
 */
export function unauthorized(request: Request, { takesTokens }: Admission, refusal: string | null): ApiError {
  const hint = refusal === null ? hintForKey(request, takesTokens) : ` ${refusal}`
  const schemes = takesTokens ? 'ApiKey, Bearer' : 'ApiKey'
  // RFC 6750, 3.1: a request without a token gets no error code.
  const scheme = refusal === null ? schemes : `${schemes} error="invalid_token"`
  const either = takesTokens ? ', or a valid token in Authorization: Bearer <token>' : ''
  const message = `The request needs a valid key in the header Authorization: ApiKey <key>${either}.${hint}`
  return new ApiError('Unauthorized', message, { headers: { 'WWW-Authenticate': scheme } })
}

/**
 * Returns the error 503 of a request whose key the database cannot confirm, or whose token cannot be verified because the
 * issuer's keys cannot be read.
 */
export function unconfirmed(refusal: string | null): ApiError {
  const message = refusal ?? 'The key cannot be checked at the moment; retry after the seconds in Retry-After.'
  return retryLater(message)
}

/**
 * Returns functions that check the key of a stream again while the stream runs, and that charge requests which count as several.
 */
export function keyChecks(admission: Admission): KeysInUse {
  const confirm = async (request: Request): Promise<Principal> => {
    const { principal, isConfirmed, refusal } = await admission.confirm(credentialOf(request, admission.takesTokens))
    if (!isConfirmed) throw unconfirmed(refusal)
    if (principal === null) throw unauthorized(request, admission, refusal)
    return principal
  }
  return {
    async rightsOf(request) {
      const principal = await confirm(request)
      const { rights } = await principal.rightsNow()
      return rights
    },
    async charge(request) {
      const principal = await confirm(request)
      const rateLimit = await admission.charge(principal, '')
      if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
      const { rights } = await principal.rightsNow()
      return rights
    },
    // D59: a body of many rows counts as several requests.
    async chargeMore(charged, count, neverAllowed = bodyNeverAllowed.bind(null, count)) {
      const { principal } = charged
      if (principal === null) return
      const limiter = admission.limiters.of(principal)
      const { limit, period } = limiter.smallestRule
      if (count + 1 > limit) throw neverAllowed(limit, period)
      const rateLimit = await limiter.chargeMore(principal.client, count)
      charged.rateLimit = rateLimit
      if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
    },
  }
}

/** Returns the error of a body that counts as `more` + 1 requests, which is more than the limits ever allow. */
function bodyNeverAllowed(more: number, limit: number, period: string): ApiError {
  const message = `The body counts as ${more + 1} requests, and you may send ${limit} per ${period}: send fewer rows, up to 100 or 200 KiB for each request.`
  return new ApiError('InvalidRows', message, { target: 'Body' })
}
