// Reads the change feed: pages of events after a token. One poll of the database serves all waiting requests.
import {
  CHANGE_COLUMNS,
  compileChanges,
  compileHistory,
  compileHistoryStretchEnd,
  compileNewest,
  compileNewestShown,
  compileRows,
  compileStretchEnd,
  hidesProperties,
  type Watch,
} from '../compile/changes.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { type ChangesToken, comparePositions, type FeedPosition, readToken, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import type { Row, Statement } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import type { ChangesQuery } from '../parse/changes.ts'
import type { ChangeEvent } from '../respond/changes.ts'

type Found = Readonly<Record<(typeof CHANGE_COLUMNS)[number], string>>
const named = (row: Row) => Object.fromEntries(CHANGE_COLUMNS.map((column, index) => [column, row[index]])) as Found

/** End of the feed: a position after all events. */
const FEED_END: FeedPosition = { position: '9223372036854775807', number: '0' }

/** Maximum events of an entity that one statement reads, including the events that a view hides. */
const SCANNED_MAX = 20_000
/** Maximum events that a poll reads for one view. It is small, because one poll reads for all views of waiting requests. */
const SCANNED_IN_POLL_MAX = 1_000
/** Maximum time to fill a page. If many events are hidden, the page then ends although it is not full. */
const PAGE_MS_MAX = 3_000

type After = ChangesQuery['after']
type PageQuery = Pick<ChangesQuery, 'pageSize' | 'hasRows'>

export interface ChangesPage {
  readonly events: readonly ChangeEvent[]
  readonly more: boolean
  /** Token of the next page. */
  readonly end: ChangesToken
}

/** Events from which a page is read: all events of the feed, or the events of one row. */
interface Events {
  readonly views: readonly View[]
  /** Compiles a read of up to `countMax` events after `start` (null: from the first), up to `last` (null: to the end). */
  compile(start: FeedPosition | null, countMax: number, last: FeedPosition | null): Statement
  /** Compiles the search for the position at which one read must end. */
  compileStretchEnd(start: FeedPosition | null): Statement
}

/** Reads the events that triggers have recorded. D57 */
export class Changes {
  constructor(private readonly database: Pick<Database, 'read'>) {}

  /**
   * Returns a page of the events that these views show. `after`: a token; null: the start of the feed; `now`: the end of the
   * feed, so that the page has no events. @throws ApiError TokenExpired
   */
  pageAfter(views: readonly View[], after: After, query: PageQuery): Promise<ChangesPage> {
    return this.readPage(after, query, {
      views,
      compile: (start, countMax, last) => compileChanges(views, start, countMax, last),
      compileStretchEnd: (start) => compileStretchEnd(views, start, SCANNED_MAX),
    })
  }

  /** Returns a page of the events of one row, even if the row was deleted. @throws ApiError TokenExpired */
  historyAfter(view: View, id: string, after: After, query: PageQuery): Promise<ChangesPage> {
    return this.readPage(after, query, {
      views: [view],
      compile: (start, countMax, last) => compileHistory(view, id, start, countMax, last),
      compileStretchEnd: (start) => compileHistoryStretchEnd(view, id, start, SCANNED_MAX),
    })
  }

  private async readPage(after: After, query: PageQuery, source: Events): Promise<ChangesPage> {
    const { views } = source
    const mayHide = after !== 'now' && views.some(hidesProperties)
    const untilMs = performance.now() + PAGE_MS_MAX
    const events: ChangeEvent[] = []
    for (let from = after; ; ) {
      const last = mayHide ? await this.stretchEndOf(source, from as Exclude<After, 'now'>) : null
      const pageSize = query.pageSize - events.length
      const compile = (start: FeedPosition | null) => source.compile(start, pageSize + 1, last)
      const page = await this.read(views, compile, from, { ...query, pageSize })
      events.push(...page.events)
      // If more events follow, the next page begins after the last of `events`, which may be an event that an earlier read has
      // found.
      if (page.more) return { events, more: true, end: readToken(events.at(-1)?.token ?? '') as ChangesToken }
      if (last === null) return { ...page, events }
      // The loop goes on until the page is full, because a short page would tell how many events are hidden.
      from = { run: page.end.run, ...last }
      if (performance.now() > untilMs) return { events, more: true, end: from }
    }
  }

