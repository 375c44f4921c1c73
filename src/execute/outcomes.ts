// Meanings of the errors of PostgreSQL and its driver, and errors for clients by the outcome of a statement.
import postgres from 'postgres'
import { ApiError, errorOf } from '../errors.ts'

/**
 * Returns whether a batch certainly had no effect, and its statements may succeed one by one. False for reads that met a lock,
 * since they would only wait for the lock again.
 */
export function isUndone(error: unknown, isRead: boolean): boolean {
  if (!(error instanceof ApiError)) return error instanceof ConstraintViolation || error instanceof postgres.PostgresError
  if (error.code === 'OutcomeUnknown') return false
  const verdict = classify(error.cause)
  return verdict === 'rolledBack' || verdict === 'refused' || (verdict === 'locked' && !isRead)
}

/** Returns whether a statement that failed may have been done nevertheless. */
export function isUnknown(error: unknown, verdict: Verdict): boolean {
  return verdict === 'lost' || (verdict === 'fault' && !(error instanceof postgres.PostgresError))
}

/** Returns the error 503 of a statement that certainly had no effect. Default of `cause`: the statement missed its deadline. */
export function unavailable(cause?: unknown): ApiError {
  const message = 'The database does not answer at the moment; retry after the seconds in Retry-After.'
  return retryLater(message, cause ?? new Error('a query missed its deadline'))
}

/** Returns the error 503 of a request that had no effect. `seconds`: value of `Retry-After`. */
export function retryLater(message: string, cause?: unknown, seconds = 1): ApiError {
  return new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': String(seconds) }, cause })
}

/** Returns the error 503 of a write that waited too long for writes of the same rows, or of the same API key. */
export function busyWithWrites(cause?: unknown): ApiError {
  const message =
    'Other writes of these rows, or others of yours, are under way; nothing was written: retry after the seconds in Retry-After.'
  return retryLater(message, cause)
}

/**
 * Returns the error of a write that was sent, but not answered. `hasKey`: the write has an Idempotency-Key, so a retry is safe.
 * D44
 */
export function outcomeUnknown(cause: unknown, hasKey: boolean): ApiError {
  const remedy = hasKey
    ? 'Send it again with the same Idempotency-Key after the seconds in Retry-After.'
    : 'Read what is stored before you send it again, or send an Idempotency-Key with it.'
  const headers: Record<string, string> = hasKey ? { 'Retry-After': '1' } : {}
  return new ApiError('OutcomeUnknown', `The write may have been done, or not. ${remedy}`, { headers, cause })
}

/** State of a write that failed. */
interface FailedWrite {
  /** True if the write may have been done. */
  readonly isUnknown: boolean
  /** True if the write has an Idempotency-Key. */
  readonly hasKey: boolean
}

/**
 * Returns the client's error for a statement that failed. `write`: null for reads. `hasWritten`: true if the database has done
 * writes before. Then a database that takes no writes is a standby before its promotion, and the error is not ReadOnly. D51
 */
export function errorFor(error: unknown, verdict: Verdict, write: FailedWrite | null, hasWritten: boolean): Error {
  if (write && !write.isUnknown && !hasWritten && (error as { code?: unknown }).code === READ_ONLY) {
    const message = 'The database of this server takes no writes; nothing was written. Send writes to the server of the primary.'
    return new ApiError('ReadOnly', message, { headers: { Allow: 'GET, HEAD, OPTIONS' }, cause: error })
  }
  if (verdict === 'constraint') return new ConstraintViolation(error as postgres.PostgresError)
  if (verdict === 'fault' && !(error instanceof ApiError)) return errorOf(error)
  const cause = error instanceof ApiError ? error.cause : error
  if (write?.isUnknown) return outcomeUnknown(cause, write.hasKey)
  if (write && verdict === 'locked') return busyWithWrites(error)
  return error instanceof ApiError ? error : unavailable(error)
}

/** Error of a write that a constraint of the table refused. Nothing was written. */
export class ConstraintViolation extends Error {
  readonly constraint: string
  readonly isForeignKey: boolean

