import type { Key } from '../admit/keyring.ts'
import type { RateLimitStatus } from '../admit/limiter.ts'
import { ApiError } from '../errors.ts'
import { suggest } from '../model/nearest.ts'
import { allows } from '../model/rights.ts'
import { hintForKey } from './keyForm.ts'

/** Before anything is read, so that a key learns nothing of what it has no right to. @throws ApiError Forbidden */
export function requireRight({ rights }: Key, plural: string, method: string) {
  const action = method === 'GET' || method === 'HEAD' ? 'read' : 'write'
  if (!allows(rights, plural, action))
    throw new ApiError('Forbidden', `The key does not have the right ${plural}:${action}.`)
}

/** Spec 7, rule 1: the message names the limit, `RetryAfter` the seconds. `Retry-After` is the standard's spelling. */
export function rateLimitExceeded({ rule, retryAfterSeconds }: RateLimitStatus): ApiError {
  const seconds = String(retryAfterSeconds)
  const message = `The limit of ${rule.limit} per ${rule.period} is reached; retry after ${seconds} s.`
  return new ApiError('RateLimitExceeded', message, { headers: { RetryAfter: seconds, 'Retry-After': seconds } })
}

/** 503, until the database was reached for the first time. */
export function databaseIsAway(): ApiError {
  const message = 'The database is not there yet; retry after the seconds in Retry-After.'
  return new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
}

/** 401, for a request without a valid key; the message says where its form is not ours. */
export function unauthorized(request: Request): ApiError {
  const message = `The request needs a valid key in the header Authorization: ApiKey <key>.${hintForKey(request)}`
  return new ApiError('Unauthorized', message, { headers: { 'WWW-Authenticate': 'ApiKey' } })
}

/** 503, while it is not known whether the key is still valid. */
export function unconfirmed(): ApiError {
  const message = 'The key cannot be checked at the moment; retry after the seconds in Retry-After.'
  return new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
}

/** 404, with the first segment that is nearest to the path's. */
export function notFound(names: readonly string[], path: string): ApiError {
  const [first = ''] = path.slice(1).split('/')
  return new ApiError('NotFound', `There is nothing at this path.${suggest(first, names)}`)
}
