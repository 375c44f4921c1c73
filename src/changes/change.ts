import type { Row } from '../model/sql.ts'

/** One row that was written: null where it was not there before, or is not any more. */
export interface Change {
  /** The number of the transaction that wrote it, counted from the cluster's beginning (xid8). */
  readonly transaction: number
  readonly before: Row | null
  readonly after: Row | null
  /** It was written from outside this machine: no flag said so before, so an answer may show it before it is published. */
  readonly isForeign?: true
}

/** Rows of the table have changed, and it is not known which. */
export const RESET = null

/**
 * What the change log has of a change. A row that was there before and after has the indexes and values of its columns that
 * differ. The transaction is negative where more rows of it follow. A last 1 says that the change is foreign. A table by
 * itself is a reset of it. No table, and a transaction: what it has changed beside the rows that its statement returned is
 * published; with a last 1, the rows before are all that it has changed.
 */
export type LogRecord =
  | [table: string]
  | FollowedRecord
  | [table: string, epoch: number, transaction: number, ...Images]
export type FollowedRecord = [table: typeof FOLLOWED, epoch: number, transaction: number, isWhole?: 1]
/** In the place of a table. */
export const FOLLOWED = ''
type Images = [before: Row | null, differences: Differences | null, after?: Row | null, isForeign?: 1]
type Differences = (number | string | null)[]

export function recordOf(table: string, epoch: number, change: Change, isLast: boolean): LogRecord {
  const { before, after } = change
  const transaction = isLast ? change.transaction : -change.transaction
  if (change.isForeign) {
    const changed = before !== null && after !== null ? differences(before, after) : null
    return [table, epoch, transaction, before, changed, changed === null ? after : null, 1]
  }
  if (before === null || after === null) return [table, epoch, transaction, before, null, after]
  return [table, epoch, transaction, before, differences(before, after)]
}

export function isFollowed(record: LogRecord): record is FollowedRecord {
  return record[0] === FOLLOWED
}

/** The change that a record of `epoch` holds; a reset where the record is of another. */
export function changeOf(
  [, ofEpoch, ...rest]: Exclude<LogRecord, FollowedRecord>,
  epoch: number,
): Change | typeof RESET {
  if (ofEpoch !== epoch) return RESET
  const [signed = 0, before = null, changed = null, after = null, isForeign] = rest
  const transaction = Math.abs(signed)
  const now = before === null || changed === null ? after : changedBy(before, changed)
  return isForeign ? { transaction, before, after: now, isForeign: true } : { transaction, before, after: now }
}

function changedBy(before: Row, changed: Differences): Row {
  const row = [...before]
  for (let index = 0; index < changed.length; index += 2)
    row[changed[index] as number] = changed[index + 1] as string | null
  return row
}

function differences(before: Row, after: Row): Differences {
  const found: Differences = []
  for (let column = 0; column < after.length; column++)
    if (after[column] !== before[column]) found.push(column, after[column] as string | null)
  return found
}
