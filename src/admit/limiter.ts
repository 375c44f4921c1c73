// One set of rate limits: charges clients, in this machine's memory or in a shared store, and reports what is left.
import { countCharge } from '../metrics/counts.ts'
import { type Decision, policyText, type Rule } from '../model/limits.ts'
import type { Client } from './address.ts'
import type { RedisWindows } from './redis.ts'
import type { SlidingWindows } from './window.ts'

/** The limits of a client and what is left of them, as the headers of a response say it. */
export interface RateLimitStatus {
  readonly admitted: boolean
  /** The rule that the other fields describe. */
  readonly rule: Rule
  readonly remaining: string
  /** `2026-11-21T13:05:00Z`, never earlier than the truth. */
  readonly reset: string
  /** `"12h";r=24999;t=43201`: the same, in seconds until `reset`. draft-ietf-httpapi-ratelimit-headers-10, 4 */
  readonly state: string
  readonly policy: string
  /** Until a retry is admitted, in whole seconds; 0 for a request that is admitted. */
  readonly retryAfterSeconds: number
}

/** A store in which several machines count together. */
export type SharedStore = Pick<RedisWindows, 'decide'>

/** The store's clock and ours differ, and so do the moments at which they charge one request. */
const SKEW_MS = 1_000

/** The limiter of all keys, of all addresses, or of one key with limits of its own. */
export class Limiter {
  private readonly policy: string

  constructor(
    readonly windows: SlidingWindows,
    private readonly rules: readonly Rule[],
    private readonly store: SharedStore | null,
    private readonly charged: 'key' | 'address' = 'key',
  ) {
    this.policy = policyText(rules)
  }

  /** Decides on one request, and charges it if it is admitted. */
  charge(client: Client): RateLimitStatus | Promise<RateLimitStatus> {
    if (this.store !== null) return this.chargeShared(this.store, client)
    return this.counted(this.windows.admit(client.low, client.high))
  }

  /** Decides as `charge` would now, and charges nothing. Metrics count a refusal, since it is the answer to a request. */
  foresee(client: Client): RateLimitStatus | Promise<RateLimitStatus> {
    const { low, high, text } = client
    if (this.store === null) return this.foreseen(this.windows.foresee(low, high))
    const own = this.windows.peek(low, high)
    if (!own.admitted && own.waitMs > SKEW_MS) return this.foreseen(own)
    const shared = this.store.decide(text, this.rules, false)
    return shared.then((decision) => this.foreseen(decision ?? this.windows.foresee(low, high)))
  }

  /** The rule that says how many requests can be charged to a client together. */
  get smallestRule(): Rule {
    return this.rules.reduce((least, rule) => (rule.limit < least.limit ? rule : least))
  }

  /**
   * Charges `count` requests more to a client that was charged one, or none of them as far as this machine can foresee. Where
   * others of the client come in between, or the store knows of more, those before a refusal stay charged. A refusal is of all
   * `count` + 1 together, which are at most `mostTogether`. D59
   */
  async chargeMore(client: Client, count: number): Promise<RateLimitStatus> {
    let status = this.statusOf(this.windows.peek(client.low, client.high, count))
    if (!status.admitted) countCharge(this.charged, false)
    for (let charged = 0; charged < count && status.admitted; charged++) {
      const asked = this.charge(client)
      status = asked instanceof Promise ? await asked : asked
    }
    if (status.admitted) return status
    // A retry is charged from the first one on.
    const whole = this.windows.peek(client.low, client.high, count + 1)
    return whole.admitted ? status : this.statusOf(whole)
  }

  private async chargeShared(store: SharedStore, { low, high, text }: Client): Promise<RateLimitStatus> {
    // What this machine has admitted by itself is part of the truth, also when a store that was away knows less of it.
    const own = this.windows.peek(low, high)
    if (!own.admitted && own.waitMs > SKEW_MS) return this.counted(own)
    const decision = await store.decide(text, this.rules)
    if (decision === null) return this.counted(this.windows.admit(low, high))
    // So that this machine knows the recent past when it has to decide alone.
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

/** Texts of moments, by their second: clients get the same text for many requests. */
const seconds = new Float64Array(256)
const texts: string[] = Array.from({ length: seconds.length }, () => '')

/** The moment `afterMs` from now, rounded up to a second. */
function resetText(afterMs: number): string {
  // One more, since both clocks are cut to whole milliseconds.
  const second = Math.ceil((Date.now() + afterMs + 1) / 1_000)
  const slot = second % seconds.length
  if (seconds[slot] !== second) {
    seconds[slot] = second
    texts[slot] = `${new Date(second * 1_000).toISOString().slice(0, 19)}Z`
  }
  return texts[slot] as string
}
