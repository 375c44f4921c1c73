import type { Admission } from '../admit/admission.ts'
import type { Key } from '../admit/keyring.ts'
import type { RateLimitStatus } from '../admit/limiter.ts'
import { ApiError } from '../errors.ts'
import { rateLimitExceeded } from './refusals.ts'

/** A request that was charged once. */
export interface Charged {
  readonly key: Key | null
  rateLimit: RateLimitStatus | null
}

/** Charges a request that is as much work as several more, `count` times together, which its answer says. D59 @throws ApiError */
export async function chargeMore(admission: Admission, exchange: Charged, count: number): Promise<void> {
  const { key } = exchange
  if (key === null) return
  const { limit, period } = admission.mostTogether(key)
  if (count >= limit) {
    const message = `The body counts as ${count + 1} requests, and the key may send ${limit} per ${period}: send fewer rows, up to 100 for each request.`
    throw new ApiError('InvalidRows', message, { target: 'Body' })
  }
  const rateLimit = await admission.chargeMore(key, count)
  exchange.rateLimit = rateLimit
  if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
}
