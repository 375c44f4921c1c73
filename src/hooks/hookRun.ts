// One hook: reads its changes, delivers them, and retries failed deliveries.
import { setTimeout } from 'node:timers/promises'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import { type ChangesToken, readToken, type SealedTokens } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import type { View } from '../model/view.ts'
import type { Changes, ChangeWaits } from '../operations/changes.ts'
import { withDeadline } from '../os/time.ts'
import { type ChangeEvent, eventOf, eventText, instantOf } from '../respond/changes.ts'
import { RightError } from '../rights/grammar.ts'
import type { Message, Outcome } from './delivery.ts'
import { wantsEvent } from './events.ts'
import { viewsOf } from './rights.ts'
import type { Hook, Session } from './session.ts'

export interface RunParts {
  readonly entities: readonly Entity[]
  readonly changes: Pick<Changes, 'pageAfter'>
  readonly tokens: SealedTokens
  readonly waits: Pick<ChangeWaits, 'wait'>
  readonly session: Pick<Session, 'save'>
  readonly log: Log
  readonly backOff: BackOff
  deliver(hook: Hook, message: Message, signal: AbortSignal): Promise<Outcome>
  nowMs(): number
}

const PAGE_EVENTS = 100
/** Maximum concurrent deliveries of one hook; each delivery is about a different row. */
const IN_FLIGHT_MAX = 4
/** Interval at which the position is saved during deliveries. The next sender repeats the deliveries after the saved position. */
const SAVE_MS = 1_000
/**
 * Interval at which the position is saved while there are no deliveries. Without this, the position would become older than the
 * oldest kept change.
 */
const IDLE_SAVE_MS = 3_600_000
/** Maximum time for saving the position when a sender stops. */
const LAST_SAVE_MS_MAX = 1_000
const WAIT_MS = 60_000
/**
 * If an attempt is late by more than this number of ms, no server was running. The delay then does not count as time of failures.
 */
const NO_SERVER_MS_MIN = 3_600_000

/** Delivers the changes of one hook from its position on, until the run is stopped or the hook is parked. */
export class HookRun {
  /** Position in the feed at which the hook will be when the whole queue is delivered. */
  private queueEnd: ChangesToken
  private queue: { readonly event: ChangeEvent; isDelivered: boolean }[] = []
  private savedMs: number
  private hasEnded = false
  private views: readonly View[] = []
  private readonly ending = new AbortController()
  private readonly signal = this.ending.signal
  /** Rejects when the connection to the database is lost. */
  readonly ended: Promise<void>

  constructor(
    readonly hook: Hook,
    private readonly parts: RunParts,
  ) {
    this.queueEnd = hook.checkpoint
    this.savedMs = parts.nowMs()
    this.ended = this.run()
  }

  /** Aborts the deliveries in flight. */
  async stop(): Promise<void> {
    this.ending.abort()
    await this.ended.catch(() => undefined)
  }

  /** Time of the oldest change that was read and not yet delivered, in ms since 1970; null if all are delivered. */
  get waitingSinceMs(): number | null {
    const waiting = this.queue.find(({ isDelivered }) => !isDelivered)
    return waiting === undefined ? null : Date.parse(waiting.event.at)
  }

  private async run(): Promise<void> {
    await this.readViews()
    while (!this.hasEnded && !this.signal.aborted && this.views.length > 0) {
      if (this.queue.length === 0) await this.fillQueue()
      else if (await this.pauseToAttempt()) await this.deliverBatch()
    }
    // The next sender continues from here, without reading again the events that this hook does not want.
    if (!this.hasEnded && this.queue.length === 0) await withDeadline(this.save(null), LAST_SAVE_MS_MAX, () => undefined)
  }

  /**
   * Reads the views of the hook. If one of its rights is invalid, the hook is parked, because it must never show more than its
   * rights allow.
   */
  private async readViews() {
    try {
      this.views = viewsOf(this.hook, this.parts.entities)
    } catch (error) {
      if (!(error instanceof RightError)) throw error
      this.parts.log.error('a hook is parked: its rights do not fit the entities', { ...this.fields(), reason: error.message })
      await this.park(`its rights do not fit the entities: ${error.message}`)
    }
  }

