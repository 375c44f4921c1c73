// The limiters of one process, over tables in shared memory.
import type { KeyRecord } from '../model/key.ts'
import type { Rule } from '../model/limits.ts'
import { OWN_WORD, openRegion, type Region } from '../os/region.ts'
import { monotonicMs } from '../os/time.ts'
import type { Key } from './keyring.ts'
import { Limiter, type SharedStore } from './limiter.ts'
import { anonymousClients, type LimiterSettings, type LimiterTables, ownTableOf, rulesOf } from './limiterFiles.ts'
import { SlidingWindows } from './window.ts'

/** Each address may have one of so few entries, since a flood of addresses must stay cheap. */
const ANONYMOUS_REACH = 64

/** One limiter for keys, one for addresses, and one for each key with limits of its own. */
export class Limiters {
  private readonly region: Region
  /** The limiter of keys without limits of their own. */
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

  /** Opens the tables of keys with limits of their own, and closes those of keys that have none any more. */
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

  /** Returns whether no limits of the key's own have to be opened first. */
  hasTableOf(key: KeyRecord): boolean {
    const table = ownTableOf(key)
    return table === null || this.own.has(table)
  }

  /** The limiter that charges requests with this key: its own, or the one of all keys. */
  of({ ownTable }: Key): Limiter {
    return (ownTable === null ? undefined : this.own.get(ownTable)?.limiter) ?? this.keys
  }

  /** Notes whether the store is away. True for the first process that finds it changed. */
  noteStore(isAway: boolean): boolean {
    return Atomics.exchange(this.region.words, OWN_WORD, Number(isAway)) !== Number(isAway)
  }

  private create(region: Region, clients: number, rules: readonly Rule[], charged: 'key' | 'address' = 'key'): Limiter {
    const reach = charged === 'key' ? clients : ANONYMOUS_REACH
    return new Limiter(new SlidingWindows(region, clients, rules, monotonicMs, reach), rules, this.store, charged)
  }
}
