// Rate limiters of one process, over tables in shared memory.
import type { KeyRecord } from '../model/key.ts'
import type { Rule } from '../model/limits.ts'
import { openRegion, type Region, USER_WORD } from '../os/region.ts'
import { monotonicMs } from '../os/time.ts'
import type { Key } from './keyring.ts'
import { Limiter, type SharedStore } from './limiter.ts'
import { anonymousClients, type LimiterSettings, type LimiterTables, ownTableOf, rulesOf } from './limiterFiles.ts'
import { SlidingWindows } from './window.ts'

/** Slots that an address may have. It is small, so that a flood of addresses stays cheap. */
const ANONYMOUS_PROBE_MAX = 64

/** One limiter for keys, one for addresses, and one for each key with its own limits. */
export class Limiters {
  private readonly region: Region
  /** The limiter of keys without their own limits. */
  readonly keys: Limiter
  readonly anonymous: Limiter
  private readonly own = new Map<string, { serial: number; limiter: Limiter; region: Region }>()

  constructor(
    { rateLimits, rateLimitsAnonymous, rateLimitClients }: LimiterSettings,
    memory: LimiterTables,
    private readonly store: SharedStore | null,
  ) {
    this.region = openRegion(memory.keys)
    this.keys = this.create(this.region, rateLimitClients, rateLimits)
    const addresses = anonymousClients(rateLimitsAnonymous)
    this.anonymous = this.create(openRegion(memory.anonymous), addresses, rateLimitsAnonymous, 'address')
  }

  /** Opens tables of keys with their own limits, and closes the tables that are no longer in `own`. */
  update(own: LimiterTables['own']): void {
    for (const [name, { serial, region }] of this.own) {
      if (own.get(name)?.serial === serial) continue
      this.own.delete(name)
      region.close()
    }
    for (const [name, { path, serial }] of own) {
      if (this.own.has(name)) continue
      const region = openRegion(path)
      this.own.set(name, { serial, region, limiter: this.create(region, 1, rulesOf(name)) })
    }
  }

  /** True if the table of the key's own limits is open, or it has none. */
  hasTableOf(key: KeyRecord): boolean {
    const table = ownTableOf(key)
    return table === null || this.own.has(table)
  }

  /** Returns the limiter that charges requests with this key. */
  of({ ownTable }: Key): Limiter {
    return (ownTable === null ? undefined : this.own.get(ownTable)?.limiter) ?? this.keys
  }

  /** Records whether the store is away. True in the first process that notices the change, which then logs it. */
  noteStore(isAway: boolean): boolean {
    return Atomics.exchange(this.region.words, USER_WORD, Number(isAway)) !== Number(isAway)
  }

  private create(region: Region, clients: number, rules: readonly Rule[], charged: 'key' | 'address' = 'key'): Limiter {
    const probeMax = charged === 'key' ? clients : ANONYMOUS_PROBE_MAX
    return new Limiter(new SlidingWindows(region, clients, rules, monotonicMs, probeMax), rules, this.store, charged)
  }
}
