// Errors as responses: status and JSON body of an ApiError. No other file maps error codes to statuses.
import { type ApiError, errorTable } from '../errors.ts'
import { respondJson, type TextReply } from './reply.ts'

/** Writes the error body. Spec 7. `base`: the server's address, under which the reference is a page. */
export function respondError(error: ApiError, base: string): TextReply {
  const details = error.details?.map(({ code, target, message }) => ({ Code: code, Target: target, Message: message })) ?? null
  const body = {
    Error: {
      Code: error.code,
      Reference: `${base}/errors/${error.code}`,
      Target: error.target,
      Message: error.message,
      Details: details,
    },
  }
  return respondJson(errorTable[error.code].status, JSON.stringify(body), error.headers)
}
