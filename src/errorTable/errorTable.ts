import { badRequests } from './badRequests.ts'
import { refusals } from './refusals.ts'
import { serverErrors } from './serverErrors.ts'

/** Every error that a client can get, by its code, in the order of statuses. Spec 7. */
export const errorTable = { ...badRequests, ...refusals, ...serverErrors } as const
