// Costly lists, for which the database reads or sorts whole tables: which ones they are, and their turns among each other.
import type { ApiError } from '../errors.ts'
import type { ListCost } from '../model/listCost.ts'
import { LruCache } from '../model/lruCache.ts'
import { FairSemaphore } from './fairSemaphore.ts'
import { LIST_COSTLY_MS_MIN, STATEMENT_MS_MAX } from './limits.ts'
import { retryLater } from './outcomes.ts'

/** Maximum costly lists at once, of all askers; of one asker one. The rest of the places is for lists that are soon found. */
const AT_ONCE_MAX = 2
const COSTLY_FOR_MS = 60_000
const KINDS_BYTES_MAX = 256 * 1024

/** Turns of costly lists, before those that all lists take at the connections: each keeps a processor of the database busy. */
export class CostlyLists {
  private readonly turns: FairSemaphore
  /** Until when lists count as costly since one took long, by their kind. */
  private readonly until = new LruCache<number>(KINDS_BYTES_MAX, (_, kind) => 64 + 2 * kind.length)
  /** Time that the last costly list took. */
  private lastMs = 0

  /** `places`: connections of all lists. */
  constructor(places: number) {
    this.turns = new FairSemaphore(Math.min(AT_ONCE_MAX, Math.max(1, places >> 1)), 1)
  }

  has({ isCostly, parentRow }: ListCost, kind: string): boolean {
    return (isCostly && parentRow === null) || performance.now() < (this.until.get(kind) ?? 0)
  }

  /** Resolves when the asker's turn has come, with what ends the turn. */
  take(keyId: string): Promise<() => void> {
    return this.turns.take(keyId)
  }

  waitingOf(keyId: string): number {
    return this.turns.waitingOf(keyId)
  }

  /** Runs a list that is wanted until `untilMs`. @throws ApiError 503 where it would probably be late: its work would be lost */
  async run<Result>(untilMs: number, read: () => Promise<Result>): Promise<Result> {
    const startMs = performance.now()
    if (untilMs - startMs < Math.min(2 * this.lastMs, STATEMENT_MS_MAX)) throw busyWithCostlyLists()
    try {
      return await read()
    } finally {
      this.lastMs = performance.now() - startMs
    }
  }

  /** Notes that a list of this kind took so long. */
  note(kind: string, ms: number): void {
    if (ms > LIST_COSTLY_MS_MIN) this.until.set(kind, performance.now() + COSTLY_FOR_MS)
  }
}

/** 503: the list waited too long for other costly ones. */
export function busyWithCostlyLists(): ApiError {
  const message =
    'Lists for which the database reads or sorts whole tables, as for [begins], [contains], sorts by several properties and summaries, are read one at a time for each key, and others came first. Send them one after the other; retry after the seconds in Retry-After.'
  return retryLater(message)
}
