// One hook: reads its changes, delivers them, and tries again what failed.
import { setTimeout } from 'node:timers/promises'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import { type ChangesToken, readToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import type { Changes, ChangeWaits } from '../operations/changes.ts'
import { withDeadline } from '../os/time.ts'
import { type ChangeLine, eventOf, instantOf, lineText } from '../respond/changes.ts'
import type { Message, Outcome } from './delivery.ts'
import { entitiesOf, wantsEvent } from './events.ts'
import type { Hook, Session } from './session.ts'

export interface RunParts {
  readonly entities: readonly Entity[]
  readonly changes: Pick<Changes, 'pageAfter'>
  readonly waits: Pick<ChangeWaits, 'wait'>
  readonly session: Pick<Session, 'save'>
  readonly log: Log
  readonly backOff: BackOff
  deliver(hook: Hook, message: Message, signal: AbortSignal): Promise<Outcome>
  nowMs(): number
}

const PAGE_LINES = 100
/** Deliveries of one hook in flight, of different rows. */
const IN_FLIGHT_MAX = 4
/** Interval at which the position is saved while deliveries go on: what came behind it is sent again by the next sender. */
const SAVE_MS = 1_000
/** Interval at which the position is saved without deliveries, so that it never grows older than the lines that are kept. */
const IDLE_SAVE_MS = 3_600_000
/** Maximum time for saving the position when a sender stops. */
const LAST_SAVE_MS_MAX = 1_000
const IDLE_LOOK_MS = 60_000
/** An attempt that is later than this was late because no server ran: that time does not count as failing. */
const LATE_MS_MAX = 3_600_000

/** Delivers the changes that one hook is for, from its place on, until it is ended or the hook is parked. */
export class HookRun {
  /** Position once the queue is empty. */
  private end: ChangesToken
  private queue: { readonly line: ChangeLine; isDelivered: boolean }[] = []
  private savedMs: number
  private isOver = false
  private readonly wanted: readonly Entity[]
  private readonly ending = new AbortController()
  private readonly signal = this.ending.signal
  /** Rejects where the database is lost. */
  readonly ended: Promise<void>

  constructor(
    readonly hook: Hook,
    private readonly parts: RunParts,
  ) {
    this.end = hook.place
    this.savedMs = parts.nowMs()
    this.wanted = entitiesOf(hook.events, parts.entities)
    this.ended = this.run()
  }

  /** Cuts off what is in flight. */
  async stop(): Promise<void> {
    this.ending.abort()
    await this.ended.catch(() => undefined)
  }

  /** When the oldest change was written that the hook has not taken, of those that were read; null: there is none. */
  get waitingSinceMs(): number | null {
    const waiting = this.queue.find(({ isDelivered }) => !isDelivered)
    return waiting === undefined ? null : Date.parse(waiting.line.at)
  }

  private async run(): Promise<void> {
    while (!this.isOver && !this.signal.aborted && this.wanted.length > 0) {
      if (this.queue.length === 0) await this.readOn()
      else if (await this.pauseToAttempt()) await this.deliverSome()
    }
    // So that the next sender does not read again the events that this hook is not for.
    if (!this.isOver && this.queue.length === 0) await withDeadline(this.save(null), LAST_SAVE_MS_MAX, () => undefined)
  }

  /** Reads a page, or waits where there is none yet. */
  private async readOn() {
    const { changes, waits, log } = this.parts
    try {
      const { lines, end, more } = await changes.pageAfter(this.wanted, this.end, { pageSize: PAGE_LINES, hasRows: false })
      this.end = end
      this.queue = lines
        .filter((line) => wantsEvent(this.hook.events, eventOf(line, ':')))
        .map((line) => ({ line, isDelivered: false }))
      if (this.queue.length > 0) return
      this.hook.place = end
      if (this.parts.nowMs() - this.savedMs > IDLE_SAVE_MS) await this.save(null)
      if (!more)
        await waits.wait({
          ...{ entities: this.wanted, after: end, untilMs: performance.now() + IDLE_LOOK_MS },
          ...{ signal: this.signal, key: this.hook.id },
        })
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'TokenExpired') throw error
      log.error('a hook is parked: changes behind its place may be missing', this.fields())
      await this.park('changes behind its place may be missing: they are no longer kept, or the database was restored')
    }
  }

  /** Delivers from the queue for a while, or up to a failure, and writes down how far. */
  private async deliverSome() {
    const failures: Outcome[] = []
    const running = new Map<string, Promise<void>>()
    // While a receiver fails it is asked with one delivery alone.
    const isFailing = this.hook.attempts > 0
    const most = isFailing ? 1 : IN_FLIGHT_MAX
    const untilMs = performance.now() + SAVE_MS
    let status: string | null = null
    for (const queued of this.queue) {
      if (queued.isDelivered) continue
      const row = `${queued.line.entity.table} ${queued.line.id}`
      while (running.size >= most || running.has(row)) await Promise.race(running.values())
      const isEnough = running.size === 0 && status !== null && isFailing
      if (failures.length > 0 || this.signal.aborted || performance.now() > untilMs || isEnough) break
      const delivery = this.parts.deliver(this.hook, messageOf(this.hook, queued.line), this.signal).then((outcome) => {
        running.delete(row)
        if (!outcome.isDelivered) return void failures.push(outcome)
        queued.isDelivered = true
        status = outcome.status
      })
      running.set(row, delivery)
    }
    await Promise.all(running.values())
    this.goOn()
    // What is cut short by the end of the sender says nothing of the receiver.
    const [failure] = this.signal.aborted ? [] : failures
    if (failure) await this.noteFailure(failure)
    else if (status !== null) await this.noteSuccess(status)
  }

  /** Moves the place behind all that is delivered without a gap. */
  private goOn() {
    const first = this.queue.findIndex(({ isDelivered }) => !isDelivered)
    const done = first === -1 ? this.queue.length : first
    const last = this.queue[done - 1]
    if (last) this.hook.place = readToken(last.line.token) as ChangesToken
    this.queue = this.queue.slice(done)
    if (this.queue.length === 0) this.hook.place = this.end
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
    hook.failingSinceMs = (hook.failingSinceMs ?? atMs) + (lateMs > LATE_MS_MAX ? lateMs : 0)
    hook.attempts++
    if (hook.attempts === 1) log.warn('deliveries to a hook fail, and are tried again', { ...this.fields(), status })
    if (isGone || atMs - hook.failingSinceMs >= backOff.parkMs) {
      log.error('a hook is parked: its receiver has refused for too long', { ...this.fields(), status })
      return this.park(isGone ? 'its receiver has answered 410: it wants no more' : 'deliveries have failed for 3 days', status)
    }
    hook.nextAttemptMs = atMs + pauseAfter(hook.attempts, backOff, Math.random())
    await this.save(status)
  }

  private async park(reason: string, status: string | null = null) {
    this.isOver = true
    await this.save(status, reason)
  }

  private async save(status: string | null, parkedFor: string | null = null) {
    this.savedMs = this.parts.nowMs()
    // Another process sends by now, or an operator has changed the hook, and a new run follows.
    if (!(await this.parts.session.save(this.hook, this.savedMs, status, parkedFor))) this.isOver = true
  }

  /** Waits for the time of the next attempt. False: it is over. */
  private async pauseToAttempt(): Promise<boolean> {
    const { backOff, nowMs } = this.parts
    const { nextAttemptMs } = this.hook
    if (nextAttemptMs === null) return true
    // The time was written by another server, whose clock may have been ahead.
    const ms = Math.max(0, Math.min(nextAttemptMs - nowMs(), backOff.mostMs))
    return setTimeout(ms, true, { signal: this.signal }).catch(() => false)
  }

  private fields() {
    const { id, url } = this.hook
    // A row that was written by hand may have any text.
    return { hook: id, host: URL.canParse(url) ? new URL(url).host : '' }
  }
}

/** The id follows from the hook and the line, so that it is the same however often, and by whichever process, it is sent. */
function messageOf({ id }: Hook, line: ChangeLine): Message {
  const head = `"type":"${eventOf(line, '.')}","timestamp":"${instantOf(line)}"`
  return { id: `msg_${id}_${line.token}`, body: `{${head},"data":${lineText(line, false)}}` }
}

/** Pauses after the first failure, and at most; and how long deliveries of a hook may fail before it is parked. */
export const BACK_OFF = { firstMs: 5_000, mostMs: 15 * 60_000, parkMs: 3 * 24 * 3_600_000 }
export type BackOff = typeof BACK_OFF

/** Pause before the next attempt in ms: doubles with each failure, of which a random part from half to all. `random`: 0 to 1. */
export function pauseAfter(attempts: number, { firstMs, mostMs }: BackOff, random: number): number {
  const fullMs = Math.min(firstMs * 2 ** Math.min(attempts - 1, 30), mostMs)
  return Math.round(fullMs * (0.5 + random / 2))
}
