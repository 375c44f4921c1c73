import type { Admission, PeerAddresses } from '../admit/admission.ts'
import type { Key } from '../admit/keyring.ts'
import { bearerTextOf } from './bearer.ts'
import { rateLimitExceeded, requireRight, unauthorized, unconfirmed } from './refusals.ts'

/** The key of a request that goes on, as it is now; charges nothing. @throws ApiError where it is not valid any more */
export async function confirmKey(admission: Admission, request: Request): Promise<Key> {
  const { key, isConfirmed } = await admission.confirm(bearerTextOf(request))
  if (!isConfirmed) throw unconfirmed()
  if (key === null) throw unauthorized(request)
  return key
}

/** The same, and charges it. @throws ApiError */
export async function chargeKey(admission: Admission, request: Request, server: PeerAddresses | null): Promise<Key> {
  const key = await confirmKey(admission, request)
  const rateLimit = await admission.charge(key, request, server)
  if (!rateLimit.admitted) throw rateLimitExceeded(rateLimit)
  return key
}

/** Looks at the key of a request that goes on once more, at its right to read the entity, and charges it. @throws ApiError */
export async function readmit(
  admission: Admission,
  request: Request,
  server: PeerAddresses | null,
  plural: string,
): Promise<void> {
  requireRight(await chargeKey(admission, request, server), plural, 'GET')
}
