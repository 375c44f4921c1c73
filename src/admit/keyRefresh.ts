// Keeps the keys in memory as the database has them.
import type { KeyRecord, KeySource } from '../model/key.ts'
import { monotonicMs } from '../os/time.ts'

/** Age of the last confirmation at which a request has the keys confirmed again, and age from which it waits for that. D34 */
const ASK_MS = 500
const WAIT_MS = 1_000
/** All keys are read this often whatever the version says: an operator may have changed the table by hand. */
const RELOAD_MS = 60_000
/** Keys that cannot be read, and were last confirmed longer ago, let no request in. */
const CONFIRMED_MS_MAX = 5_000

/** Asks for changes while requests use keys, and at once for an unknown key. */
export class KeyRefresh {
  /** The last look that was asked for, and the one that has not begun, which all who come meanwhile share. */
  private last: Promise<void> = Promise.resolve()
  private next: Promise<void> | null = null
  private version: string | null = null
  private loadedMs = Number.NEGATIVE_INFINITY
  /** When the keys were last known to be right, or the database last answered nothing at all. */
  private trustedMs = Number.NEGATIVE_INFINITY
  private hasFailed = false
  private confirming: Promise<boolean> | null = null

  constructor(
    private readonly source: KeySource,
    private readonly events: {
      /** Takes all valid keys, after each change. False: it wants them again in the next look. */
      onKeys(keys: readonly KeyRecord[]): Promise<boolean>
      /** The keys cannot be read although the database answers; called once until they can. */
      onError(error: unknown): void
    },
  ) {}

  /** Resolves when the keys are those that the database had when this was called, or later. Rejects where it does not answer. */
  refresh(): Promise<void> {
    if (this.next !== null) return this.next
    const begin = () => {
      this.next = null
      return this.look()
    }
    this.next = this.last = this.last.then(begin, begin)
    return this.next
  }

  /** Returns whether the keys may be used: they were right within the last second, or the database answers nothing at all. */
  confirm(): boolean | Promise<boolean> {
    const ageMs = monotonicMs() - this.trustedMs
    if (ageMs < ASK_MS) return true
    this.confirming ??= this.refresh()
      .then(() => true)
      .catch(() => monotonicMs() - this.trustedMs < CONFIRMED_MS_MAX)
      .finally(() => (this.confirming = null))
    return ageMs < WAIT_MS || this.confirming
  }

  private async look(): Promise<void> {
    const nowMs = monotonicMs()
    try {
      // The version before the keys: a change in between is read twice, never missed.
      const version = await this.source.version()
      if (version !== this.version || nowMs - this.loadedMs >= RELOAD_MS) {
        const isTaken = await this.events.onKeys(await this.source.current())
        this.version = isTaken ? version : null
        this.loadedMs = nowMs
      }
      this.trustedMs = nowMs
      this.hasFailed = false
    } catch (error) {
      if (this.source.isAway(error)) this.trustedMs = nowMs
      else if (!this.hasFailed) {
        this.hasFailed = true
        this.events.onError(error)
      }
      throw error
    }
  }
}
