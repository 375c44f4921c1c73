import { type Sql, sql } from '../model/sql.ts'

const MACHINE = sql`current_setting('roster.machine', true)`
const XID = sql`pg_current_xact_id()::text`

/** Whether this machine publishes the row that a write leaves; and whether others may copy what has changed in it. */
export type Publishing = 'unpublished' | 'published' | 'renamed'

/**
 * What every write returns behind the columns of each row: its transaction, since who reads the row later must know whether it
 * saw this one. Over connections that name a machine it also says in the database's log, right behind the row's own record,
 * that this machine publishes the row by itself: `changes/slotFeed.ts` reads it there. `isRename`: others may copy what has
 * changed. `row`: what goes before the names of the row's columns.
 *
 * Where nothing is kept in memory, no one asks for more than the row's version, which is the transaction modulo 2^32; and no
 * function is called then, since databases that spread rows over servers call none in `returning`.
 */
export function written(row: Sql, publishing: Publishing): Sql {
  if (publishing === 'unpublished') return sql`${row}xmin::text`
  const what = publishing === 'renamed' ? sql` || ' renamed'` : sql``
  const mark = sql`pg_logical_emit_message(true, 'roster', ${MACHINE} || ' ' || ${row}tableoid || ' ' || ${row}id${what})`
  return sql`case when coalesce(${MACHINE}, '') = '' then ${XID} when ${mark} is null then null else ${XID} end`
}
