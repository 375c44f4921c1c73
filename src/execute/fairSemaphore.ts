// A fair semaphore: API keys share connections, for lists and for writes.
import { LruCache } from '../model/lruCache.ts'

/** Waiting and running uses of permits by one API key. */
interface Waiters {
  /** Functions that grant a permit to a waiting use. Each gets the function that gives the permit back. */
  readonly queue: ((release: () => void) => void)[]
  running: number
}

/** Half-life of a key's usage in ms: what a key used long ago does not count against it. */
const HALF_LIFE_MS = 10_000
/** Maximum number of API keys whose usage is remembered. */
const USAGES_MAX = 2_000

/**
 * Shares a few permits among API keys, such as permits to use a connection. A free permit goes to the waiting key that holds the
 * fewest permits. If several keys hold as few, it goes to the one that has recently held permits for the least time. The last
 * free permit is kept for a key that holds none.
 */
export class FairSemaphore {
  private readonly waitersOf = new Map<string, Waiters>()
  /** Time in ms for which each key has held permits, halved every `HALF_LIFE_MS`. */
  private readonly usages = new LruCache<{ readonly ms: number; readonly atMs: number }>(USAGES_MAX, () => 1)
  private running = 0

  /** `permits`: maximum number of uses at the same time. `perKeyMax`: maximum number of uses by one key at the same time. */
  constructor(
    private readonly permits: number,
    private readonly perKeyMax = permits,
  ) {}

  /** Resolves when the key has a permit, with the function that gives the permit back. */
  take(keyId: string): Promise<() => void> {
    const waiters = this.waitersOf.getOrInsertComputed(keyId, () => ({ queue: [], running: 0 }))
    const { promise, resolve } = Promise.withResolvers<() => void>()
    waiters.queue.push(resolve)
    this.grant()
    return promise
  }

  /** Returns the number of permits that the key waits for. */
  waitingOf(keyId: string): number {
    return this.waitersOf.get(keyId)?.queue.length ?? 0
  }

  private grant(): void {
    for (let next = this.next(); next !== null; next = this.next()) this.start(...next)
  }

  private start(keyId: string, waiters: Waiters): void {
    const begin = waiters.queue.shift() as Waiters['queue'][0]
    const startMs = performance.now()
    let isHeld = true
    waiters.running++
    this.running++
    begin(() => {
      if (!isHeld) return
      isHeld = false
      waiters.running--
      this.running--
      this.charge(keyId, performance.now() - startMs)
      if (waiters.running === 0 && waiters.queue.length === 0) this.waitersOf.delete(keyId)
      this.grant()
    })
  }

  /** Returns the key that gets the next permit; null if no waiting key may have one now. */
  private next(): readonly [string, Waiters] | null {
    const free = this.permits - this.running
    if (free <= 0) return null
    let best: readonly [string, Waiters] | null = null
    let bestMs = 0
    for (const entry of this.waitersOf) {
      const [keyId, waiters] = entry
      if (waiters.queue.length === 0 || waiters.running >= this.perKeyMax) continue
      if (waiters.running > 0 && free === 1 && this.permits > 1) continue
      const usedMs = this.usedMs(keyId)
      const isBetter = best === null || waiters.running < best[1].running
      if (isBetter || (waiters.running === best?.[1].running && usedMs < bestMs)) {
        best = entry
        bestMs = usedMs
      }
    }
    return best
  }

  private usedMs(keyId: string): number {
    const usage = this.usages.get(keyId)
    return usage === undefined ? 0 : usage.ms * 0.5 ** ((performance.now() - usage.atMs) / HALF_LIFE_MS)
  }

  private charge(keyId: string, ms: number): void {
    this.usages.set(keyId, { ms: this.usedMs(keyId) + ms, atMs: performance.now() })
  }
}
