import { type Sql, sql } from '../model/sql.ts'

const MACHINE = sql`current_setting('roster.machine', true)`
const XID = sql`pg_current_xact_id()::text`

/**
 * What every write returns behind the columns of each row: its transaction, since who reads the row later must know whether it
 * saw this one. Over connections that name a machine it also says in the database's log, right behind the row's own record,
 * that this machine publishes the row by itself: `changes/slotFeed.ts` reads it there. `isRename`: others may copy what has
 * changed. `row`: what goes before the names of the row's columns.
 */
export function written(row: Sql = sql``, isRename = false): Sql {
  const what = isRename ? sql` || ' renamed'` : sql``
  const mark = sql`pg_logical_emit_message(true, 'roster', ${MACHINE} || ' ' || ${row}tableoid || ' ' || ${row}id${what})`
  return sql`case when coalesce(${MACHINE}, '') = '' then ${XID} when ${mark} is null then null else ${XID} end`
}