  /** Returns the position at which one statement must end, so that it does not take too long; null: it may read to the end. */
  private async stretchEndOf({ compileStretchEnd }: Events, after: FeedPosition | null): Promise<FeedPosition | null> {
    const [row] = await this.database.read(compileStretchEnd(after))
    return row ? { position: row[0] as string, number: row[1] as string } : null
  }

  private async read(
    views: readonly View[],
    compile: (after: FeedPosition | null) => Statement,
    after: After,
    query: PageQuery,
  ): Promise<ChangesPage> {
    const { pageSize, hasRows } = query
    const rows = (await this.database.read(compile(after === 'now' ? FEED_END : after))).map(named)
    const [first] = rows as [Found]
    if (after !== null && after !== 'now') requireKept(after, first)
    const found = rows.filter(({ position }) => position !== null)
    const page = found.slice(0, pageSize)
    const viewNamed = (name: string) => views.find(({ table }) => table === name) as View
    const plain = page.map((row) => ({ ...row, token: writeToken(row), entity: viewNamed(row.entity) }))
    const events = hasRows && plain.length > 0 ? await this.withRows(plain) : plain
    const more = found.length > pageSize
    // All events before `oldestRunning` were read, so the page ends there. A page of a history also ends there, although it can
    // have later events: transactions in progress may still add events between `oldestRunning` and a later event.
    const { run, oldestRunning } = first
    const { position, number } = (more && page.at(-1)) || { position: oldestRunning, number: '0' }
    return { events, more, end: { run, position, number } }
  }

  /** Adds the current rows to events. The rows are at least as new as the events, because the events were read first. */
  private async withRows(events: readonly ChangeEvent[]): Promise<ChangeEvent[]> {
    const wantedRows = [...Map.groupBy(events, ({ entity }) => entity)].map(
      ([{ whole }, ofEntity]) => [whole, [...new Set(ofEntity.map(({ id }) => id))]] as const,
    )
    const found = new Map<string, Row>()
    for (const [index, ...values] of await this.database.read(compileRows(wantedRows)))
      found.set(`${wantedRows[Number(index)]?.[0].table} ${values[0]}`, values)
    return events.map((event) => ({ ...event, row: found.get(`${event.entity.table} ${event.id}`) ?? null }))
  }
}

/**
 * Checks that the token is of the present run of the feed, and that the events that follow the token are all kept. A restore of
 * the database begins a new run. @throws ApiError TokenExpired
 */
function requireKept(token: ChangesToken, { run, begun, deletedPosition, deletedNumber }: Found) {
  const isOld = comparePositions(token, { position: deletedPosition, number: deletedNumber }) < 0
  const isForeign = token.run !== run || BigInt(token.position) > BigInt(begun)
  if (!isForeign && !isOld) return
  const why = isForeign
    ? 'The token is of another run of the changes: the database was restored, was served without keeping them, or your rights were changed'
    : 'The token is older than the changes that are kept'
  const message = `${why}. Ask for a new one with after=now, and then read the lists whole.`
  throw new ApiError('TokenExpired', message, { target: 'after' })
}

/** A request that waits for an event after a position, in any of the views. */
interface Wait {
  readonly views: readonly View[]
  readonly after: FeedPosition
  readonly untilMs: number
  readonly signal: AbortSignal
  readonly key: string
}

/** A waiting request. `seen`: for each view, the position up to which there is no event for the request. */
interface Waiter {
  readonly key: string
  readonly seen: Map<View, FeedPosition>
}

/** Positions of the newest events, as one poll has found them. */
interface Newest {
  /** Position of each entity's last event, by table. */
  readonly byTable: ReadonlyMap<string, FeedPosition>
  /**
   * For each view that hides properties: the position that `compileNewestShown` found after `from`. `position` is null if all
   * events after `from` are hidden.
   */
  readonly byView: ReadonlyMap<View, { readonly from: FeedPosition; readonly position: FeedPosition | null }>
}

const NOTHING_NEW: Newest = { byTable: new Map(), byView: new Map() }

