// Parts of a process: started in their order, stopped in the reverse order.
import type { Log } from '../log.ts'
import { withDeadline } from '../os/time.ts'

/** A part of a process, such as a pool of connections or a listener. */
export interface Part {
  readonly name: string
  /** The next part starts when this has resolved. */
  start?(): Promise<void> | void
  /** Called once, even if `start` has failed or has not ended. The part before stops when this has resolved. */
  stop?(): Promise<void> | void
  /** Time in ms after which the parts before stop without waiting for this one; not there: it bounds itself. */
  readonly stopMsMax?: number
}

/** The parts of one process that have begun to start. */
export class Parts {
  private readonly begun: Part[] = []
  private stopping: Promise<void> | null = null

  constructor(private readonly log: Log) {}

  get isStopping(): boolean {
    return this.stopping !== null
  }

  /** Starts parts one after the other; none after `stop` was called. @throws as a `start` does, with the later ones not begun */
  async start(parts: readonly Part[]): Promise<void> {
    for (const part of parts) {
      if (this.isStopping) return
      this.begun.push(part)
      await part.start?.()
    }
  }

  /** Stops what has begun, the last first. A part that fails to stop holds up no other. Further calls wait for the first. */
  stop(): Promise<void> {
    this.stopping ??= this.stopAll()
    return this.stopping
  }

  private async stopAll(): Promise<void> {
    for (let part = this.begun.pop(); part !== undefined; part = this.begun.pop()) {
      try {
        await stopOne(part)
      } catch (error) {
        this.log.error('a part of the server did not stop cleanly', { part: part.name, error: String(error) })
      }
    }
  }
}

async function stopOne({ stop, stopMsMax }: Part): Promise<void> {
  const stopped = Promise.resolve(stop?.())
  await (stopMsMax === undefined ? stopped : withDeadline(stopped, stopMsMax, () => undefined))
}
