import { type ApiError, errorTable } from '../errors.ts'
import { respondJson, type TextReply } from './reply.ts'

/** The error body. Spec 7. `base` is the server's address; the reference is a page that it serves. */
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
