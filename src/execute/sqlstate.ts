// Meanings of the errors of PostgreSQL and its driver.
import type postgres from 'postgres'

/** A write that the table's constraints refused; nothing was written. */
export class ConstraintViolation extends Error {
  readonly constraint: string
  readonly kind: 'check' | 'foreignKey' | 'other'

  constructor(error: postgres.PostgresError) {
    super(`constraint ${error.constraint_name}`, { cause: error })
    this.constraint = error.constraint_name ?? ''
    this.kind = KINDS[error.code] ?? 'other'
  }
}

const KINDS: Record<string, 'check' | 'foreignKey'> = { '23514': 'check', '23503': 'foreignKey', '23001': 'foreignKey' }

/**
 * Meaning of a driver's error for the statement: it never left (`notSent`), nor did it because PostgreSQL has no connection
 * left (`crowded`), it was undone (`rolledBack`), its outcome is unknown (`lost`), PostgreSQL cannot serve now (`refused`),
 * another transaction holds a lock (`locked`), a constraint refused it (`constraint`), or this program is wrong (`fault`).
 */
export type Verdict = 'notSent' | 'crowded' | 'rolledBack' | 'lost' | 'refused' | 'locked' | 'constraint' | 'fault'

const BY_CODE: Record<string, Verdict> = {
  ECONNREFUSED: 'notSent',
  ENOTFOUND: 'notSent',
  CONNECT_TIMEOUT: 'notSent',
  EMFILE: 'notSent', // no descriptor for another connection
  ENFILE: 'notSent',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ETIMEDOUT: 'lost',
  CONNECTION_CLOSED: 'lost',
  CONNECTION_ENDED: 'lost',
  CONNECTION_DESTROYED: 'lost',
  '40001': 'rolledBack', // serialization failure
  '40P01': 'rolledBack', // deadlock
  '53300': 'crowded', // of PostgreSQL, of the database or of the role; comes when a connection is opened
  '55P03': 'locked', // lock timeout
  '57014': 'refused', // statement timeout
  '57P01': 'lost', // shutdown; can also be the previous connection's, so the outcome is unknown
  '57P02': 'lost',
  '57P03': 'notSent', // still starting
  '25006': 'refused', // read-only: a standby that is not promoted yet
  '3D000': 'refused', // no such database
  '42501': 'refused', // a role without the right, or PostgreSQL without that to a file of its own: the same code
  '42809': 'refused', // the same, where a folder stands in a file's place
}

/** Returns whether the database takes no writes: it is a standby, or an operator has made it so. */
export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '25006'
}

/** SQLSTATE classes, where the whole class means one thing. PostgreSQL documentation, appendix A. */
const BY_CLASS: Record<string, Verdict> = {
  '08': 'lost', // connection
  '23': 'constraint',
  '28': 'refused', // authorization
  '53': 'refused', // disk full, out of memory
  '55': 'refused', // no connections accepted, lock not available, in use
  '57': 'refused', // operator intervention
  '58': 'refused', // i/o
  XX: 'refused', // corrupted data, or an error inside PostgreSQL: of a statement of ours there is another code
}

/** Codes of `refused` that an operator has to mend, so that waiting would only hide them. */
const WRONG = /^(28...|3D000|42...|57014|55P03)$/
const AWAY: readonly Verdict[] = ['notSent', 'crowded', 'lost', 'refused']

/** Returns whether the error, or its cause, says that the database is unreachable or cannot serve yet, which mends itself. */
export function isAway(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  if (code === undefined) return cause !== undefined && isAway(cause)
  return code === 'DEADLINE_MISSED' || (AWAY.includes(classify(error)) && !WRONG.test(String(code)))
}

/** Returns whether the error, or its cause, says that the statement was ended, by its time or by a request. */
export function isCancelled(error: unknown): boolean {
  return hasCode(error, ['57014'])
}

/** Returns whether PostgreSQL ended the statement, since it took too long, or wrote more temporary files than it may. */
export function isTooCostly(error: unknown): boolean {
  return hasCode(error, ['57014', '53400'])
}

/** Returns whether the error, or its cause, has one of these codes. */
function hasCode(error: unknown, codes: readonly unknown[]): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return codes.includes(code) || (cause !== undefined && hasCode(cause, codes))
}

/** Returns the meaning of an error of the driver. */
export function classify(error: unknown): Verdict {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (typeof code !== 'string') return 'fault'
  // A system call that failed: a fault of the network without a line above.
  const otherwise = syscall === undefined ? 'fault' : 'lost'
  return BY_CODE[code] ?? BY_CLASS[code.length === 5 ? code.slice(0, 2) : ''] ?? otherwise
}
