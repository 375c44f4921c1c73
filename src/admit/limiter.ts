// Rate limits: charges clients in this machine's memory or in a shared store, and reports what is left. Also makes the limiters
// of one process, whose tables are in shared memory.
import { type ChargedClient, countCharge } from '../metrics/counts.ts'
import type { KeyRecord } from '../model/key.ts'
import { type Decision, policyText, type Rule } from '../model/limits.ts'
import type { Client, Principal } from '../model/principal.ts'
import { openRegion, type Region, USER_WORD } from '../os/region.ts'
import { monotonicMs } from '../os/time.ts'
import { anonymousClients, type LimiterSettings, type LimiterTables, ownTableOf, PERSONS_MAX, rulesOf } from './limiterFiles.ts'
import type { RedisWindows } from './redis.ts'
import { SlidingWindows } from './window.ts'

/** Maximum number of slots to try for an address. It is small, so that a flood of addresses stays cheap. */
const ANONYMOUS_PROBE_MAX = 64
/**
 * Maximum number of slots to try for a person. It is small, so that a person's first request is cheap, but it is enough for a
 * table that is nearly full.
 */
const PERSON_PROBE_MAX = 1_000

/** One limiter for keys, one for addresses, one for persons, and one for each key with its own limits. */
export class Limiters {
  private readonly region: Region
  /** The limiter of keys without their own limits. */
  readonly keys: Limiter
  readonly anonymous: Limiter
  /** Limiter of persons; null if the server takes no tokens of persons. */
  readonly persons: Limiter | null
  private readonly own = new Map<string, { serial: number; limiter: Limiter; region: Region }>()

  constructor(
    { rateLimits, rateLimitsAnonymous, rateLimitClients, rateLimitsPersons }: LimiterSettings,
    memory: LimiterTables,
    private readonly store: SharedStore | null,
  ) {
    this.region = openRegion(memory.keys)
    this.keys = this.create(this.region, rateLimitClients, rateLimits)
    const addresses = anonymousClients(rateLimitsAnonymous)
    this.anonymous = this.create(openRegion(memory.anonymous), addresses, rateLimitsAnonymous, 'address')
    const { persons } = memory
    this.persons = persons === null ? null : this.create(openRegion(persons), PERSONS_MAX, rateLimitsPersons, 'person')
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

  /** Returns whether the key can be charged: it has no limits of its own, or the table of its limits is open. */
  hasTableOf(key: KeyRecord): boolean {
    const table = ownTableOf(key)
    return table === null || this.own.has(table)
  }

  /** Returns the limiter that charges requests of this key or person. */
  of({ ownTable, isPerson }: Principal): Limiter {
    if (isPerson && this.persons !== null) return this.persons
    return (ownTable === null ? undefined : this.own.get(ownTable)?.limiter) ?? this.keys
  }

  /** Records whether the store is away. Returns true in the first process that notices the change, which then logs it. */
  noteStore(isAway: boolean): boolean {
    return Atomics.exchange(this.region.words, USER_WORD, Number(isAway)) !== Number(isAway)
  }

  private create(region: Region, clients: number, rules: readonly Rule[], charged: ChargedClient = 'key'): Limiter {
    const probeMax = { key: clients, address: ANONYMOUS_PROBE_MAX, person: PERSON_PROBE_MAX }[charged]
    return new Limiter(new SlidingWindows(region, clients, rules, monotonicMs, probeMax), rules, this.store, charged)
  }
}

/** Limits of a client and what is left of them, as response headers state it. */
export interface RateLimitStatus {
  readonly admitted: boolean
  /** The rule that `remaining`, `reset` and `state` describe. */
  readonly rule: Rule
  readonly remaining: string
  /** Time at which the window resets, rounded up to a full second: `2026-11-21T13:05:00Z`. */
  readonly reset: string
  /**
   * Value of the header RateLimit, `"12h";r=24999;t=43201`, in seconds until `reset`. draft-ietf-httpapi-ratelimit-headers-10, 4
   */
  readonly state: string
  readonly policy: string
  /** Seconds until a retry is admitted, rounded up; 0 for an admitted request. */
  readonly retryAfterSeconds: number
}

/** A store that several machines share, so that they count requests together. */
export type SharedStore = Pick<RedisWindows, 'decide'>

/**
 * Maximum expected difference between the store and this machine: of their clocks, and of the times at which they charge a
 * request.
 */
const SKEW_MS = 1_000

/** Limiter of all keys, of all addresses, of all persons, or of one key with its own limits. */
export class Limiter {
  private readonly policy: string

