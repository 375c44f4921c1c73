import { monotonicMs } from '../os/clock.ts'
import type { Region } from '../os/region.ts'
import { hasReached, isFed, isLeasedSince } from './log.ts'
import type { ChangeSubscriber } from './subscriber.ts'

const LOOK_MS = 2
/** So many transactions are known by themselves; a power of two. */
const KNOWN_MAX = 4_096

/** Which writes lists from memory include, whoever wrote. D54 */
export class Inclusion {
  private readonly known = new Float64Array(KNOWN_MAX)
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

  /** Whether they include this write, which was answered. False: it is not known. */
  has(transaction: number): boolean {
    // Without them a failover may have lost it.
    if (!this.isLive) return false
    if (this.generation !== this.subscriber.generation) this.forget()
    if (transaction < this.before || this.subscriber.hasPublished(transaction)) return true
    return this.known[transaction & (KNOWN_MAX - 1)] === transaction
  }

  /**
   * Waits until they include all that the database's log had at its `end`, and all that was answered before `sinceMs`, when the end
   * was known. False: not by `untilMs`.
   */
  async reaches(end: bigint, sinceMs: number, untilMs: number): Promise<boolean> {
    while (this.isLive) {
      if (isFed(this.region) ? hasReached(this.region, end) : isLeasedSince(this.region, sinceMs)) return true
      if (monotonicMs() > untilMs) return false
      await Bun.sleep(LOOK_MS)
    }
    return false
  }

  /** Resolves once they include all that the database has shown by now. There are none from memory once the lease has run out. */
  async settled(): Promise<void> {
    const nowMs = monotonicMs()
    while (this.isLive && !isLeasedSince(this.region, nowMs)) await Bun.sleep(LOOK_MS)
  }

  /** The same for transactions before this one. All before `ended`, which is none earlier, had ended before this was asked for. */
  async settledBefore(transaction: number, ended: number): Promise<void> {
    if (this.isLive && this.generation === this.subscriber.generation && transaction <= this.before) return
    const generation = this.now
    await this.settled()
    if (this.subscriber.isLive) this.learn([], ended, generation)
  }

  /** The database shows these writes, and the end of all before `oldest`, and what it shows is included since `generation`. */
  learn(transactions: readonly number[], oldest: number, generation: number): void {
    if (generation !== this.subscriber.generation) return
    if (this.generation !== generation) this.forget()
    for (const transaction of transactions) this.known[transaction & (KNOWN_MAX - 1)] = transaction
    this.before = Math.max(this.before, oldest)
  }

  /** Another once nothing is known any more. */
  get now(): number {
    return this.subscriber.generation
  }

  private forget() {
    this.generation = this.subscriber.generation
    this.known.fill(0)
    this.before = 0
  }
}
