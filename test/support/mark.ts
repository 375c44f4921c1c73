/** What a write returns behind its columns, and says of each row in the database's log. */
export function markOf(row: '' | 't.'): string {
  const machine = "current_setting('roster.machine', true)"
  const mark = `pg_logical_emit_message(true, 'roster', ${machine} || ' ' || ${row}tableoid || ' ' || ${row}id)`
  const transaction = 'pg_current_xact_id()::text'
  return `case when coalesce(${machine}, '') = '' then ${transaction} when ${mark} is null then null else ${transaction} end`
}
