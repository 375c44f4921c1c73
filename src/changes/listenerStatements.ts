import type { Row } from '../model/sql.ts'

/** Runs a statement over the listener's connection. */
export type Ask = (text: string, values?: readonly string[]) => Promise<Row[]>

/** What a listener's connection has, and says to the server's programs that look at it. */
export function listenerSettings(machine: string): Record<string, string | number> {
  return {
    application_name: 'roster listener',
    'roster.machine': machine,
    default_transaction_isolation: 'read committed',
    statement_timeout: 3_000,
    // PostgreSQL finds within half a minute, not within hours, that a machine has vanished.
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_keepalives_count: 3,
    tcp_user_timeout: 30_000,
  }
}

/** What the triggers of every table notify. */
export const listen = 'listen roster_change'

/** Replaces the row of an earlier connection. */
export const insertListener = `
insert into change_listener (machine, pid, backend_start)
select $1, pid, backend_start from pg_stat_activity where pid = pg_backend_pid()
on conflict on constraint change_listener_pk
do update set pid = excluded.pid, backend_start = excluded.backend_start`

export const selectListener = `
select from change_listener
where machine = $1 and pid = pg_backend_pid() and current_setting('roster.machine', true) = $1`

export const deleteListener = 'delete from change_listener where machine = $1 and pid = pg_backend_pid()'

/**
 * Named by pid and start: of a row that gets another connection meanwhile this is not true any more. What belongs to
 * another role shows no start, and counts as there.
 */
export const deleteGone = `
with gone as materialized (
  select machine, pid, backend_start from change_listener
  where not exists (
    select from pg_stat_activity as there
    where there.pid = change_listener.pid and coalesce(there.backend_start, change_listener.backend_start) = change_listener.backend_start
  )
)
delete from change_listener using gone
where (change_listener.machine, change_listener.pid, change_listener.backend_start) = (gone.machine, gone.pid, gone.backend_start)`

const HELD = `
from pg_locks where locktype = 'relation' and granted
  and mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  and database = (select oid from pg_database where datname = current_database())
  and relation in (select json_array_elements_text($1::text::json)::regclass)`

/** Transactions that have written to one of the tables, or may have. */
export const selectWriters = `select distinct virtualtransaction ${HELD}`

/** The earlier transactions that have not ended. One that is prepared has no process. */
export const selectWritersLeft = `
select ${HELD} and (pid is null or virtualtransaction = any (array(select json_array_elements_text($2::text::json))))
limit 1`

/** Ends connections by their names or what these begin with; gives those of the names that were still in use. */
export const endConnections = `
select asked.name, pg_terminate_backend(pid)
from json_array_elements_text($1::text::json) as asked (name)
join pg_stat_activity on application_name = asked.name or starts_with(application_name, asked.name || '/')`

/** Where the log ends on disk, in bytes from its beginning, and what a statement of now sees. */
export const selectLogEnd = `select (pg_current_wal_flush_lsn() - '0/0')::text, pg_current_snapshot()::text`

export const selectSnapshot = 'select pg_current_snapshot()::text'

/**
 * Makes the file of the table empty where it has no row, so that triggers need not look into it. A row that is not committed
 * yet holds a lock; where that or a missing right stands against it, writes go on looking.
 */
export const truncateListeners = `
do $$
  begin
    if pg_relation_size('change_listener') > 0 and not exists (select from change_listener) then
      perform set_config('lock_timeout', '50', true);
      lock table change_listener in access exclusive mode;
      if not exists (select from change_listener) then
        truncate change_listener;
      end if;
    end if;
  exception when lock_not_available or insufficient_privilege then
    null;
  end
$$`

/** Those of the names whose connections run something; behind a pooler, which gives connections to others too, none is ended. */
export const selectBusy = `
select distinct asked.name
from json_array_elements_text($1::text::json) as asked (name)
join pg_stat_activity on application_name = asked.name or starts_with(application_name, asked.name || '/')
where state is distinct from 'idle'`
