import { parseRules, type Rule } from '../model/limits.ts'
import { monotonicMs } from '../os/clock.ts'
import { OWN_WORD, openRegion, type Region } from '../os/region.ts'
import type { Client } from './address.ts'
import type { Key } from './keyring.ts'
import { anonymousClients, type LimiterMemory, type LimiterShape, NEWS_WORD } from './limiterFiles.ts'
import { Meter, type SharedStore, type Standing } from './meter.ts'
import { SlidingWindows } from './window.ts'

/** Addresses are strangers', who can come in any number. */
const ANONYMOUS_REACH = 64

/** Charges requests to the key they carry, or to the address they come from. */
export class RateLimiter {
  private readonly region: Region
  private readonly keys: Meter
  private readonly anonymous: Meter
  private readonly own = new Map<string, { serial: number; meter: Meter; region: Region }>()

  constructor(
    { limits, anonymousLimits, clients }: LimiterShape,
    memory: LimiterMemory,
    private readonly store: SharedStore | null,
  ) {
    this.region = openRegion(memory.keys)
    this.keys = this.meter(this.region, clients, limits)
    this.anonymous = this.meter(
      openRegion(memory.anonymous),
      anonymousClients(anonymousLimits),
      anonymousLimits,
      ANONYMOUS_REACH,
    )
  }

  /** Takes over which keys have limits of their own, and where their tables lie. */
  update({ own }: LimiterMemory): void {
    for (const [name, { serial, region }] of this.own) {
      if (own.get(name)?.serial === serial) continue
      this.own.delete(name)
      region.close()
    }
    for (const [name, { path, limits, serial }] of own) {
      if (this.own.has(name)) continue
      const region = openRegion(path)
      this.own.set(name, { serial, region, meter: this.meter(region, 1, parseRules(limits)) })
    }
  }

  /** Decides on one request, and charges it if it is admitted. */
  chargeKey(key: Key): Standing | Promise<Standing> {
    return this.meterOf(key).charge(key.client)
  }

  chargeAddress(address: Client): Standing | Promise<Standing> {
    return this.anonymous.charge(address)
  }

  /** What `chargeAddress` would say, without charging. */
  lookAddress(address: Client): Standing {
    return this.anonymous.look(address)
  }

  /** How many requests with a key were charged together, since the last call, because the table is too small. */
  takeStrangers(): number {
    return this.keys.takeStrangers()
  }

  /** True for the one of all processes that says it first, until `storeIsBack`. */
  storeIsAway(): boolean {
    return Atomics.compareExchange(this.region.words, OWN_WORD, 0, 1) === 0
  }

  storeIsBack(): boolean {
    return Atomics.compareExchange(this.region.words, OWN_WORD, 1, 0) === 1
  }

  /** When the supervisor last told the keys, or that they are the same: 32 bits of the monotonic clock; 0: there is none. */
  newsMs(): number {
    return Atomics.load(this.region.words, NEWS_WORD)
  }

  private meterOf(key: Key): Meter {
    return (key.limits === null ? undefined : this.own.get(key.name)?.meter) ?? this.keys
  }

  private meter(region: Region, clients: number, rules: readonly Rule[], reach = clients): Meter {
    return new Meter(new SlidingWindows(region, clients, rules, monotonicMs, reach), rules, this.store)
  }
}
