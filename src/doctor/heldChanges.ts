import type postgres from 'postgres'
import type { Entity } from '../model/entity.ts'
import { shown } from '../model/shown.ts'
import { advice, type Finding, ok } from './finding.ts'

/** For what is shorter than that no operator has to do anything. */
const HELD_SECONDS = 60

/** Whether lines of what has changed wait for a transaction that stays open, in whichever database of the cluster. D57 */
export async function examineHeldChanges(sql: postgres.Sql, entities: readonly Entity[]): Promise<Finding> {
  const check = 'changes'
  const tables = JSON.stringify(entities.map(({ table }) => table))
  const [held] = await sql<{ since: string; pid: number | null; gid: string | null; database: string | null }[]>`
    with oldest as materialized (select pg_snapshot_xmin(pg_current_snapshot()) as id),
      waiting as (
        select min(at) as since from entity_change
        where entity in (select json_array_elements_text(${tables}::text::json))
          and position >= (select id::text::bigint from oldest)
      )
    select to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since, activity.pid, prepared.gid,
      coalesce(activity.datname, prepared.database)::text as database
    from waiting cross join oldest
    left join pg_prepared_xacts as prepared on prepared.transaction = oldest.id::xid
    left join pg_locks as own on own.locktype = 'transactionid' and own.transactionid = oldest.id::xid
      and own.mode = 'ExclusiveLock' and own.granted
    left join pg_stat_activity as activity on activity.pid = own.pid
    where since < now() - make_interval(secs => ${HELD_SECONDS}::float8)`
  if (held === undefined) return ok(check, 'no transaction holds back what has changed')
  const { since, pid, gid, database } = held
  const text = `what has changed since ${since} is not shown, and posted, while`
  const place = `in database ${shown(database ?? '')} of the cluster`
  if (gid !== null)
    return advice(check, `${text} "${shown(gid)}" stays prepared ${place}: commit it, or roll it back, there`)
  if (pid === null) return advice(check, `${text} a transaction of the cluster is open: look again`)
  return advice(
    check,
    `${text} a transaction of process ${pid} is open ${place}: let it end, or select pg_terminate_backend(${pid})`,
  )
}