  constructor(
    readonly windows: SlidingWindows,
    private readonly rules: readonly Rule[],
    private readonly store: SharedStore | null,
    private readonly charged: ChargedClient = 'key',
  ) {
    this.policy = policyText(rules)
  }

  /** Decides on one request, and charges it if it is admitted. */
  charge(client: Client): RateLimitStatus | Promise<RateLimitStatus> {
    if (this.store !== null) return this.chargeShared(this.store, client)
    return this.counted(this.windows.admit(client.low, client.high))
  }

  /**
   * Returns what `charge` would decide now, but charges nothing. A refusal counts in the metrics, since the request is then
   * refused.
   */
  foresee(client: Client): RateLimitStatus | Promise<RateLimitStatus> {
    const { low, high, text } = client
    if (this.store === null) return this.foreseen(this.windows.foresee(low, high))
    const local = this.windows.peek(low, high)
    if (!local.admitted && local.waitMs > SKEW_MS) return this.foreseen(local)
    const shared = this.store.decide(text, this.rules, false)
    return shared.then((decision) => this.foreseen(decision ?? this.windows.foresee(low, high)))
  }

  /** Returns the rule with the smallest `limit`. No more requests than this limit can be charged at once. */
  get smallestRule(): Rule {
    return this.rules.reduce((least, rule) => (rule.limit < least.limit ? rule : least))
  }

  /**
   * Charges `count` more requests to a client that was already charged one request. If this machine's count shows that they do
   * not all fit, refuses them and charges none of them. With Redis or concurrent requests, a refusal can also come while they are
   * charged one by one. The requests that were charged before this refusal stay charged.
   *
   * A refusal states the wait until all `count` + 1 requests fit. The caller must ensure that `count` + 1 is at most the limit of
   * `smallestRule`. D59
   */
  async chargeMore(client: Client, count: number): Promise<RateLimitStatus> {
    let status = this.statusOf(this.windows.peek(client.low, client.high, count))
    if (!status.admitted) countCharge(this.charged, false)
    for (let charged = 0; charged < count && status.admitted; charged++) {
      const decided = this.charge(client)
      status = decided instanceof Promise ? await decided : decided
    }
    if (status.admitted) return status
    // A retry charges the first request again, so the client must wait until all requests fit.
    const whole = this.windows.peek(client.low, client.high, count + 1)
    return whole.admitted ? status : this.statusOf(whole)
  }

  private async chargeShared(store: SharedStore, { low, high, text }: Client): Promise<RateLimitStatus> {
    // This machine's own count is considered, too: a store that was away has missed some requests.
    const local = this.windows.peek(low, high)
    if (!local.admitted && local.waitMs > SKEW_MS) return this.counted(local)
    const decision = await store.decide(text, this.rules)
    if (decision === null) return this.counted(this.windows.admit(low, high))
    // This machine counts what the store admits, so that it can decide by itself if the store goes away.
    if (decision.admitted) this.windows.admit(low, high)
    return this.counted(decision)
  }

  private counted(decision: Decision): RateLimitStatus {
    countCharge(this.charged, decision.admitted)
    return this.statusOf(decision)
  }

  private foreseen(decision: Decision): RateLimitStatus {
    if (!decision.admitted) countCharge(this.charged, false)
    return this.statusOf(decision)
  }

  private statusOf({ admitted, rule: index, remaining, waitMs }: Decision): RateLimitStatus {
    const rule = this.rules[index] as Rule
    const seconds = Math.ceil(waitMs / 1_000)
    return {
      admitted,
      rule,
      remaining: String(remaining),
      reset: resetText(waitMs),
      state: `"${rule.period}";r=${remaining};t=${seconds}`,
      policy: this.policy,
      retryAfterSeconds: admitted ? 0 : seconds,
    }
  }
}

/** Cached times in seconds; `texts` has their texts at the same indexes. Many requests have the same reset time. */
const seconds = new Float64Array(256)
const texts: string[] = Array.from({ length: seconds.length }, () => '')

/** Returns the time `afterMs` from now as text, rounded up to a full second. */
function resetText(afterMs: number): string {
  // 1 ms is added, because both clocks are cut to whole milliseconds.
  const second = Math.ceil((Date.now() + afterMs + 1) / 1_000)
  const index = second % seconds.length
  if (seconds[index] !== second) {
    seconds[index] = second
    texts[index] = `${new Date(second * 1_000).toISOString().slice(0, 19)}Z`
  }
  return texts[index] as string
}
