import { withDeadline } from '../os/deadline.ts'
import { type ChangeHandlers, ListenerConnection } from './listenerConnection.ts'
import { Pauses } from './pauses.ts'

const PULSE_MS = 50
/** A late pulse only lets the lease run out; the connection is given up later, since every cache is dropped with it. */
const PULSE_MS_MAX = 3_000
const LEAVE_MS_MAX = 500
/** At rest: between looks whether the log is needed, should a call of `wake` get lost; and between pulses. */
const REST_MS = 1_000
const REST_MS_MAX = 5_000

export interface Listening {
  /** The change log is needed again: ends a rest. */
  wake(): void
  stop(): Promise<void>
}

/** Follows every write to the database from outside this machine; connects again and again. */
export function listenForChanges(url: string, handlers: ChangeHandlers): Listening {
  const pauses = new Pauses()
  let isStopped = false
  let connection = new ListenerConnection(url, handlers)
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
      if (!isStopped) connection = new ListenerConnection(url, handlers)
      return pauses.after(error)
    }
  }

  /**
   * Most servers wait for requests most of the time, and a pulse costs here and in PostgreSQL. Notifications arrive at once
   * all the same, and the lease has run out until the next pulse.
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
