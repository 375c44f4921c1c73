// Errors as responses: status and JSON body of an ApiError. No other file maps error codes to statuses.
import { type ApiError, type ErrorCode, errorTable } from '../errors.ts'
import type { ErrorEntry } from '../errorTable/entry.ts'
import { respondJson, type TextReply } from './reply.ts'

/** Responds with an error. `base`: the server's address, without a slash at the end. */
export function respondError({ code, target: Target, message: Message, details, headers }: ApiError, base: string): TextReply {
  const Details = details?.map(({ code, target, message }) => ({ Code: code, Target: target, Message: message })) ?? null
  const body = bodyOfError(code, { Target, Message, Details }, base)
  return respondJson(errorTable[code].status, JSON.stringify(body), headers)
}

/**
 * Returns the body of an error, for responses and for the examples in the documentation. Its `Reference` is a link to the
 * error's page. Spec 7
 */
export function bodyOfError(code: ErrorCode, answer: ErrorEntry['answer'], base: string) {
  return { Error: { Code: code, Reference: `${base}/errors/${code}`, ...answer } }
}
