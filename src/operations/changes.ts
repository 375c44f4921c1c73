// Reads of the change feed: pages of events after a token, and one poll of the database for all waiting requests.
import { CHANGE_COLUMNS, compileChanges, compileHistory, compileNewest, compileRows } from '../compile/changes.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { type ChangesToken, comparePositions, type FeedPosition, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import type { Row, Statement } from '../model/sql.ts'
import type { ChangesQuery } from '../parse/changes.ts'
import type { ChangeEvent } from '../respond/changes.ts'

type Found = Readonly<Record<(typeof CHANGE_COLUMNS)[number], string>>
const named = (row: Row) => Object.fromEntries(CHANGE_COLUMNS.map((column, index) => [column, row[index]])) as Found

/** End of the feed: a position after all events. */
const FEED_END: FeedPosition = { position: '9223372036854775807', number: '0' }

type After = ChangesQuery['after']
type PageQuery = Pick<ChangesQuery, 'pageSize' | 'hasRows'>

export interface ChangesPage {
  readonly lines: readonly ChangeEvent[]
  readonly more: boolean
  /** Token of the next page. */
  readonly end: ChangesToken
}

/** Reads the events that triggers have recorded. D57 */
export class Changes {
  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
  ) {}

  /**
   * Returns events of entities after a token; null: from the start of the feed; `now`: no events, only its end. @throws ApiError
   * TokenExpired
   */
  pageAfter(entities: readonly Entity[], after: After, query: PageQuery): Promise<ChangesPage> {
    return this.read((place) => compileChanges(entities, place, query.pageSize + 1), after, query)
  }

  /** Returns events of one row, which may be deleted. @throws ApiError TokenExpired */
  historyAfter(entity: Entity, id: string, after: After, query: PageQuery): Promise<ChangesPage> {
    return this.read((place) => compileHistory(entity, id, place, query.pageSize + 1), after, query)
  }

  private async read(compile: (after: FeedPosition | null) => Statement, after: After, query: PageQuery): Promise<ChangesPage> {
    const { pageSize, hasRows } = query
    const rows = (await this.database.read(compile(after === 'now' ? FEED_END : after))).map(named)
    const [first] = rows as [Found]
    if (after !== null && after !== 'now') requireKept(after, first)
    const found = rows.filter(({ position }) => position !== null)
    const page = found.slice(0, pageSize)
    const entityOf = (name: string) => this.entities.find(({ table }) => table === name) as Entity
    const plain = page.map((row) => ({ ...row, token: writeToken(row), entity: entityOf(row.entity) }))
    const lines = hasRows && plain.length > 0 ? await this.withRows(plain) : plain
    const more = found.length > pageSize
    // All events before `settled` were read. A history also has later ones; transactions in progress may still add events before
    // these.
    const { run, settled } = first
    const { position, number } = more ? (page.at(-1) as Found) : { position: settled, number: '0' }
    return { lines, more, end: { run, position, number } }
  }

  /** Adds the current rows, which are at least as new as the events, because those were read first. */
  private async withRows(lines: readonly ChangeEvent[]): Promise<ChangeEvent[]> {
    const wantedRows = [...Map.groupBy(lines, ({ entity }) => entity)].map(
      ([entity, lines]) => [entity, [...new Set(lines.map(({ id }) => id))]] as const,
    )
    const found = new Map<string, Row>()
    for (const [index, ...values] of await this.database.read(compileRows(wantedRows)))
      found.set(`${wantedRows[Number(index)]?.[0].table} ${values[0]}`, values)
    return lines.map((line) => ({ ...line, row: found.get(`${line.entity.table} ${line.id}`) ?? null }))
  }
}

/** Checks that no event after the token was deleted. @throws ApiError TokenExpired */
function requireKept(token: ChangesToken, { run, begun, deletedPosition, deletedNumber }: Found) {
  const isOld = comparePositions(token, { position: deletedPosition, number: deletedNumber }) < 0
  const isForeign = token.run !== run || BigInt(token.position) > BigInt(begun)
  if (!isForeign && !isOld) return
  const why = isForeign
    ? 'The token is of another run of the changes: the database was restored, or was served without keeping them'
    : 'The token is older than the changes that are kept'
  const message = `${why}. Ask for a new one with after=now, and then read the lists whole.`
  throw new ApiError('TokenExpired', message, { target: 'after' })
}

/** A request that waits for a change of some entities after a position. */
interface Wait {
  readonly entities: readonly Entity[]
  readonly after: FeedPosition
  readonly untilMs: number
  readonly signal: AbortSignal
  readonly key: string
}

/** Maximum waiting requests, in total and per key; further ones are answered at once, and poll. */
const LIMITS = { waitersMax: 500, waitersOfKeyMax: 100 }
const POLL_MS = 100

/** Waiting requests of this process. One statement polls the database for all of them. */
export class ChangeWaits {
  private readonly waiters = new Set<Wait>()
  private polling: Promise<readonly Row[]> | null = null

  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
    private readonly options: { isDraining(): boolean } & Partial<typeof LIMITS>,
  ) {}

  /** Waits for an event after `after`. False if time is over, the client has left, or too many requests wait. */
  async wait(wait: Wait): Promise<boolean> {
    const { entities, after, untilMs, signal, key } = wait
    const { isDraining, waitersMax, waitersOfKeyMax } = { ...LIMITS, ...this.options }
    let ofKey = 0
    for (const waiter of this.waiters) if (waiter.key === key) ofKey++
    if (this.waiters.size >= waitersMax || ofKey >= waitersOfKeyMax) return false
    this.waiters.add(wait)
    try {
      while (performance.now() < untilMs && !signal.aborted && !isDraining())
        for (const [table, position, number] of await this.poll()) {
          const newest = { position: position as string, number: number as string }
          if (entities.some((entity) => entity.table === table) && comparePositions(newest, after) > 0) return true
        }
      return false
    } finally {
      this.waiters.delete(wait)
    }
  }

  /** Reads the positions of the newest events, once for all waiting requests. */
  private poll(): Promise<readonly Row[]> {
    this.polling ??= Bun.sleep(POLL_MS)
      .then(() => this.database.read(compileNewest(this.entities)))
      // If the database is unreachable, waiting requests get the error with their next read.
      .catch(() => [])
      .finally(() => (this.polling = null))
    return this.polling
  }
}
