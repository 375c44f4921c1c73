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

export type Outage = 'away' | 'refused'

/** Asks for changes while requests use keys, and at once for an unknown key. */
export class KeyRefresh {
  /** The last look that was asked for, and the one that has not begun, which all who come meanwhile share. */
  private last: Promise<void> = Promise.resolve()
  private next: Promise<void> | null = null
  private version: string | null = null
  private loadedMs = Number.NEGATIVE_INFINITY
  /** When the keys were last known to be right, or the database last answered nothing at all. */
  private trustedMs = Number.NEGATIVE_INFINITY
  private readonly outages = new Set<Outage>()
  private confirming: Promise<boolean> | null = null

  constructor(
    private readonly source: KeySource,
    private readonly events: {
      /** Takes all valid keys, after each change. False: it wants them again in the next look. */
      onKeys(keys: readonly KeyRecord[]): Promise<boolean>
      /** The keys cannot be read: `away` if the database answers nothing at all, else `refused`. Once for each kind. */
      onError(kind: Outage, error: unknown): void
      /** The keys can be read again; called after `onError`. `kind`: away if the database was. */
      onBack(kind: Outage): void
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
    // A server that waits for its database has said so.
    const isWaiting = kind === 'away' && this.loadedMs === Number.NEGATIVE_INFINITY
    if (isWaiting || this.outages.has(kind)) return
    this.outages.add(kind)
    this.events.onError(kind, error)
  }
}