/** Maximum waiting requests, in total and per key. Further requests for a page are answered at once, and further streams poll. */
const LIMITS = { waitersMax: 500, waitersOfKeyMax: 100 }
const POLL_MS = 100

/** Waiting requests of this process. One poll of the database serves all of them. */
export class ChangeWaits {
  private readonly waiters = new Set<Waiter>()
  private polling: Promise<Newest> | null = null

  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
    private readonly options: { isDraining(): boolean } & Partial<typeof LIMITS>,
  ) {}

  /** Waits for an event after `after`. Returns false if time is over, the client has left, or too many requests wait. */
  async wait({ views, after, untilMs, signal, key }: Wait): Promise<boolean> {
    const { isDraining, waitersMax, waitersOfKeyMax } = { ...LIMITS, ...this.options }
    let ofKey = 0
    for (const waiter of this.waiters) if (waiter.key === key) ofKey++
    if (this.waiters.size >= waitersMax || ofKey >= waitersOfKeyMax) return false
    const waiter = { key, seen: new Map(views.map((view) => [view, after])) }
    this.waiters.add(waiter)
    try {
      while (performance.now() < untilMs && !signal.aborted && !isDraining()) {
        const newest = await this.poll()
        if (views.some((view) => hasEventFor(waiter, view, newest))) return true
      }
      return false
    } finally {
      this.waiters.delete(waiter)
    }
  }

  /** Reads the newest events, once for all waiting requests. */
  private poll(): Promise<Newest> {
    this.polling ??= Bun.sleep(POLL_MS)
      .then(() => this.readNewest())
      // If the database is unreachable, waiting requests get the error with their next read.
      .catch(() => NOTHING_NEW)
      .finally(() => (this.polling = null))
    return this.polling
  }

  private async readNewest(): Promise<Newest> {
    const byTable = new Map<string, FeedPosition>()
    for (const [table, position, number] of await this.database.read(compileNewest(this.entities)))
      byTable.set(table as string, { position: position as string, number: number as string })
    const watches = this.watchesFor(byTable)
    if (watches.length === 0) return { byTable, byView: new Map() }
    const byView = new Map(
      watches.map(({ view, after }) => [view, { from: after, position: null as FeedPosition | null }] as const),
    )
    for (const [index, position, number] of await this.database.read(compileNewestShown(watches, SCANNED_IN_POLL_MAX))) {
      const { view, after } = watches[Number(index)] as Watch
      byView.set(view, { from: after, position: { position: position as string, number: number as string } })
    }
    return { byTable, byView }
  }

  /**
   * Returns the views that the next poll must search: those that hide properties and may have new events. Each search starts at
   * the earliest position that a waiting request of the view has seen.
   */
  private watchesFor(newest: Newest['byTable']): Watch[] {
    const from = new Map<View, FeedPosition>()
    for (const { seen } of this.waiters)
      for (const [view, position] of seen) {
        if (!hidesProperties(view) || !isLater(newest.get(view.table), position)) continue
        const earliest = from.get(view)
        if (earliest === undefined || comparePositions(position, earliest) < 0) from.set(view, position)
      }
    return [...from].map(([view, after]) => ({ view, after }))
  }
}

/**
 * Returns whether a view has an event that the request has not seen. If all events up to the newest one are hidden, sets `seen`
 * to the newest one, so that no later poll reads these events again.
 */
function hasEventFor({ seen }: Waiter, view: View, { byTable, byView }: Newest): boolean {
  const after = seen.get(view) as FeedPosition
  const newest = byTable.get(view.table)
  if (!isLater(newest, after)) return false
  if (!hidesProperties(view)) return true
  const found = byView.get(view)
  // The request arrived during the poll, so the poll did not search for it. The request waits for the next poll.
  if (found === undefined || comparePositions(found.from, after) > 0) return false
  if (isLater(found.position, after)) return true
  // The position is null if all events up to the newest one are hidden. If the poll found an event that is not after `after`, the
  // poll began at the position of another request. The poll may then have read no event after `after`, so `seen` stays as it is.
  if (found.position === null) seen.set(view, newest)
  return false
}

function isLater(newest: FeedPosition | null | undefined, after: FeedPosition): newest is FeedPosition {
  return newest != null && comparePositions(newest, after) > 0
}
