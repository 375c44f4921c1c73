import type { Log } from '../log.ts'
import { param, sql, toStatement } from '../model/sql.ts'
import { withDeadline } from '../os/deadline.ts'
import type { Database } from './database.ts'
import type { ListReads } from './listReads.ts'
import { Together } from './together.ts'

/** How far a server's log goes: a place in it, in bytes, on a timeline, of which a failover begins another one. */
export interface Position {
  readonly place: number
  readonly timeline: number
}

/** What a standby has replayed, in which run of its server. */
interface Replayed extends Position {
  readonly run: string
  /** All transactions that have ended for it are before this one. */
  readonly next: number
}

/** How long a list waits for a standby that is behind; then the primary finds it. */
const WAIT_MS_MAX = 50
const LOOK_MS = 3
/** How long a list waits until the primary shows what the standby showed already. */
const SHOWN_MS_MAX = 100
/** A standby that is further ahead is asked for no list. */
const AHEAD_MAX = 1_000
/** How long it may take to say in which run it is; the list is there already. */
const RUN_MS_MAX = 1_000
/** A standby that was behind or away is not waited for again so soon. */
const REST_MS = 250
/** The primary that does not say how far it is in this time will hardly find a list either. */
const POSITION_MS_MAX = 1_000
/** What mends itself sooner is not worth a line. */
const TROUBLE_MS = 10_000

/** All that is visible on the primary stands before this. It names no file that is there already where it is at one's end. */
const WRITTEN = toStatement(
  sql`select (place - '0/0')::text, left(pg_walfile_name(place), 8) from (select pg_current_wal_insert_lsn() as place) as log`,
)
/** A standby that follows another timeline says so late, once it has noted that on its disk; until then it is not used. */
const REPLAYED = toStatement(
  sql`select (pg_last_wal_replay_lsn() - '0/0')::text, greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline)::text, pg_postmaster_start_time()::text, pg_snapshot_xmax(pg_current_snapshot())::text where pg_is_in_recovery()`,
)
const SNAPSHOT = toStatement(sql`select pg_current_snapshot()::text`)

/** Of a page of the log, whose head is of either length: no record ends within it. */
const PAGE_BYTES = 8_192
const HEADS = [24, 40]

/** @throws ApiError when the primary does not answer; Error where it is none */
async function positionOf(primary: Database): Promise<Position> {
  const [[place = '', timeline = ''] = []] = (await primary.read(WRITTEN)) as string[][]
  return { place: endBefore(Number(place)), timeline: Number.parseInt(timeline, 16) }
}

/** Where the last record ends that begins before a place: behind the head of a page none has been written yet. */
export function endBefore(place: number): number {
  const within = place % PAGE_BYTES
  return HEADS.includes(within) ? place - within : place
}

/** One hot standby: what it has replayed, and lists of it. */
export class Standby {
  private readonly state: Together<Replayed | null>
  private restUntilMs = 0
  /** Since when it was of no use; null: it was when it was last asked. */
  private troubleSinceMs: number | null = null
  private isLogged = false

  /** `reads`: over `database`. `host`: what the log calls it. */
  constructor(
    private readonly database: Database,
    readonly reads: ListReads,
    private readonly host: string,
    private readonly log: Pick<Log, 'info' | 'warn'>,
  ) {
    this.state = new Together(() => this.look())
  }

  get isResting(): boolean {
    return performance.now() < this.restUntilMs
  }

  /** It was of no use, and is left alone for a moment. */
  rest(): void {
    const nowMs = performance.now()
    this.restUntilMs = nowMs + REST_MS
    this.troubleSinceMs ??= nowMs
    if (this.isLogged || nowMs - this.troubleSinceMs < TROUBLE_MS) return
    this.isLogged = true
    this.log.warn('a standby is behind or away: the primary finds its lists', { host: this.host })
  }

  /** It has found a list. */
  noteFound(): void {
    if (this.isLogged) this.log.info('a standby finds lists again', { host: this.host })
    this.troubleSinceMs = null
    this.isLogged = false
  }

  /** The run of the server in which it has replayed up to there; null: it has not in time. */
  async reach({ place, timeline }: Position): Promise<string | null> {
    const untilMs = performance.now() + WAIT_MS_MAX
    for (;;) {
      const leftMs = untilMs - performance.now()
      if (leftMs <= 0) return null
      const state = await withDeadline(this.replayed(), leftMs, () => null)
      if (state === null || state.timeline !== timeline) return null
      if (state.place >= place) return state.run
      await Bun.sleep(LOOK_MS)
    }
  }

