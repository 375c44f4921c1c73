// Fair queues: connections are shared by keys, for lists and for writes.
import { LruCache } from '../model/lruCache.ts'
import type { Sending } from './execution.ts'
import { busyWithWrites } from './outcomes.ts'

type Begin = (release: () => void) => void

interface Party {
  readonly waiters: Begin[]
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

  constructor(private readonly places: number) {}

  /** Calls `begin` when the asker's turn has come, at once if there is a place; `release` ends the turn. */
  take(asker: string, begin: Begin): void {
    let party = this.parties.get(asker)
    if (!party) this.parties.set(asker, (party = { waiters: [], running: 0 }))
    party.waiters.push(begin)
    this.grant()
  }

  /** How many wait, of one asker or of all. */
  waiting(asker?: string): number {
    if (asker !== undefined) return this.parties.get(asker)?.waiters.length ?? 0
    let count = 0
    for (const { waiters } of this.parties.values()) count += waiters.length
    return count
  }

  private grant(): void {
    for (let next = this.next(); next !== null; next = this.next()) this.start(...next)
  }

  private start(asker: string, party: Party): void {
    const begin = party.waiters.shift() as Begin
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
      if (party.waiters.length === 0) continue
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

/** Connections on which no write waits for a lock: reads by id, readiness and keys have these. */
const READS_MIN = 2
/** Writes that wait for a turn, of one key and of all; further ones are refused at once. */
const WAITING_OF_ONE_MAX = 200
const WAITING_MAX = 600
/** Between attempts: at random, so that two writes do not meet again. */
const PAUSE_MS = 40

/** The turns of writes at a pool's connections: a key that writes what is locked holds up its own writes alone. */
export class WriteTurns {
  private readonly turns: Turns

  constructor(poolSize: number) {
    this.turns = new Turns(Math.max(1, poolSize - READS_MIN))
  }

  /** @throws ApiError ServiceUnavailable where too many wait already */
  requireRoom(asker: string): void {
    const { turns } = this
    if (turns.waiting(asker) >= WAITING_OF_ONE_MAX || turns.waiting() >= WAITING_MAX) throw busyWithWrites()
  }

  /** Resolves with what ends the turn when the write may take a connection. */
  async take(asker: string, sending: Sending): Promise<() => void> {
    sending.isWaiting = true
    const release = await new Promise<() => void>((resolve) => this.turns.take(asker, resolve))
    sending.isWaiting = false
    return release
  }

  /** Waits without a connection for a lock, or a connection, that was not there in time. */
  async pause(sending: Sending | null): Promise<void> {
    if (sending) sending.isWaiting = true
    await Bun.sleep(PAUSE_MS * (0.5 + Math.random()))
  }
}
