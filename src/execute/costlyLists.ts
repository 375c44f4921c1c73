// Costly lists, for which the database reads or sorts whole tables: which lists are costly, and how many run at the same time.
import type { ApiError } from '../errors.ts'
import type { ListCost } from '../model/listCost.ts'
import { LruCache } from '../model/lruCache.ts'
import { FairSemaphore } from './fairSemaphore.ts'
import { LIST_COSTLY_MS_MIN, STATEMENT_MS_MAX } from './limits.ts'
import { retryLater } from './outcomes.ts'

/** Maximum number of costly lists that run at the same time. It leaves connections to fast lists. */
const AT_ONCE_MAX = 2
/** Maximum number of costly lists of one API key that run at the same time. */
const AT_ONCE_PER_KEY_MAX = 1
/** Time in ms for which all lists of a kind count as costly after one of them took long. */
const COSTLY_FOR_MS = 60_000
/** Maximum estimated bytes of the cache of costly kinds. */
const KINDS_BYTES_MAX = 256 * 1024

/** Limits costly lists, since each keeps a processor of the database busy. They wait here before they wait for a connection. */
export class CostlyLists {
  private readonly semaphore: FairSemaphore
  /** Time by `performance.now()` until which all lists of a kind count as costly, because one of them took long. */
  private readonly until = new LruCache<number>(KINDS_BYTES_MAX, (_, kind) => 64 + 2 * kind.length)
  /** Time in ms that the last costly list took, as an estimate for the next one. */
  private lastMs = 0

  /** `connections`: number of connections that all lists share. */
  constructor(connections: number) {
    this.semaphore = new FairSemaphore(Math.min(AT_ONCE_MAX, Math.max(1, connections >> 1)), AT_ONCE_PER_KEY_MAX)
  }

  /** Returns whether a list is costly. `kind`: name of lists that are likely to cost the same. */
  has({ isCostly, parentRow }: ListCost, kind: string): boolean {
    return (isCostly && parentRow === null) || performance.now() < (this.until.get(kind) ?? 0)
  }

  /** Resolves when the API key may run a costly list, with the function to call when the list has ended. */
  take(keyId: string): Promise<() => void> {
    return this.semaphore.take(keyId)
  }

  waitingOf(keyId: string): number {
    return this.semaphore.waitingOf(keyId)
  }

  /** Runs a list whose clients wait until `untilMs`. @throws ApiError 503 if the list would probably not end in time */
  async run<Result>(untilMs: number, read: () => Promise<Result>): Promise<Result> {
    const startMs = performance.now()
    if (untilMs - startMs < Math.min(2 * this.lastMs, STATEMENT_MS_MAX)) throw busyWithCostlyLists()
    try {
      return await read()
    } finally {
      this.lastMs = performance.now() - startMs
    }
  }

  /** Notes the time that a list of this kind took. */
  note(kind: string, ms: number): void {
    if (ms > LIST_COSTLY_MS_MIN) this.until.set(kind, performance.now() + COSTLY_FOR_MS)
  }
}

/** Returns the error 503 of a costly list that waited too long for earlier ones. */
export function busyWithCostlyLists(): ApiError {
  const message =
    'Lists for which the database reads or sorts whole tables, as for [begins], [contains], sorts by several properties and summaries, are read one at a time for each key, and others came first. Send them one after the other; retry after the seconds in Retry-After.'
  return retryLater(message)
}
