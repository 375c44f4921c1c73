// Deletes expired rows, in slices: stored answers, events of the change feed, and rows of `row_change`.
import { setTimeout } from 'node:timers/promises'
import { errorOf } from '../errors.ts'
import { openFirst } from '../execute/connect.ts'
import { isAway } from '../execute/outcomes.ts'

type Connection = Awaited<ReturnType<typeof openFirst>>
/** Deletes up to `rows` expired rows, and returns their number. */
type DeleteSlice = (sql: Connection, rows: number) => Promise<number>

/** Hours for which answers to writes with an Idempotency-Key are kept. D43 */
const KEPT_HOURS = 24
/**
 * `sliceRows`: maximum number of rows of a slice. One statement deletes a slice, and must not block other statements for long.
 * `slicePauseMs`: pause between slices. `idlePauseMs`: pause between checks for expired rows.
 */
const SLICES = { sliceRows: 1_000, slicePauseMs: 250, idlePauseMs: 60_000 }
/** Advisory lock of deletions; an arbitrary number that no other program is likely to use. */
const LOCK = '7067837113'

/** Deletes answers to writes with an Idempotency-Key after `KEPT_HOURS`. D43 */
export const oldAnswers: DeleteSlice = async (sql, rows) => {
  const deleted = await sql`
    delete from idempotency_key where id = any (array(
      select id from idempotency_key where created < now() - make_interval(hours => ${KEPT_HOURS})
      order by created limit ${rows} for update skip locked
    ))`
  return deleted.count
}

/**
 * Returns a function that deletes events older than `days`. Only one server deletes at a time. Stores the position of the last
 * deleted event, so that tokens before this position are refused. D58
 */
export function oldChanges(days: number): DeleteSlice {
  return async (sql, rows) => {
    const [found] = await sql<{ most: number }[]>`
      with recursive entity (name) as (
        (select entity from entity_change order by entity limit 1) union all
        select (select entity from entity_change where entity > name order by entity limit 1) from entity where name is not null
      ),
      old as materialized (
        select event.* from entity cross join lateral (
          select entity, position, number, at from entity_change where entity = name order by position, number limit ${rows}
        ) as event
        where at < now() - make_interval(days => ${days}) and (select pg_try_advisory_xact_lock(${LOCK}::bigint))
      ),
      deleted as (
        delete from entity_change as event using old
        where (event.entity, event.position, event.number) = (old.entity, old.position, old.number)
        returning event.entity, event.position, event.number
      ),
      marked as (
        update change_feed set deleted_position = last.position, deleted_number = last.number
        from (select position, number from deleted order by position desc, number desc limit 1) as last
        where (last.position, last.number) > (deleted_position, deleted_number)
      )
      select coalesce(max(slice), 0)::int as most from (select count(*) as slice from deleted group by entity) as slices`
    return found?.most ?? 0
  }
}

/** Maximum time to load a table or to refresh its copy, in ms. Rows of `row_change` are needed for at least this long. */
const ROW_CHANGES_MS = 330_000
/** Number of rows of `row_change` that count as one row of a slice, because they are short. */
const ROW_CHANGES_PER_ROW = 20

/**
 * Returns a function that deletes rows of `row_change` that were committed at least `keptMs` ago. The newest row for each table
 * stays. If it were deleted, too, a search for the newest row would scan the index entries of all deleted rows, as long as an old
 * snapshot is held.
 */
export function oldRowChanges(keptMs = ROW_CHANGES_MS): DeleteSlice {
  // The first check deletes nothing, because no transaction is older than transaction 0.
  let earlier = { oldest: '0', ms: Number.NEGATIVE_INFINITY }
  return async (sql, rows) => {
    const nowMs = performance.now()
    const isOld = nowMs - earlier.ms >= keptMs
    const before = isOld ? earlier.oldest : '0'
    const [found] = await sql<{ deleted: number; oldest: string }[]>`
      with recursive known (relation) as (
        (select relation from row_change order by relation limit 1) union all
        select (select relation from row_change where relation > known.relation order by relation limit 1)
        from known where relation is not null
      ),
      newest as materialized (
        select relation, (select transaction from row_change where relation = known.relation order by transaction desc limit 1) as last
        from known
      ),
      deleted as (
        delete from row_change where ctid = any (array(
          select change.ctid from row_change as change join newest using (relation)
          where transaction < ${before}::xid8 and transaction < last limit ${ROW_CHANGES_PER_ROW * rows}
        )) returning 1
      ),
      marked as (
        update row_change_run set kept_from = greatest(kept_from, ${before}::xid8) where exists (select from deleted)
      )
      select (select count(*) from deleted)::int as deleted, pg_snapshot_xmin(pg_current_snapshot())::text as oldest`
    const { deleted = 0, oldest = '0' } = found ?? {}
    if (deleted === ROW_CHANGES_PER_ROW * rows) return rows
    if (isOld) earlier = { oldest, ms: nowMs }
    return 0
  }
}

/**
 * Starts to delete expired rows in slices. Returns a function that stops the deletion. If deleting one kind of row fails several
 * times in a row, `onFault` gets only the first error.
 */
export function deleteOldRows(
  url: string,
  kinds: readonly DeleteSlice[],
  onFault: (reason: string) => void,
  options = SLICES,
): () => Promise<void> {
  const connection = { application_name: 'roster', statement_timeout: 3_000 }
  let sql: Connection | null = null
  const failing = new Set<DeleteSlice>()
  const stopping = new AbortController()
  const { signal } = stopping
  async function deleteBy(kind: DeleteSlice): Promise<number> {
    if (signal.aborted) return 0
    try {
      // The connection closes when it is idle, so that a server does not hold it all the time.
      sql ??= await openFirst(url, { idle_timeout: 1, connection })
      signal.throwIfAborted()
      const deleted = await kind(sql, options.sliceRows)
      failing.delete(kind)
      return deleted
    } catch (error) {
      await sql?.end({ timeout: 0 })
      sql = null
      if (signal.aborted || isAway(error) || failing.has(kind)) return 0
      failing.add(kind)
      onFault(errorOf(error).message)
      return 0
    }
  }
  async function run() {
    const { sliceRows, slicePauseMs, idlePauseMs } = options
    while (!signal.aborted) {
      let deletedMax = 0
      for (const kind of kinds) deletedMax = Math.max(deletedMax, await deleteBy(kind))
      await setTimeout(deletedMax === sliceRows ? slicePauseMs : idlePauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
  run()
  return async () => {
    stopping.abort()
    await sql?.end({ timeout: 0 })
  }
}
