import { monotonicMs } from '../os/clock.ts'
import type { Region } from '../os/region.ts'
import { isLeasedSince } from './log.ts'
import type { ChangeSubscriber } from './subscriber.ts'

const LOOK_MS = 2

/** Waits until lists from memory include what the database has shown, whoever wrote it. */
export class Inclusion {
  /** All transactions before this one that have ended are included. */
  private before = 0
  private generation = 0

  constructor(
    private readonly subscriber: ChangeSubscriber,
    private readonly region: Region,
  ) {}

  /** Whether there are lists from memory at all, as far as writes of others are concerned. */
  get isLive(): boolean {
    this.subscriber.catchUp()
    return this.subscriber.isLive
  }

  /** Resolves once they include all that the database has shown by now. There are none from memory once the lease has run out. */
  async settled(): Promise<void> {
    const nowMs = monotonicMs()
    while (this.isLive && !isLeasedSince(this.region, nowMs)) await Bun.sleep(LOOK_MS)
  }

  /** The same for transactions before this one. All before `ended`, which is none earlier, had ended before this was asked for. */
  async settledBefore(transaction: number, ended: number): Promise<void> {
    if (this.isLive && this.generation === this.subscriber.generation && transaction <= this.before) return
    const { generation } = this.subscriber
    await this.settled()
    if (!this.subscriber.isLive || generation !== this.subscriber.generation) return
    this.before = this.generation === generation ? Math.max(this.before, ended) : ended
    this.generation = generation
  }
}
