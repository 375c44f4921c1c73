// Parts of a process: started in order, stopped in the reverse order.
import type { Log } from '../log.ts'
import { withDeadline } from '../os/time.ts'

/** A part of a process with a start and a stop, such as a connection pool or a listener. */
export interface Part {
  readonly name: string
  /** Starts the part. The next part starts after this promise has resolved. */
  start?(): Promise<void> | void
  /**
   * Stops the part; called once, even if `start` has failed or has not ended. The previous part stops after this promise has
   * resolved.
   */
  stop?(): Promise<void> | void
  /** Maximum wait for `stop`, in ms; undefined if `stop` limits its time itself. */
  readonly stopMsMax?: number
}

/** Starts the parts of a process in order, and stops the started parts in the reverse order. */
export class Parts {
  private readonly started: Part[] = []
  private stopping: Promise<void> | null = null

  constructor(private readonly log: Log) {}

  get isStopping(): boolean {
    return this.stopping !== null
  }

  /**
   * Starts parts one after the other, until `stop` is called. @throws errors of a `start`; the later parts are not started then
   */
  async start(parts: readonly Part[]): Promise<void> {
    for (const part of parts) {
      if (this.isStopping) return
      this.started.push(part)
      await part.start?.()
    }
  }

  /**
   * Stops the started parts in reverse order. If a part fails to stop, the other parts are stopped all the same. Further calls
   * wait for the first call.
   */
  stop(): Promise<void> {
    this.stopping ??= this.stopAll()
    return this.stopping
  }

  private async stopAll(): Promise<void> {
    for (let part = this.started.pop(); part !== undefined; part = this.started.pop()) {
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
