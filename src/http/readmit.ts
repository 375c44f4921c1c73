import type { Admission, PeerAddresses } from '../admit/admission.ts'
import { bearerTextOf } from './bearer.ts'
import { rateLimitExceeded, requireRight, unauthorized, unconfirmed } from './refusals.ts'

/** Looks at the key of a request that goes on once more, at its right to read the entity, and charges it. @throws ApiError */
export async function readmit(
  admission: Admission,
  request: Request,
  server: PeerAddresses | null,
  plural: string,
): Promise<void> {
  const text = bearerTextOf(request)
  let key = admission.keyOf(text)
  let isConfirmed = true
  const settled = admission.settle(text, key, request, server)
  if (settled !== null) ({ key, isConfirmed } = await settled)
  if (!isConfirmed) throw unconfirmed()
  if (key === null) throw unauthorized(request)
  requireRight(key, plural, 'GET')
  const rateLimit = await admission.charge(key, request, server)
  if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
}