  /**
   * Reads a page of changes into the queue. If the hook wants none of them and the feed has no more, waits for the next change.
   */
  private async fillQueue() {
    const { changes, waits, log } = this.parts
    try {
      const { events, end, more } = await changes.pageAfter(this.views, this.queueEnd, {
        pageSize: PAGE_EVENTS,
        hasRows: false,
      })
      this.queueEnd = end
      this.queue = events
        .filter((event) => wantsEvent(this.hook.events, eventOf(event, ':')))
        .map((event) => ({ event, isDelivered: false }))
      if (this.queue.length > 0) return
      this.hook.checkpoint = end
      if (this.parts.nowMs() - this.savedMs > IDLE_SAVE_MS) await this.save(null)
      if (!more)
        await waits.wait({
          views: this.views,
          after: end,
          untilMs: performance.now() + WAIT_MS,
          signal: this.signal,
          key: this.hook.id,
        })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'TokenExpired') throw error
      log.error('a hook is parked: changes behind its place may be missing', this.fields())
      await this.park('changes behind its place may be missing: they are no longer kept, or the database was restored')
    }
  }

  /** Delivers changes of the queue until `SAVE_MS` have passed, a delivery fails, or the queue ends. Then saves the position. */
  private async deliverBatch() {
    const failures: Outcome[] = []
    const running = new Map<string, Promise<void>>()
    // A failing receiver gets one delivery at a time.
    const isFailing = this.hook.attempts > 0
    const inFlightMax = isFailing ? 1 : IN_FLIGHT_MAX
    const untilMs = performance.now() + SAVE_MS
    let status: string | null = null
    for (const queued of this.queue) {
      if (queued.isDelivered) continue
      const row = `${queued.event.entity.table} ${queued.event.id}`
      while (running.size >= inFlightMax || running.has(row)) await Promise.race(running.values())
      const isEnough = running.size === 0 && status !== null && isFailing
      if (failures.length > 0 || this.signal.aborted || performance.now() > untilMs || isEnough) break
      const delivery = this.parts.deliver(this.hook, this.messageOf(queued.event), this.signal).then((outcome) => {
        running.delete(row)
        if (!outcome.isDelivered) return void failures.push(outcome)
        queued.isDelivered = true
        status = outcome.status
      })
      running.set(row, delivery)
    }
    await Promise.all(running.values())
    this.advance()
    // Aborted deliveries say nothing about the receiver, so they do not count as failures.
    const [failure] = this.signal.aborted ? [] : failures
    if (failure) await this.noteFailure(failure)
    else if (status !== null) await this.noteSuccess(status)
  }

  /** Moves the checkpoint forward: all changes up to it are delivered. */
  private advance() {
    const first = this.queue.findIndex(({ isDelivered }) => !isDelivered)
    const done = first === -1 ? this.queue.length : first
    const last = this.queue[done - 1]
    if (last) this.hook.checkpoint = readToken(last.event.token) as ChangesToken
    this.queue = this.queue.slice(done)
    if (this.queue.length === 0) this.hook.checkpoint = this.queueEnd
  }

  private async noteSuccess(status: string) {
    const { hook, parts } = this
    if (hook.attempts > 0) parts.log.info('deliveries to a hook arrive again', this.fields())
    hook.failingSinceMs = hook.nextAttemptMs = null
    hook.attempts = 0
    await this.save(status)
  }

  private async noteFailure({ status, isGone }: Outcome) {
    const { hook, parts } = this
    const { log, backOff } = parts
    const atMs = parts.nowMs()
    const lateMs = atMs - (hook.nextAttemptMs ?? atMs)
    hook.failingSinceMs = (hook.failingSinceMs ?? atMs) + (lateMs > NO_SERVER_MS_MIN ? lateMs : 0)
    hook.attempts++
    if (hook.attempts === 1) log.warn('deliveries to a hook fail, and are tried again', { ...this.fields(), status })
    if (isGone || atMs - hook.failingSinceMs >= backOff.parkAfterMs) {
      log.error('a hook is parked: its receiver has refused for too long', { ...this.fields(), status })
      return this.park(isGone ? 'its receiver has answered 410: it wants no more' : 'deliveries have failed for 3 days', status)
    }
    hook.nextAttemptMs = atMs + pauseAfter(hook.attempts, backOff, Math.random())
    await this.save(status)
  }

  private async park(reason: string, status: string | null = null) {
    this.hasEnded = true
    await this.save(status, reason)
  }

  private async save(status: string | null, parkedFor: string | null = null) {
    this.savedMs = this.parts.nowMs()
    // If nothing was saved, another process is the sender now, or an operator has changed the hook and a new run follows.
    if (!(await this.parts.session.save(this.hook, this.savedMs, status, parkedFor))) this.hasEnded = true
  }

  /** Waits until the next attempt is due. Returns false if the run was stopped. */
  private async pauseToAttempt(): Promise<boolean> {
    const { backOff, nowMs } = this.parts
    const { nextAttemptMs } = this.hook
    if (nextAttemptMs === null) return true
    // The time may come from a server whose clock was ahead, so the pause is limited.
    const ms = Math.max(0, Math.min(nextAttemptMs - nowMs(), backOff.maxMs))
    return setTimeout(ms, true, { signal: this.signal }).catch(() => false)
  }

  /**
   * Returns the message of a change. Its id is made of the hook and the change, so it is the same in each attempt of each
   * process.
   */
  private messageOf(event: ChangeEvent): Message {
    const { id, rights } = this.hook
    const show = (token: string) => (rights === null ? token : this.parts.tokens.seal(token))
    const head = `"type":"${eventOf(event, '.')}","timestamp":"${instantOf(event)}"`
    return { id: `msg_${id}_${show(event.token)}`, body: `{${head},"data":${eventText(event, false, show)}}` }
  }

  private fields() {
    const { id, url } = this.hook
    // The URL may be invalid, if someone wrote the row by hand.
    return { hook: id, host: URL.canParse(url) ? new URL(url).host : '' }
  }
}

/**
 * Back-off of a hook, in ms. `firstMs`: pause after the first failure. `maxMs`: longest pause. `parkAfterMs`: time of failures
 * after which the hook is parked.
 */
export const BACK_OFF = { firstMs: 5_000, maxMs: 15 * 60_000, parkAfterMs: 3 * 24 * 3_600_000 }
export type BackOff = typeof BACK_OFF

/**
 * Returns the pause before the next attempt, in ms. The pause doubles with each failure, and is shortened by a random amount of
 * up to a half. `random`: 0 to 1.
 */
export function pauseAfter(attempts: number, { firstMs, maxMs }: BackOff, random: number): number {
  const fullMs = Math.min(firstMs * 2 ** Math.min(attempts - 1, 30), maxMs)
  return Math.round(fullMs * (0.5 + random / 2))
}
