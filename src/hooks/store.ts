// Stored hooks: adds, removes, pauses, resumes and lists them for `roster hooks`.
import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import { commaList } from '../compile/batch.ts'
import { andShown, isAfter, OLDEST_RUNNING } from '../compile/changes.ts'
import { Refused } from '../errors.ts'
import { parametersOf } from '../execute/driver.ts'
import { KeyStore, secondsOf } from '../keys/store.ts'
import type { FeedPosition } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import { integer, join, type Statement, sql, toStatement, word } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { ACTIONS, wantsEvent } from './events.ts'
import { type Subscription, viewsOf } from './rights.ts'

/** A hook in a list; times in UTC, to the second. */
export interface ListedHook extends Subscription {
  readonly id: string
  readonly url: string
  readonly state: 'active' | 'failing' | 'paused' | 'parked'
  readonly since: string
  readonly reason: string | null
  readonly lastStatus: string | null
  readonly lastAttempt: string | null
  readonly nextAttempt: string | null
  /** Number of changes that are not delivered yet, at most `WAITING_MAX`; null if they could not be counted. */
  readonly waiting: number | null
}

interface NewHook {
  readonly url: string
  readonly secret: string
  readonly events: readonly string[]
  readonly rights?: string | null
}

/** Maximum number of hooks: each hook has requests in flight, and reads the feed from its own position. */
const HOOKS_MAX = 50
export const WAITING_MAX = 1_000

/** Changes hooks for an operator. Each change raises the version of the keys, by which servers notice the change. */
export class HookStore {
  private readonly keys: KeyStore

  constructor(
    private readonly sql: postgres.Sql,
    private readonly entities: readonly Entity[],
  ) {
    this.keys = new KeyStore(sql)
  }

  /** Adds a hook for all changes from now on. Returns its id. @throws Refused if there are too many hooks */
  add({ url, secret, events, rights = null }: NewHook): Promise<string> {
    return this.keys.transact(async (sql) => {
      const id = randomBytes(5).toString('hex')
      // Names of events have no character that must be escaped.
      const list = `{${events.map((event) => `"${event}"`).join()}}`
      const added = await sql`
        insert into hook (id, url, secret, rights, events, events_by_rights, run, position, number)
        select ${id}, ${url}, ${secret}, ${rights},
          case when ${rights}::text is null then ${list}::text[] else '{}' end,
          case when ${rights}::text is not null then ${list}::text[] end, run,
          pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0
        from change_feed where (select count(*) from hook) < ${HOOKS_MAX}`
      if (added.count === 0) throw new Refused(`there are ${HOOKS_MAX} hooks, the most that there may be: remove one`)
      return id
    })
  }

  /** @throws Refused if there is no hook with this id */
  remove(id: string): Promise<void> {
    return this.keys.transact((sql) => this.require(sql, id, sql`delete from hook where id = ${id}`))
  }

  pause(id: string): Promise<void> {
    return this.keys.transact((sql) => {
      const paused = sql`
        update hook set state = 'paused', since = case state when 'paused' then since else now() end, reason = null,
          revision = revision + 1
        where id = ${id}`
      return this.require(sql, id, paused)
    })
  }

  /**
   * Activates a hook; `isSkipping` skips the first waiting change. Returns true if changes were lost, because they are no longer
   * kept.
   */
  resume(id: string, isSkipping: boolean): Promise<boolean> {
    return this.keys.transact(async (sql) => {
      const resumed = sql`
        update hook set state = 'active', since = now(), reason = null, failing_since = null, attempts = 0,
          next_attempt = null, revision = revision + 1
        where id = ${id}`
      await this.require(sql, id, resumed)
      // Moves the hook to the oldest kept change if its position is before this change, belongs to a different feed, or is in the
      // future. After a restore of a backup, the position can be in the future.
      const moved = await sql`
        update hook set run = feed.run, position = deleted_position, number = deleted_number from change_feed as feed
        where id = ${id} and (hook.run <> feed.run or (position, number) < (deleted_position, deleted_number)
          or position > pg_snapshot_xmax(pg_current_snapshot())::text::bigint)`
      if (isSkipping) {
        const [hook] = await sql`
          select to_json(coalesce(events_by_rights, events)) as events, rights, position::text, number::text
          from hook where id = ${id}`
        const { events, rights, ...position } = hook as Subscription & FeedPosition
        const [first] = await this.positionsOfWaiting(sql, { events, rights }, position, 1)
        if (first) await sql`update hook set position = ${first.position}, number = ${first.number} where id = ${id}`
      }
      return moved.count > 0
    })
  }

  async list(): Promise<ListedHook[]> {
    const rows = await this.sql<(Omit<ListedHook, 'waiting'> & FeedPosition)[]>`
      select id, url, to_json(coalesce(events_by_rights, events)) as events, rights, position::text, number::text, reason,
        last_status as "lastStatus",
        case when state = 'active' and failing_since is not null then 'failing' else state end as state,
        ${secondsOf(this.sql, "case when state = 'active' then coalesce(failing_since, since) else since end")} as since,
        ${secondsOf(this.sql, 'last_attempt')} as "lastAttempt",
        ${secondsOf(this.sql, "case state when 'active' then next_attempt end")} as "nextAttempt"
      from hook order by hook.created, id`
    const listed: ListedHook[] = []
    for (const { position, number, ...hook } of rows) {
      const waiting = await this.positionsOfWaiting(this.sql, hook, { position, number }, WAITING_MAX).catch(() => null)
      listed.push({ ...hook, waiting: waiting?.length ?? null })
    }
    return listed
  }

  /**
   * Reads the positions of the first `max` changes that wait for a hook. @throws RightError if the hook's rights do not fit the
   * entities
   */
  private async positionsOfWaiting(sql: postgres.ISql, hook: Subscription, after: FeedPosition, max: number) {
    const statement = compileWaiting(hook.events, viewsOf(hook, this.entities), after, max)
    return statement === null ? [] : sql.unsafe<FeedPosition[]>(statement.text, parametersOf(statement), { prepare: false })
  }

  /** Runs a statement on one hook. @throws Refused if there is no hook with this id */
  private async require(sql: postgres.TransactionSql, id: string, statement: postgres.PendingQuery<postgres.Row[]>) {
    if ((await statement).count > 0) return
    const ids = (await sql<{ id: string }[]>`select id from hook order by id`).map((row) => row.id)
    throw new Refused(`there is no hook "${id}".${suggest(id, ids)}`)
  }
}

/**
 * Returns a statement that reads the positions of the first `max` changes after `after` that the hook wants; null if the hook
 * shows no entity.
 */
export function compileWaiting(
  events: readonly string[],
  views: readonly View[],
  after: FeedPosition,
  max: number,
): Statement | null {
  const isLater = isAfter(after)
  const limit = sql`order by position, number limit ${integer(max)}`
  const ofViews = views.flatMap((view) => {
    const { plural, table } = view
    const actions = ACTIONS.filter((action) => wantsEvent(events, `${plural}:${action}`))
    if (actions.length === 0) return []
    const letters = commaList(actions.map((action) => word(action[0] as string)))
    return [
      sql`(select position, number from entity_change where entity = ${word(table)} and action in (${letters}) and ${isLater} and position < ${OLDEST_RUNNING}${andShown(view)} ${limit})`,
    ]
  })
  if (ofViews.length === 0) return null
  return toStatement(
    // Sorts by the columns of `event`, because the selected columns are texts.
    sql`select position::text, number::text from (${join(ofViews, sql` union all `)}) as event order by event.position, event.number limit ${integer(max)}`,
  )
}
