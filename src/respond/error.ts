// Errors as responses: status and JSON body of an ApiError. No other file maps error codes to statuses.
import { type ApiError, errorTable } from '../errors.ts'
import type { ErrorEntry } from '../errorTable/entry.ts'
import { respondJson, type TextReply } from './reply.ts'

/** Writes an error. `base`: the server's address, without a slash at the end. */
export function respondError({ code, target: Target, message: Message, details, headers }: ApiError, base: string): TextReply {
  const Details = details?.map(({ code, target, message }) => ({ Code: code, Target: target, Message: message })) ?? null
  const body = bodyOfError(code, { Target, Message, Details }, base)
  return respondJson(errorTable[code].status, JSON.stringify(body), headers)
}

/** The body of an error, also of an example. Its reference is a page. Spec 7 */
export function bodyOfError(code: string, answer: ErrorEntry['answer'], base: string) {
  return { Error: { Code: code, Reference: `${base}/errors/${code}`, ...answer } }
}
