// Keeps the keys in memory equal to the keys in the database.
import type { KeyRecord, KeySource } from '../model/key.ts'
import { monotonicMs } from '../os/time.ts'

/** Age of the last confirmation of the keys at which a request starts the next confirmation, but does not wait for it. D34 */
const ASK_MS = 500
/** Age of the last confirmation of the keys at which requests wait for the next confirmation. D34 */
const WAIT_MS = 1_000
/**
 * Interval at which all keys are read even if their version is unchanged, because an operator may have changed the table by hand.
 */
const RELOAD_MS = 60_000
/** Maximum age of the last confirmation while the keys cannot be read. If it is older, requests are refused. */
const CONFIRMED_MS_MAX = 5_000

export type Outage = 'away' | 'refused'

/** Confirms the keys while requests use them, and at once when a request has an unknown key. */
export class KeyRefresh {
  /**
   * `last`: the newest refresh that was requested. `next`: the refresh that has not begun, which all callers share until it
   * begins.
   */
  private last: Promise<void> = Promise.resolve()
  private next: Promise<void> | null = null
  private version: string | null = null
  private loadedMs = Number.NEGATIVE_INFINITY
  /** Time when the keys were last known to be right, or the database last gave no answer at all. */
  private trustedMs = Number.NEGATIVE_INFINITY
  private readonly outages = new Set<Outage>()
  private confirming: Promise<boolean> | null = null

  constructor(
    private readonly source: KeySource,
    private readonly events: {
      /** Called with all valid keys after each change. Resolves with false if it must be called again at the next refresh. */
      onKeys(keys: readonly KeyRecord[]): Promise<boolean>
      /** Called once for each kind of outage: `away` if the database gives no answer at all, else `refused`. */
      onError(kind: Outage, error: unknown): void
      /** Called when the keys can be read again. `kind`: `away` if the database gave no answer at all. */
      onBack(kind: Outage): void
    },
  ) {}

  /**
   * Resolves when the keys are as the database had them at the time of this call, or later. Rejects if the database does not
   * answer.
   */
  refresh(): Promise<void> {
    if (this.next !== null) return this.next
    const begin = () => {
      this.next = null
      return this.readKeys()
    }
    this.next = this.last = this.last.then(begin, begin)
    return this.next
  }

  /**
   * Returns whether the keys may be used: they were confirmed within the last second or are confirmed now, or the database gives
   * no answer at all. If the database refuses to be read, they may be used for `CONFIRMED_MS_MAX` after the last confirmation.
   */
  confirm(): boolean | Promise<boolean> {
    const ageMs = monotonicMs() - this.trustedMs
    if (ageMs < ASK_MS) return true
    this.confirming ??= this.refresh()
      .then(() => true)
      .catch(() => monotonicMs() - this.trustedMs < CONFIRMED_MS_MAX)
      .finally(() => (this.confirming = null))
    return ageMs < WAIT_MS || this.confirming
  }

  private async readKeys(): Promise<void> {
    const nowMs = monotonicMs()
    try {
      // The version is read before the keys, so that a change between the two is read twice, never missed.
      const version = await this.source.version()
      if (version !== this.version || nowMs - this.loadedMs >= RELOAD_MS) {
        const areTaken = await this.events.onKeys(await this.source.current())
        this.version = areTaken ? version : null
        this.loadedMs = nowMs
      }
      this.trustedMs = nowMs
    } catch (error) {
      const kind = this.source.isAway(error) ? 'away' : 'refused'
      if (kind === 'away') this.trustedMs = nowMs
      this.noteOutage(kind, error)
      throw error
    }
    if (this.outages.size === 0) return
    this.events.onBack(this.outages.has('away') ? 'away' : 'refused')
    this.outages.clear()
  }

  private noteOutage(kind: Outage, error: unknown) {
    // At the start, the supervisor logs that the server waits for the database, so nothing is reported here.
    const isWaiting = kind === 'away' && this.loadedMs === Number.NEGATIVE_INFINITY
    if (isWaiting || this.outages.has(kind)) return
    this.outages.add(kind)
    this.events.onError(kind, error)
  }
}
