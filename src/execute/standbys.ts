import type { Log } from '../log.ts'
import { sql, toStatement } from '../model/sql.ts'
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
}

/** How long a list waits for a standby that is behind; then the primary finds it. */
const WAIT_MS_MAX = 50
const LOOK_MS = 3
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
  sql`select (pg_last_wal_replay_lsn() - '0/0')::text, greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline)::text, pg_postmaster_start_time()::text where pg_is_in_recovery()`,
)

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

  /** Whether it is in that run still: one that was started again may have replayed less for a while. */
  async isIn(run: string): Promise<boolean> {
    return (await withDeadline(this.replayed(), RUN_MS_MAX, () => null))?.run === run
  }

  /** Null: it does not say. */
  private replayed(): Promise<Replayed | null> {
    return this.state.ask().catch(() => null)
  }

  private async look(): Promise<Replayed | null> {
    const [row] = await this.database.read(REPLAYED)
    const [place, timeline, run] = row ?? []
    return place && timeline && run ? { place: Number(place), timeline: Number(timeline), run } : null
  }
}

/**
 * Hot standbys for lists.
 *
 * **A list from a standby is one that the primary could have given.** The primary is asked how far its log goes after the
 * request has come: whatever was visible by then stands before that place. A standby that has replayed so
 * far sees all of it. So what a client has seen, of the primary, from memory or from any server, it sees from then on,
 * without a position of its own. The question is one for all lists that come while another is under way.
 *
 * Places compare on one timeline alone: behind a failover, a standby may have what the new primary never had. And a server that
 * was started again may for a moment show less than before, so a list counts only if its run is the one that had replayed
 * so far.
 */
export class Standbys {
  private readonly position: Together<Position>
  private turn = 0

  constructor(
    primary: Database,
    private readonly all: readonly Standby[],
  ) {
    this.position = new Together(() => positionOf(primary))
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
        if (await standby.isIn(run)) {
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

  private next(): Standby | null {
    for (let tries = 0; tries < this.all.length; tries++) {
      const standby = this.all[this.turn++ % this.all.length] as Standby
      if (!standby.isResting) return standby
    }
    return null
  }
}
