// A fair semaphore: API keys share connections, for lists and for writes.
import { LruCache } from '../model/lruCache.ts'

interface Waiters {
  /** Each gets what ends its turn. */
  readonly queue: ((release: () => void) => void)[]
  running: number
}

/** Half-life of a key's use: a key that used much long ago may ask for much again. */
const HALF_LIFE_MS = 10_000
/** Maximum keys whose usage is remembered. */
const USAGES_MAX = 2_000

/**
 * Shares a few places among keys. A free place goes to the key that has the fewest, and among those to the one that
 * has used places for the least time of late. The last free place is kept for a key that has none yet.
 */
export class FairSemaphore {
  private readonly waitersOf = new Map<string, Waiters>()
  /** Use of each key, halved each `HALF_LIFE_MS`. */
  private readonly usages = new LruCache<{ readonly ms: number; readonly atMs: number }>(USAGES_MAX, () => 1)
  private running = 0

  /** `perKeyMax`: maximum places of one key at a time. */
  constructor(
    private readonly places: number,
    private readonly perKeyMax = places,
  ) {}

  /** Resolves when the key's turn has come, with what ends the turn. */
  take(keyId: string): Promise<() => void> {
    const waiters = this.waitersOf.getOrInsertComputed(keyId, () => ({ queue: [], running: 0 }))
    const { promise, resolve } = Promise.withResolvers<() => void>()
    waiters.queue.push(resolve)
    this.grant()
    return promise
  }

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

  /** The next key; null: all places are taken, or none is left for keys that have one. */
  private next(): readonly [string, Waiters] | null {
    const free = this.places - this.running
    if (free <= 0) return null
    let best: readonly [string, Waiters] | null = null
    let bestMs = 0
    for (const entry of this.waitersOf) {
      const [keyId, waiters] = entry
      if (waiters.queue.length === 0 || waiters.running >= this.perKeyMax) continue
      if (waiters.running > 0 && free === 1 && this.places > 1) continue
      const usedMs = this.usedMs(keyId)
      const isBetter = best === null || waiters.running < best[1].running
      if (isBetter || (waiters.running === best?.[1].running && usedMs < bestMs)) [best, bestMs] = [entry, usedMs]
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