  /**
   * The first transaction that cannot have ended in what it has shown before; null: it is not in that run any more, so that
   * it may have replayed less for a while.
   */
  async nextIn(run: string): Promise<number | null> {
    const state = await withDeadline(this.replayed(), RUN_MS_MAX, () => null)
    return state?.run === run ? state.next : null
  }

  /** Whether one of these transactions is committed here. @throws ApiError when it does not answer */
  async hasCommitted(transactions: readonly number[]): Promise<boolean> {
    const ids = param(JSON.stringify(transactions))
    const [row] = await this.database.read(
      toStatement(
        sql`select count(*)::text from json_array_elements_text(${ids}::text::json) as asked (id) where pg_xact_status(id::xid8) = 'committed'`,
      ),
    )
    return row?.[0] !== '0'
  }

  /** Null: it does not say. */
  private replayed(): Promise<Replayed | null> {
    return this.state.ask().catch(() => null)
  }

  private async look(): Promise<Replayed | null> {
    const [row] = await this.database.read(REPLAYED)
    const [place, timeline, run, next] = row ?? []
    if (!place || !timeline || !run) return null
    return { place: Number(place), timeline: Number(timeline), run, next: Number(next) }
  }
}

/** The transactions before `next` that the snapshot of this text does not see; null: too many. */
export function unseenBefore(next: number, text: string): number[] | null {
  const [, end = '', running = ''] = text.split(':')
  if (next - Number(end) > AHEAD_MAX) return null
  const unseen = running === '' ? [] : running.split(',').map(Number)
  for (let transaction = Number(end); transaction < next; transaction++) unseen.push(transaction)
  return unseen.filter((transaction) => transaction < next)
}

/**
 * Hot standbys for lists.
 *
 * **A list from a standby is one that the primary could have given.** The primary is asked how far its log goes after the
 * request has come: whatever was visible by then stands before that place. A standby that has replayed so
 * far sees all of it. So what a client has seen, of the primary, from memory or from any server, it sees from then on,
 * without a position of its own. The question is one for all lists that come while another is under way.
 *
 * **And the primary shows what the list shows.** A standby may show a commit before the primary does, by far where the primary
 * waits for another standby to have it. So when the list is there the primary is asked which transactions run, and the
 * standby whether it has one of these as committed; then the list waits until the primary shows them, too.
 *
 * Places compare on one timeline alone: behind a failover, a standby may have what the new primary never had. And a server that
 * was started again may for a moment show less than before, so a list counts only if its run is the one that had replayed
 * so far.
 */
export class Standbys {
  private readonly position: Together<Position>
  private readonly snapshot: Together<string>
  private turn = 0

  constructor(
    primary: Database,
    private readonly all: readonly Standby[],
  ) {
    this.position = new Together(() => positionOf(primary))
    this.snapshot = new Together(async () => (await primary.read(SNAPSHOT))[0]?.[0] as string)
  }

  /**
   * What `read` finds on a standby that shows all that the primary showed when this was called; null: no standby does, soon
   * enough. @throws what `read` throws where `isFinal` says that the primary would fare no better
   */
  async find<T>(read: (reads: ListReads) => Promise<T>, isFinal: (error: unknown) => boolean): Promise<T | null> {
    if (this.all.every(({ isResting }) => isResting)) return null
    const asked = this.position.ask().catch(() => null)
    const position = await withDeadline(asked, POSITION_MS_MAX, () => null)
    const standby = position && this.next()
    if (!standby) return null
    const run = await standby.reach(position)
    if (run !== null) {
      try {
        const found = await read(standby.reads)
        const next = await standby.nextIn(run)
        if (next !== null && (await this.isShown(standby, next))) {
          standby.noteFound()
          return found
        }
      } catch (error) {
        if (isFinal(error)) throw error
      }
    }
    standby.rest()
    return null
  }

  /** Whether the primary shows what the standby has committed of the transactions before `next`. @throws ApiError */
  private async isShown(standby: Standby, next: number): Promise<boolean> {
    const untilMs = performance.now() + SHOWN_MS_MAX
    for (;;) {
      const unseen = unseenBefore(next, await this.snapshot.ask())
      if (unseen !== null && (unseen.length === 0 || !(await standby.hasCommitted(unseen)))) return true
      if (performance.now() >= untilMs) return false
      await Bun.sleep(LOOK_MS)
    }
  }

  private next(): Standby | null {
    for (let tries = 0; tries < this.all.length; tries++) {
      const standby = this.all[this.turn++ % this.all.length] as Standby
      if (!standby.isResting) return standby
    }
    return null
  }
}
