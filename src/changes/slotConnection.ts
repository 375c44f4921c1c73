import type postgres from 'postgres'
import { connectTo } from '../execute/connect.ts'
import type { Row } from '../model/sql.ts'
import { monotonicMs } from '../os/clock.ts'
import { lookAt, type Stranger, type Survey, survey } from './catalog.ts'
import type { FollowConnection, FollowHandlers } from './follow.ts'
import type { Ask } from './listenerStatements.ts'
import * as statements from './listenerStatements.ts'
import { readMessage } from './pgoutput.ts'
import { PUBLICATION, surveyPublication } from './publication.ts'
import { type FeedHandlers, SlotFeed } from './slotFeed.ts'
import { SlotStream } from './slotStream.ts'
import { Snapshot } from './snapshot.ts'

export interface SlotHandlers extends FollowHandlers, FeedHandlers {
  /** The columns of each of `tables`, in the order in which rows of it have their values. */
  readonly columns: ReadonlyMap<string, readonly string[]>
}

/** Where statements are run, and where the log is streamed. */
export interface SlotAddresses {
  readonly url: string
  /** Of a role that may replicate. */
  readonly feedUrl: string
}

/** What does not come as rows of our tables, though it changes what lists show. */
const STILL_STRANGE = ['child table', 'row security']
const SWEEP_MS = 10_000
/** A look at the catalog costs PostgreSQL a third of a millisecond. */
const LOOK_MS = 500
/** Until a slot begins, PostgreSQL waits for all transactions that write; meanwhile there are pulses. */
const BEGIN_MS = 500
/**
 * Where the answer to a question for the position came too early, it is asked for again: soon, but not at once, since under load
 * PostgreSQL answers within microseconds, and the questions would take both more time than the rows.
 */
const ASK_MS = 1
const ASK_MS_MAX = 10

/**
 * One connection that runs statements, and one that reads a temporary logical slot.
 *
 * **Nothing is missed.** A slot has every transaction that commits after its beginning, whole. One that committed before may
 * still be invisible; so the first transaction that had not begun when the slot had is noted, and the connection is live only
 * when all before it have ended for every snapshot. With that, every cache is dropped.
 *
 * **A pulse** asks where the log ends on disk, and for the snapshot of now: in that order nothing that the snapshot sees lies
 * behind, unless it was committed with `synchronous_commit = off`, which may be some hundred milliseconds late. When the
 * stream has come to that place, what the snapshot sees is published; so all writes of before the pulse are. Commits that the
 * snapshot does not see are held, and hold up nothing: lists do not show them either.
 *
 * **Definitions** are looked at as by `ListenerConnection`: tables that are rewritten send no rows.
 */
export class SlotConnection implements FollowConnection {
  isLive = false
  private isClosed = false
  private readonly sql: postgres.Sql
  private found: Survey | null = null
  private changes: string | null = null
  private lookedMs = 0
  private sweptMs = 0
  private feed: SlotFeed | null = null
  private stream: SlotStream | null = null
  private begun: Promise<boolean> = Promise.resolve(false)
  /** All transactions before it must have ended; null: the slot has not begun. */
  private horizon: number | null = null
  /** The position that a pulse waits for. */
  private awaited: bigint | null = null
  private onReached: (() => void) | null = null

  constructor(
    private readonly addresses: SlotAddresses,
    private readonly handlers: SlotHandlers,
  ) {
    this.sql = connectTo(addresses.url, {
      max: 1,
      onclose: () => this.close('the connection was lost'),
      connection: statements.listenerSettings(handlers.machine),
    })
  }

  /** @throws Error when the connection is of no use any more */
  async pulse(): Promise<void> {
    const { handlers } = this
    const askedMs = monotonicMs()
    await handlers.attend(this.ask)
    if (this.stream === null && !(await this.open())) return
    await this.look()
    if (!(await Promise.race([this.begun, Bun.sleep(BEGIN_MS)]))) return this.wait()
    this.horizon ??= (await this.snapshot()).next
    const [[end = '0', text = ''] = []] = await this.ask(statements.selectLogEnd)
    await this.reach(BigInt(end as string))
    const snapshot = new Snapshot(text as string)
    this.feed?.release(snapshot)
    if (!this.isLive && snapshot.oldest < this.horizon) return this.wait()
    await this.sweep()
    if (!this.isLive) handlers.onBegin()
    this.isLive = true
    handlers.onPulse(askedMs)
  }

