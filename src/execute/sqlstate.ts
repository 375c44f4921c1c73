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
 * What an error of the driver means for the statement:
 * it never left (`notSent`), it was undone (`rolledBack`), nobody knows (`lost`), the server cannot serve now
 * (`refused`), a constraint said no (`constraint`), or we are wrong (`fault`).
 */
export type Verdict = 'notSent' | 'rolledBack' | 'lost' | 'refused' | 'constraint' | 'fault'

const BY_CODE: Record<string, Verdict> = {
  ECONNREFUSED: 'notSent',
  ENOTFOUND: 'notSent',
  CONNECT_TIMEOUT: 'notSent',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ETIMEDOUT: 'lost',
  CONNECTION_CLOSED: 'lost',
  CONNECTION_ENDED: 'lost',
  CONNECTION_DESTROYED: 'lost',
  '40001': 'rolledBack', // serialization failure
  '40P01': 'rolledBack', // deadlock
  '57014': 'refused', // statement timeout
  '57P01': 'lost', // shutdown; can also be the previous connection's, so what happened is not known
  '57P02': 'lost',
  '57P03': 'notSent', // still starting
  '25006': 'refused', // read-only: a standby that is not promoted yet
  '3D000': 'refused', // no such database
  '42501': 'refused', // a role without the right, or PostgreSQL without that to a file of its own: the same code
  '42809': 'refused', // the same, where a folder stands in a file's place
}

/** SQLSTATE classes, where the whole class means one thing. PostgreSQL documentation, appendix A. */
const BY_CLASS: Record<string, Verdict> = {
  '08': 'lost', // connection
  '23': 'constraint',
  '28': 'refused', // authorization
  '53': 'refused', // disk full, out of memory, too many connections
  '55': 'refused', // no connections accepted, lock not available, in use
  '57': 'refused', // operator intervention
  '58': 'refused', // i/o
  XX: 'refused', // corrupted data, or an error inside PostgreSQL: of a statement of ours there is another code
}

/** Of those that refuse: what an operator has to mend, so that waiting for it would only hide it. */
const WRONG = /^(28...|3D000|42...|57014|55P03)$/
const AWAY: readonly Verdict[] = ['notSent', 'lost', 'refused']

/** Whether the database is not there, or cannot serve yet, which mends itself; the error or what has caused it says so. */
export function isAway(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  if (code === undefined) return cause !== undefined && isAway(cause)
  return code === 'DEADLINE_MISSED' || (AWAY.includes(classify(error)) && !WRONG.test(String(code)))
}

export function classify(error: unknown): Verdict {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (typeof code !== 'string') return 'fault'
  // A system call that failed: some trouble of the network's that has no line above.
  const otherwise = syscall === undefined ? 'fault' : 'lost'
  return BY_CODE[code] ?? BY_CLASS[code.length === 5 ? code.slice(0, 2) : ''] ?? otherwise
}
