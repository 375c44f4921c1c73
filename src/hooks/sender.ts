// The sender of webhooks: one process among all servers is elected, and runs all hooks.
import { setTimeout } from 'node:timers/promises'
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { SealedTokens } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import type { AllowedTargets } from '../model/networks.ts'
import { Changes, ChangeWaits } from '../operations/changes.ts'
import { type DeliveryOptions, deliver } from './delivery.ts'
import { BACK_OFF, type BackOff, HookRun, type RunParts } from './hookRun.ts'
import { type Hook, type HookStates, Session } from './session.ts'

export interface SenderOptions {
  readonly allowed: AllowedTargets
  readonly log: Log
  readonly backOff?: BackOff
  readonly delivery?: Partial<DeliveryOptions>
  readonly pauses?: Partial<typeof PAUSES>
  nowMs?(): number
}

/**
 * Pauses in ms. `idleMs`: between checks whether there is an active hook. `electMs`: between attempts to get the lock.
 * `reloadMs`: between checks for changed hooks. `retryMs`: after an error.
 */
const PAUSES = { idleMs: 60_000, electMs: 2_000, reloadMs: 1_000, retryMs: 2_000 }

/**
 * Metrics of webhooks: the states of hooks, the number of deliveries of this process, and the age of the oldest waiting change.
 */
export interface HookMetrics {
  readonly states: HookStates
  readonly delivered: number
  readonly failed: number
  readonly lagMs: number
}

const TIMEOUT_MS = 10_000

/** Sends webhooks if this process holds the lock of the sender. If no hook is active, it looks for hooks once a minute. */
export class HookSender {
  private readonly stopping = new AbortController()
  private readonly pauses: typeof PAUSES
  private readonly ended: Promise<void>
  /** Controller whose abort ends the current pause. If there is no current pause, the next pause ends at once. */
  private waking = new AbortController()
  private isFailing = false
  private readonly runs = new Map<string, HookRun>()
  private states: HookStates = { active: 0, paused: 0, parked: 0 }
  private delivered = 0
  private failed = 0

  constructor(
    private readonly url: string,
    private readonly entities: readonly Entity[],
    private readonly options: SenderOptions,
  ) {
    this.pauses = { ...PAUSES, ...options.pauses }
    this.ended = this.run()
  }

  /** Checks the hooks now; an operator may have changed them. */
  wake(): void {
    this.waking.abort()
  }

  /** Aborts the deliveries in flight; the next sender repeats them. */
  async stop(): Promise<void> {
    this.stopping.abort()
    this.waking.abort()
    await this.ended
  }

  get metrics(): HookMetrics {
    const { states, delivered, failed } = this
    const nowMs = (this.options.nowMs ?? Date.now)()
    const lags = [...this.runs.values()].map(({ waitingSinceMs }) => nowMs - (waitingSinceMs ?? nowMs))
    return { states, delivered, failed, lagMs: Math.max(0, ...lags) }
  }

  private get isStopping() {
    return this.stopping.signal.aborted
  }

  private async run() {
    const { idleMs, retryMs } = this.pauses
    while (!this.isStopping) {
      try {
        await this.electAndSend()
        await this.pause(idleMs)
      } catch (error) {
        const { log } = this.options
        if (!this.isFailing && !this.isStopping)
          log.warn('webhooks wait: the sender cannot use the database', { reason: errorOf(error).message })
        this.isFailing = true
        await this.pause(retryMs)
      }
    }
  }

  /** Waits for the lock, then sends until no hook is active. @throws Error if the connection is lost */
  private async electAndSend() {
    const session = await Session.open(this.url)
    try {
      while (!this.isStopping) {
        const role = await session.elect()
        this.states = await session.states()
        this.isFailing = false
        if (role === 'none') return
        if (role === 'sender') return await this.send(session)
        await this.pause(this.pauses.electMs)
      }
    } finally {
      await session.end()
    }
  }

  private async send(session: Session) {
    const { log } = this.options
    const failed = Promise.withResolvers<never>()
    failed.promise.catch(() => undefined)
    session.lost.addEventListener('abort', () => failed.reject(new Error('the connection was lost')))
    log.info('this server posts the webhooks')
    const parts = this.partsOf(session, await session.secret())
    try {
      while (!this.isStopping) {
        const hooks = await session.hooks()
        this.states = await session.states()
        if (hooks.length === 0) return
        await this.syncRuns(hooks, parts, failed.reject)
        await Promise.race([this.pause(this.pauses.reloadMs), failed.promise])
      }
    } finally {
      await this.syncRuns([], parts, failed.reject)
    }
  }

  private partsOf(session: Session, secret: string): RunParts {
    const { entities, options } = this
    const { log, allowed, backOff = BACK_OFF, nowMs = Date.now } = options
    const waits = new ChangeWaits(entities, session, { isDraining: () => session.lost.aborted })
    const changes = new Changes(session)
    const delivery = { timeoutMs: TIMEOUT_MS, ...options.delivery, allowed }
    return {
      entities,
      changes,
      tokens: new SealedTokens(() => secret),
      waits,
      session,
      log,
      backOff,
      nowMs,
      deliver: async (hook, message, signal) => {
        const outcome = await deliver(hook, message, signal, delivery)
        if (outcome.isDelivered) this.delivered++
        // Aborted deliveries say nothing about the receiver, so they do not count as failures.
        else if (!signal.aborted) this.failed++
        return outcome
      },
    }
  }

  private async pause(ms: number): Promise<void> {
    if (this.isStopping) return
    await setTimeout(ms, undefined, { signal: this.waking.signal }).catch(() => undefined)
    if (this.waking.signal.aborted) this.waking = new AbortController()
  }

  /** Stops the runs of hooks that were removed or changed, and starts the runs of new or changed hooks. */
  private async syncRuns(hooks: readonly Hook[], parts: RunParts, onFault: (error: Error) => void) {
    const { runs } = this
    const current = new Map(hooks.map((hook) => [hook.id, hook.revision]))
    const over = [...runs.values()].filter(({ hook }) => current.get(hook.id) !== hook.revision)
    // A hook has one run at a time; two would deliver changes of one row out of order.
    await Promise.all(over.map((run) => run.stop()))
    for (const { hook } of over) runs.delete(hook.id)
    for (const hook of hooks.filter(({ id }) => !runs.has(id))) {
      const run = new HookRun(hook, parts)
      run.ended.catch(onFault)
      runs.set(hook.id, run)
    }
  }
}
