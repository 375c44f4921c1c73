// Fair queues: connections are shared by keys, for lists and for writes.
import { LruCache } from '../model/lruCache.ts'

interface Party {
  /** Each gets what ends its turn. */
  readonly waiters: ((release: () => void) => void)[]
  running: number
}

/** Half-life of an asker's use: an asker that used much long ago may ask for much again. */
const HALF_LIFE_MS = 10_000
/** Maximum askers whose usage is remembered. */
const USAGES_MAX = 2_000

/**
 * Shares a few places among askers. A free place goes to the asker that has the fewest, and among those to the one that
 * has used places for the least time of late. The last free place is kept for an asker that has none yet.
 */
export class Turns {
  private readonly parties = new Map<string, Party>()
  /** Use of each asker, halved each `HALF_LIFE_MS`. */
  private readonly usages = new LruCache<{ readonly ms: number; readonly atMs: number }>(USAGES_MAX, () => 1)
  private running = 0

  /** `ofOneMax`: maximum places of one asker at a time. */
  constructor(
    private readonly places: number,
    private readonly ofOneMax = places,
  ) {}

  /** Resolves when the asker's turn has come, with what ends the turn. */
  take(asker: string): Promise<() => void> {
    const party = this.parties.getOrInsertComputed(asker, () => ({ waiters: [], running: 0 }))
    const { promise, resolve } = Promise.withResolvers<() => void>()
    party.waiters.push(resolve)
    this.grant()
    return promise
  }

  waitingOf(asker: string): number {
    return this.parties.get(asker)?.waiters.length ?? 0
  }

  private grant(): void {
    for (let next = this.next(); next !== null; next = this.next()) this.start(...next)
  }

  private start(asker: string, party: Party): void {
    const begin = party.waiters.shift() as Party['waiters'][0]
    const startMs = performance.now()
    let isHeld = true
    party.running++
    this.running++
    begin(() => {
      if (!isHeld) return
      isHeld = false
      party.running--
      this.running--
      this.charge(asker, performance.now() - startMs)
      if (party.running === 0 && party.waiters.length === 0) this.parties.delete(asker)
      this.grant()
    })
  }

  /** The next asker; null: all places are taken, or none is left for askers that have one. */
  private next(): readonly [string, Party] | null {
    const free = this.places - this.running
    if (free <= 0) return null
    let best: readonly [string, Party] | null = null
    let bestMs = 0
    for (const entry of this.parties) {
      const [asker, party] = entry
      if (party.waiters.length === 0 || party.running >= this.ofOneMax) continue
      if (party.running > 0 && free === 1 && this.places > 1) continue
      const usedMs = this.usedMs(asker)
      const isBetter = best === null || party.running < best[1].running
      if (isBetter || (party.running === best?.[1].running && usedMs < bestMs)) [best, bestMs] = [entry, usedMs]
    }
    return best
  }

  private usedMs(asker: string): number {
    const usage = this.usages.get(asker)
    return usage === undefined ? 0 : usage.ms * 0.5 ** ((performance.now() - usage.atMs) / HALF_LIFE_MS)
  }

  private charge(asker: string, ms: number): void {
    this.usages.set(asker, { ms: this.usedMs(asker) + ms, atMs: performance.now() })
  }
}
