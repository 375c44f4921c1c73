// Errors for clients, by the outcome of a statement.
import postgres from 'postgres'
import { ApiError } from '../errors.ts'
import type { Execution } from './execution.ts'
import { ConstraintViolation, classify, isReadOnly, type Verdict } from './sqlstate.ts'

/** Returns whether a statement certainly did nothing, and its parts may do better. */
export function isUndone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof ConstraintViolation || error instanceof postgres.PostgresError
  if (error.code === 'OutcomeUnknown') return false
  const verdict = classify(error.cause)
  return verdict === 'rolledBack' || verdict === 'refused' || verdict === 'locked'
}

/** Returns whether a statement that was sent may have been done all the same. */
export function isUnknown(error: unknown, verdict: Verdict): boolean {
  return verdict === 'lost' || (verdict === 'fault' && !(error instanceof postgres.PostgresError))
}

/** It was not sent in time. */
export function missedDeadline(cause?: unknown): ApiError {
  return unavailable(cause ?? new Error('a query missed its deadline'))
}

/** The error 503 for a statement that was certainly not carried out. */
export function unavailable(cause: unknown): ApiError {
  return retryLater('The database does not answer at the moment; retry after the seconds in Retry-After.', cause)
}

/** Nothing was done; after `seconds` a retry may do. */
export function retryLater(message: string, cause?: unknown, seconds = 1): ApiError {
  return new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': String(seconds) }, cause })
}

/** Writes of the same rows, or of the same key, have left it no time. */
export function busyWithWrites(cause?: unknown): ApiError {
  const message =
    'Other writes of these rows, or of this key, are under way; nothing was written: retry after the seconds in Retry-After.'
  return retryLater(message, cause)
}

function readOnly(cause: unknown): ApiError {
  const message = 'The database of this server takes no writes; nothing was written. Send writes to the server of the primary.'
  return new ApiError('ReadOnly', message, { headers: { Allow: 'GET, HEAD, OPTIONS' }, cause })
}

/** A write was sent, and its answer is not there. `hasKey`: it does nothing the second time, so that a retry is safe. D44 */
export function outcomeUnknown(cause: unknown, hasKey: boolean): ApiError {
  const remedy = hasKey
    ? 'Send it again with the same Idempotency-Key after the seconds in Retry-After.'
    : 'Read what is stored before you send it again, or send an Idempotency-Key with it.'
  const headers: Record<string, string> = hasKey ? { 'Retry-After': '1' } : {}
  return new ApiError('OutcomeUnknown', `The write may have been done, or not. ${remedy}`, { headers, cause })
}

/** `hasWritten`: the database has taken writes before, so one that takes none now is a standby before its promotion. D51 */
export function errorFor(error: unknown, verdict: Verdict, { sending, statement }: Execution, hasWritten: boolean): Error {
  if (sending && !hasWritten && isReadOnly(error)) return readOnly(error)
  if (verdict === 'constraint') return new ConstraintViolation(error as postgres.PostgresError)
  if (verdict === 'fault' && !(error instanceof ApiError)) return error as Error
  const cause = error instanceof ApiError ? error.cause : error
  if (sending?.isUnknown) return outcomeUnknown(cause, Boolean(statement.once))
  if (sending && verdict === 'locked') return busyWithWrites(error)
  return error instanceof ApiError ? error : unavailable(error)
}