  /** The slot goes with its connection. */
  async leave(): Promise<void> {}

  close(reason: string): void {
    if (!this.isClosed) this.handlers.onEnd(reason)
    this.isClosed = true
    this.isLive = false
    this.feed?.end()
    this.stream?.close()
    this.sql.end({ timeout: 0 }).catch(() => undefined)
    this.onReached?.()
  }

  /** False: the tables are not published. */
  private async open(): Promise<boolean> {
    const { handlers } = this
    const found = await survey(this.ask, handlers.tables, handlers.copies)
    const { published, missing } = await surveyPublication(this.ask, handlers.tables)
    if (missing.length > 0) {
      handlers.onEnd(`the publication roster lacks rows of ${missing.join(' and ')}`, true)
      return false
    }
    handlers.onStrangers(found.strangers.filter(isStillStrange))
    this.found = found
    const { next } = await this.snapshot()
    const fed = published.map(({ table, relation }) => {
      const columns = handlers.columns.get(table) ?? []
      return [relation, { table, columns }] as const
    })
    const fail = (error: Error) => this.close(error.message)
    const feed = new SlotFeed(new Map(fed), next, handlers, this.snapshot, fail)
    const { stream, begun } = SlotStream.begin(this.addresses.feedUrl, PUBLICATION, {
      take: (message) => readMessage(message, feed),
      reach: (position) => feed.reach(position),
      rest: () => {
        feed.rest()
        this.noteReached()
      },
      lose: (reason) => this.close(reason),
    })
    this.feed = feed
    this.stream = stream
    this.begun = begun.then(() => true)
    this.begun.catch((error) => this.close(error.message))
    return true
  }

  private wait() {
    this.handlers.onEnd('waiting for transactions older than the slot')
  }

  /** Waits until the stream has come to this position, which it says by itself under load. */
  private async reach(position: bigint) {
    this.awaited = position
    this.stream?.hurry(true)
    for (let pauseMs = ASK_MS; !this.isClosed && !this.isReached(); pauseMs = Math.min(2 * pauseMs, ASK_MS_MAX)) {
      if (pauseMs > ASK_MS) this.stream?.ask()
      const { promise, resolve } = Promise.withResolvers<void>()
      this.onReached = resolve
      const timer = setTimeout(resolve, pauseMs)
      await promise
      clearTimeout(timer)
    }
    this.stream?.hurry(false)
    this.awaited = null
    this.onReached = null
  }

  private isReached(): boolean {
    return this.feed === null || this.awaited === null || this.feed.position >= this.awaited
  }

  /** A commit behind the place tells as much as an answer does. */
  private noteReached() {
    if (this.onReached !== null && this.isReached()) this.onReached()
  }

  /** @throws Error when a table is not any more what it was */
  private async look() {
    const { found } = this
    const nowMs = performance.now()
    if (found === null || (this.isLive && nowMs - this.lookedMs < LOOK_MS)) return
    this.lookedMs = nowMs
    const now = await lookAt(this.ask, found.watched)
    if (now.signs !== found.signs) throw new Error('the tables, or what belongs to them, have changed')
    if (this.isLive && now.changes !== this.changes) this.handlers.onBegin()
    this.changes = now.changes
  }

  /** Machines that have died, and a table of them that is longer than it need be, would cost every write a look. */
  private async sweep() {
    const nowMs = performance.now()
    if (this.isLive && nowMs - this.sweptMs < SWEEP_MS) return
    await this.ask(statements.deleteGone)
    await this.ask(statements.truncateListeners)
    this.sweptMs = nowMs
  }

  private readonly snapshot = async () => {
    const [[text = ''] = []] = await this.ask(statements.selectSnapshot)
    return new Snapshot(text as string)
  }

  private readonly ask: Ask = async (text, values = []) => {
    if (this.isClosed) throw new Error('the connection is closed')
    const rows = await this.sql.unsafe(text, values as string[], { prepare: true, simple: false } as object).values()
    if (this.isClosed) throw new Error('the connection is closed')
    return rows as unknown as Row[]
  }
}

function isStillStrange({ kind }: Stranger): boolean {
  return STILL_STRANGE.includes(kind)
}
