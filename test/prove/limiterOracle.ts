import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import { type Decision, longestOf, type Rule } from '../../src/model/limits.ts'
import { Random } from '../support/random.ts'
import { privateRegion } from '../support/region.ts'

/**
 * The limiter for one client, as simple as possible: it keeps all admissions. Its clock has whole ms, so an admission counts
 * until a period after the end of its ms.
 */
export class Oracle {
  private readonly times: number[]

  /** `times`: times of the admissions so far. */
  constructor(
    private readonly rules: readonly Rule[],
    times: readonly number[] = [],
  ) {
    this.times = [...times]
  }

  admit(nowMs: number): Decision {
    const { times } = this
    const refusal = this.refusal(nowMs)
    if (refusal) return refusal
    times.push(nowMs)
    const rule = longestOf(this.rules)
    const { limit, periodMs } = this.rules[rule] as Rule
    const counted = times.filter((time) => endOf(time) + periodMs > nowMs)
    return {
      admitted: true,
      rule,
      remaining: limit - counted.length,
      waitMs: endOf(counted[0] as number) + periodMs - nowMs,
    }
  }

  private refusal(nowMs: number): Decision | null {
    let refusal: Decision | null = null
    for (const [rule, { limit, periodMs }] of this.rules.entries()) {
      const counted = this.times.filter((time) => endOf(time) + periodMs > nowMs)
      if (counted.length < limit) continue
      const waitMs = endOf(counted.at(-limit) as number) + periodMs - nowMs
      if (waitMs > (refusal?.waitMs ?? 0)) refusal = { admitted: false, rule, remaining: 0, waitMs }
    }
    return refusal
  }
}

function endOf(timeMs: number): number {
  return timeMs + 1
}

/**
 * Returns whether a decision is right by a clock with fractions of ms. `ages`: for each rule, the age of the admission `limit`
 * before this one. An admission needs an age of at least a period for every rule; a refusal, an age of less than a period and a
 * ms for some rule.
 */
export function isRight(admitted: boolean, ages: readonly number[], rules: readonly Rule[]): boolean {
  return admitted
    ? rules.every(({ periodMs }, rule) => (ages[rule] as number) >= periodMs)
    : rules.some(({ periodMs }, rule) => (ages[rule] as number) < periodMs + 1)
}

const PERIODS_MS = [1, 7, 100, 1_000, 60_000, 43_200_000, 500_000_000]

/**
 * Compares the window with the oracle for random rules and times: bursts, pauses, clocks near the end of 31 bits, many laps of
 * the ring. Also checks decisions by a clock finer than the window's. @throws Error with the first difference
 */
export function proveWindow(decisions: number, seed: number): { decisions: number; refused: number } {
  const random = new Random(seed)
  let decided = 0
  let refused = 0
  while (decided < decisions) {
    const periods = [...PERIODS_MS].sort(() => random.below(2) - 0.5).slice(0, 1 + random.below(3))
    const rules = periods.map((periodMs) => ({
      periodMs,
      limit: 1 + random.below(random.chance(20) ? 120 : 9),
      period: '',
    }))
    const [first] = rules as [Rule]
    const depth = Math.max(...rules.map(({ limit }) => limit))
    const longestMs = Math.max(...periods)
    const wrap = random.chance(50) ? 2 * depth * (2 + random.below(3)) : undefined
    let now = random.below(2 ** 31) + (random.chance(30) ? 2 ** 31 - 5_000 : 0)
    const clock = () => Math.floor(now)
    const windows = new SlidingWindows(privateRegion(wordsFor(40, rules), seed), 40, rules, clock, 40, wrap)
    const clients = Array.from({ length: 1 + random.below(6) }, () => ({
      low: (1 + random.below(2 ** 32 - 1)) | 0,
      high: random.below(2 ** 32) | 0,
      oracle: new Oracle(rules),
      times: [] as number[],
    }))
    const leapMs = random.pick([0, 1, 3, 50, longestMs / depth, longestMs, 2 ** 31 + 17])
    for (let step = 0; step < 500; step++) {
      const chance = random.below(100)
      const someMs = Math.max(1, random.pick(rules).periodMs / first.limit)
      // Times are multiples of 1/64 ms, which doubles store exactly.
      if (chance >= 40) now += Math.floor(64 * (random.below(2 ** 31) / 2 ** 31) * (chance < 93 ? someMs : leapMs)) / 64
      const { low, high, oracle, times } = random.pick(clients)
      const expected = oracle.admit(clock())
      const got = windows.admit(low, high)
      decided++
      if (!expected.admitted) refused++
      const ages = rules.map(({ limit }) => now - (times.at(-limit) ?? Number.NEGATIVE_INFINITY))
      if (!Bun.deepEquals(got, expected) || !isRight(got.admitted, ages, rules))
        throw new Error(JSON.stringify({ seed, step, rules, now, got, expected }))
      if (got.admitted) times.push(now)
    }
  }
  return { decisions: decided, refused }
}
