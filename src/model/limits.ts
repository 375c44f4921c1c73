// Rules of rate limits: parses and prints them; the limiter's decision about a request. admit/ counts the requests.

/** At most `limit` requests in any interval of `periodMs`. */
export interface Rule {
  readonly limit: number
  readonly periodMs: number
  /** The period as it was written: `12h`. */
  readonly period: string
}

const DAY_MS = 86_400_000
/** A time's unit as a letter. */
export const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }
const RULE = /^([1-9]\d{0,6})\/([1-9]\d{0,5})([smhd])$/
/** A client takes 4 bytes of memory for each request of its largest limit. */
const LIMIT_MAX = 1_000_000
/** Times are kept in 31 bits of milliseconds, which wrap around after 24 days. */
const PERIOD_MS_MAX = 6 * DAY_MS
const RULES_MAX = 8

/** Reads `750/1m,2500/15m`; units are `s`, `m`, `h`, `d`, and all rules hold at once. @throws RangeError that names the fault */
export function parseRules(text: string): readonly Rule[] {
  const rules = text.split(',').map((part) => parseRule(part.trim()))
  if (rules.length > RULES_MAX) throw new RangeError(`there may be up to ${RULES_MAX} limits, not ${rules.length}`)
  const twice = rules.find(({ periodMs }, index) => rules.findIndex((other) => other.periodMs === periodMs) < index)
  if (twice) throw new RangeError(`two limits are for the same period, ${twice.period}`)
  return rules
}

function parseRule(part: string): Rule {
  const [, limitText, count, unit] = RULE.exec(part) ?? []
  const [limit, periodMs] = [Number(limitText), Number(count) * (UNIT_MS[unit as string] ?? 0)]
  if (!unit) throw new RangeError(`"${part}" is not a limit like 750/1m`)
  if (limit > LIMIT_MAX) throw new RangeError(`"${part}" has a limit over ${LIMIT_MAX}`)
  if (periodMs > PERIOD_MS_MAX) throw new RangeError(`"${part}" has a period over ${PERIOD_MS_MAX / DAY_MS} days`)
  return { limit, periodMs, period: count + unit }
}

/** Time that an admission counts, in ms: one more than the period, since times of requests are cut to whole milliseconds. */
export function countedMs({ periodMs }: Rule): number {
  return periodMs + 1
}

/** The text that `parseRules` reads. */
export function formatRules(rules: readonly Rule[]): string {
  return rules.map(({ limit, period }) => `${limit}/${period}`).join(',')
}

/** Writes `"1m";q=750;w=60`: each rule's period, limit and seconds. draft-ietf-httpapi-ratelimit-headers-10, 3 */
export function policyText(rules: readonly Rule[]): string {
  return rules.map(({ limit, periodMs, period }) => `"${period}";q=${limit};w=${periodMs / 1_000}`).join(', ')
}

/** Decision of the limiter about one request. */
export interface Decision {
  admitted: boolean
  /** The index of the rule that the other fields describe: the one with the longest period, or the one that refuses. */
  rule: number
  /** Requests that the rule still allows after this one. */
  remaining: number
  /** Until the oldest request that the rule counts leaves its window; for a refusal, until a retry is admitted. */
  waitMs: number
}

/** The index of the rule with the longest period. */
export function longestOf(rules: readonly Rule[]): number {
  const longestMs = Math.max(...rules.map(({ periodMs }) => periodMs))
  return rules.findIndex(({ periodMs }) => periodMs === longestMs)
}
