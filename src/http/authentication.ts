// Authentication: reads, checks and charges the API key of a request, and makes the errors for a request that is refused.
import type { Admission } from '../admit/admission.ts'
import { canonicalAuthorization } from '../admit/apiKey.ts'
import type { RateLimitStatus } from '../admit/limiter.ts'
import { ApiError } from '../errors.ts'
import { retryLater } from '../execute/outcomes.ts'
import type { Principal } from '../model/principal.ts'
import type { KeysInUse } from '../operations/resourceRequest.ts'
import { bearerOf } from './elysia.ts'
import type { Endpoint } from './router.ts'

/** Reads the key of `Authorization: ApiKey <key>`; undefined if the header is missing or not well formed. Spec 5, rule 1 */
export function bearerTextOf({ headers }: Request): string | undefined {
  const header = headers.get('authorization')
  if (header === null) return undefined
  const authorization = canonicalAuthorization(header)
  return authorization === null ? undefined : bearerOf(authorization)
}

/** Matches the header of a request that means to send a key, well formed or not. */
const MEANS_KEY = /^\s*ApiKey\b/i

/** Returns whether a request to this endpoint is answered without a valid key. `hasKey`: its key is known already. */
export function needsNoKey(endpoint: Endpoint | undefined, { headers }: Request, hasKey = false): boolean {
  if (!endpoint?.isOpen) return false
  return !endpoint.checksKey || !(hasKey || MEANS_KEY.test(headers.get('authorization') ?? ''))
}

/** Authentication schemes that people try by mistake. */
const OTHER_SCHEMES = ['Bearer', 'Basic', 'Token', 'Key', 'Api-Key', 'Digest']
/** Headers in which people send keys by mistake. */
const OTHER_HEADERS = ['X-API-Key', 'Api-Key']

/** Returns what is wrong with the form of the header, such as ` The scheme is ApiKey, not Bearer.`; '' if nothing is. D33 */
function hintForKey({ headers }: Request): string {
  const header = headers.get('authorization')
  if (header === null || header === '') {
    const name = OTHER_HEADERS.find((other) => headers.has(other))
    return name === undefined ? '' : ` A key in the header ${name} is not read.`
  }
  const [first = '', ...rest] = header.split(' ')
  if (/^ApiKey$/i.test(first)) return ''
  const scheme = OTHER_SCHEMES.find((other) => other.toLowerCase() === first.toLowerCase())
  if (scheme !== undefined) return ` The scheme is ApiKey, not ${scheme}.`
  return rest.length === 0 ? ' ApiKey and a space stand in front of the key.' : ''
}

/** 429: the message names the limit, `RetryAfter` the seconds. `Retry-After` is the standard's spelling. Spec 7, rule 1 */
export function rateLimitExceeded({ rule, retryAfterSeconds }: RateLimitStatus): ApiError {
  const seconds = String(retryAfterSeconds)
  const message = `The limit of ${rule.limit} per ${rule.period} is reached; retry after ${seconds} s.`
  return new ApiError('RateLimitExceeded', message, { headers: { RetryAfter: seconds, 'Retry-After': seconds } })
}

/** 503, until the database has been reached for the first time. */
export function databaseIsAway(): ApiError {
  return retryLater('The database is not there yet; retry after the seconds in Retry-After.')
}

/** 401, for a request without a valid key. */
export function unauthorized(request: Request): ApiError {
  const message = `The request needs a valid key in the header Authorization: ApiKey <key>.${hintForKey(request)}`
  return new ApiError('Unauthorized', message, { headers: { 'WWW-Authenticate': 'ApiKey' } })
}

/** 503, while the database cannot say whether the key is still valid. */
export function unconfirmed(): ApiError {
  return retryLater('The key cannot be checked at the moment; retry after the seconds in Retry-After.')
}

/** Checks the keys of streams again while they run, and charges requests that count as several. */
export function keyChecks(admission: Admission): KeysInUse {
  const confirm = async (request: Request): Promise<Principal> => {
    const { principal, isConfirmed } = await admission.confirm(bearerTextOf(request))
    if (!isConfirmed) throw unconfirmed()
    if (principal === null) throw unauthorized(request)
    return principal
  }
  return {
    rightsOf: async (request) => (await confirm(request)).rightsNow(),
    async charge(request) {
      const principal = await confirm(request)
      const rateLimit = await admission.charge(principal, '')
      if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
      return principal.rightsNow()
    },
    // D59: a body of many rows counts as several requests.
    async chargeMore(charged, count) {
      const { principal } = charged
      if (principal === null) return
      const limiter = admission.limiters.of(principal)
      const { limit, period } = limiter.smallestRule
      if (count + 1 > limit) {
        const message = `The body counts as ${count + 1} requests, and the key may send ${limit} per ${period}: send fewer rows, up to 100 or 200 KiB for each request.`
        throw new ApiError('InvalidRows', message, { target: 'Body' })
      }
      const rateLimit = await limiter.chargeMore(principal.client, count)
      charged.rateLimit = rateLimit
      if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
    },
  }
}