  constructor(error: postgres.PostgresError) {
    super(`constraint ${error.constraint_name}`, { cause: error })
    this.constraint = error.constraint_name ?? ''
    this.isForeignKey = error.code === '23503' || error.code === '23001'
  }
}

/**
 * Meaning of a driver's error for the failed statement.
 * - `notSent`: PostgreSQL never got the statement.
 * - `noConnection`: PostgreSQL never got the statement, since it has no connection left for this program.
 * - `rolledBack`: PostgreSQL undid the statement.
 * - `lost`: the outcome is unknown.
 * - `refused`: PostgreSQL cannot serve the statement at the moment.
 * - `locked`: another transaction holds a lock that the statement needs.
 * - `constraint`: a constraint of the table refused the statement.
 * - `fault`: this program is wrong.
 */
export type Verdict = 'notSent' | 'noConnection' | 'rolledBack' | 'lost' | 'refused' | 'locked' | 'constraint' | 'fault'

/** SQLSTATE of a read-only database: a standby that is not promoted yet, or one that an operator has made read-only. */
const READ_ONLY = '25006'

const BY_CODE: Record<string, Verdict> = {
  ECONNREFUSED: 'notSent',
  ENOTFOUND: 'notSent',
  CONNECT_TIMEOUT: 'notSent',
  EMFILE: 'notSent', // no file descriptor is left for a connection
  ENFILE: 'notSent',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ETIMEDOUT: 'lost',
  CONNECTION_CLOSED: 'lost',
  CONNECTION_ENDED: 'lost',
  CONNECTION_DESTROYED: 'lost',
  '40001': 'rolledBack', // serialization failure
  '40P01': 'rolledBack', // deadlock
  '53300': 'noConnection', // too many connections in all, to the database, or of the role; occurs when a connection is opened
  '55P03': 'locked', // lock timeout
  '57P01': 'lost', // shutdown; may concern the previous connection, so the outcome is unknown
  '57P02': 'lost',
  '57P03': 'notSent', // still starting
  [READ_ONLY]: 'refused',
  '3D000': 'refused', // no such database
  '42501': 'refused', // the role lacks the right, or PostgreSQL lacks the right to one of its files
  '42809': 'refused', // PostgreSQL found a folder in place of one of its files
}

/** SQLSTATE classes in which all codes have the same meaning. PostgreSQL documentation, appendix A. */
const BY_CLASS: Record<string, Verdict> = {
  '08': 'lost', // connection
  '23': 'constraint',
  '28': 'refused', // authorization
  '53': 'refused', // disk full, out of memory
  '55': 'refused', // no connections accepted, lock not available, object in use
  '57': 'refused', // operator intervention
  '58': 'refused', // i/o
  XX: 'refused', // corrupted data, or an error inside PostgreSQL; a wrong statement has another code
}

/** Codes of faults that an operator has to mend. Waiting would only hide them. */
const NEEDS_OPERATOR = /^(28...|3D000|42...|57014|55P03)$/
/** Codes of errors about a TLS certificate, or about the server's SCRAM signature: the server may not be the intended one. */
const UNTRUSTED = /CERT|SIGNATURE|^ERR_TLS/
/** Verdicts which say that the database cannot be used at the moment. */
const AWAY: readonly Verdict[] = ['notSent', 'noConnection', 'lost', 'refused']

/** Returns whether the error, or its cause, says that the database is unreachable or cannot serve yet: a retry may succeed. */
export function isAway(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  if (code === undefined) return cause !== undefined && isAway(cause)
  return AWAY.includes(classify(error)) && !NEEDS_OPERATOR.test(String(code)) && !UNTRUSTED.test(String(code))
}

/** Returns the meaning of an error of the driver. */
export function classify(error: unknown): Verdict {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (typeof code !== 'string') return 'fault'
  if (UNTRUSTED.test(code)) return 'refused'
  // A system call failed with a code that `BY_CODE` does not have, such as EHOSTUNREACH.
  const otherwise = syscall === undefined ? 'fault' : 'lost'
  return BY_CODE[code] ?? BY_CLASS[code.length === 5 ? code.slice(0, 2) : ''] ?? otherwise
}
