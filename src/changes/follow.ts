import { withDeadline } from '../os/deadline.ts'
import type { Copy, Stranger } from './catalog.ts'
import type { Ask } from './listenerStatements.ts'
import { Pauses } from './pauses.ts'

const PULSE_MS = 50
/** A late pulse only lets the lease run out; the connection is given up later, since every cache is dropped with it. */
const PULSE_MS_MAX = 3_000
const LEAVE_MS_MAX = 500
/** At rest: between looks whether the log is needed, should a call of `wake` get lost; and between pulses. */
const REST_MS = 1_000
const REST_MS_MAX = 5_000

/** What is to be done with what is learnt of writes from outside this machine, whatever way it comes. */
export interface FollowHandlers {
  /** A name that no other start of a server has; its own writes carry it. */
  readonly machine: string
  readonly tables: readonly string[]
  /** Which of their columns change with a column of another table. */
  readonly copies: readonly Copy[]
  /** Before the first pulse: what changes rows without notice. */
  onStrangers(strangers: readonly Stranger[]): void
  /** Writes are known from now on; what was cached before must be dropped. Called again where one may have been missed. */
  onBegin(): void
  /** All writes committed up to `untilMs` of the monotonic clock are known, but for the last moments. */
  onPulse(untilMs: number): void
  /** Writes are not known until `onBegin`, which needs an operator where `needsOperator` says so. */
  onEnd(reason: string, needsOperator?: boolean): void
  /** False: no process needs the change log at the moment, so a pulse every five seconds will do. Default: true. */
  isWanted?(): boolean
  /** Before each pulse, live or not. */
  attend(ask: Ask): Promise<void>
}

/** A connection by which writes of others are known. It is replaced as a whole once it was of no use. */
export interface FollowConnection {
  /** Whether all writes are known by it at the moment. */
  readonly isLive: boolean
  /** Makes it live, and renews the lease. @throws Error when the connection is of no use any more */
  pulse(): Promise<void>
  /** The server ends. */
  leave(): Promise<void>
  close(reason: string): void
}

export interface Following {
  /** The change log is needed again: ends a rest. */
  wake(): void
  stop(): Promise<void>
}

/** Follows every write to the database from outside this machine; connects again and again. */
export function follow(open: () => FollowConnection, handlers: Pick<FollowHandlers, 'isWanted'>): Following {
  const pauses = new Pauses()
  let isStopped = false
  let connection = open()
  let wake = () => {}
  /** Ends a rest, and no other pause: a refused connection is not tried again sooner. */
  let endRest = () => {}

  async function beat() {
    while (!isStopped) {
      await pause(await tryPulse())
      await rest()
    }
  }

  /** How long to wait for the next one. */
  async function tryPulse(): Promise<number> {
    try {
      await withDeadline(connection.pulse(), PULSE_MS_MAX, () => {
        throw new Error('the listener timed out')
      })
      if (!connection.isLive) return pauses.after(null)
      pauses.reset()
      return PULSE_MS
    } catch (error) {
      connection.close((error as Error).message)
      if (!isStopped) connection = open()
      return pauses.after(error)
    }
  }

  /**
   * Most servers wait for requests most of the time, and a pulse costs here and in PostgreSQL. Writes of others arrive at
   * once all the same, and the lease has run out until the next pulse.
   */
  async function rest() {
    const untilMs = performance.now() + REST_MS_MAX
    const isIdle = () => !isStopped && connection.isLive && handlers.isWanted?.() === false
    while (isIdle() && performance.now() < untilMs) {
      const resting = pause(REST_MS)
      endRest = wake
      await resting
    }
    endRest = () => {}
  }

  async function pause(ms: number) {
    if (isStopped) return
    await new Promise<void>((resolve) => {
      wake = resolve
      setTimeout(resolve, ms)
    })
  }

  const ended = beat()
  return {
    wake: () => endRest(),
    async stop() {
      isStopped = true
      wake()
      await ended
      // Other machines need not notify one that has gone. Where this fails, they find out by themselves.
      await Promise.race([connection.leave().catch(() => undefined), Bun.sleep(LEAVE_MS_MAX)])
      connection.close('stopped')
    },
  }
}
