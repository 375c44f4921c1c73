// Rules of rate limits: parses and prints them, and defines the limiter's decision. admit/ counts the requests.

/** At most `limit` requests in any interval of `periodMs`. */
export interface Rule {
  readonly limit: number
  readonly periodMs: number
  /** The period as the setting has it: `12h`. */
  readonly period: string
}

const DAY_MS = 86_400_000
/** Milliseconds of each unit of time, by its letter. */
export const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }
const RULE = /^([1-9]\d{0,6})\/([1-9]\d{0,5})([smhd])$/
/** Maximum requests of a limit: each counted request takes 4 bytes of memory per client. */
const LIMIT_MAX = 1_000_000
/** Maximum period. The limiter's times are milliseconds of 31 bits, which wrap around after 24 days. */
const PERIOD_MS_MAX = 6 * DAY_MS
const RULES_MAX = 8

/**
 * Parses `750/1m,2500/15m`; units are `s`, `m`, `h` and `d`, and all rules apply together. @throws RangeError that names the
 * fault
 */
export function parseRules(text: string): readonly Rule[] {
  const rules = text.split(',').map((part) => parseRule(part.trim()))
  if (rules.length > RULES_MAX) throw new RangeError(`there may be up to ${RULES_MAX} limits, not ${rules.length}`)
  const twice = rules.find(({ periodMs }, index) => rules.findIndex((other) => other.periodMs === periodMs) < index)
  if (twice) throw new RangeError(`two limits are for the same period, ${twice.period}`)
  return rules
}

function parseRule(part: string): Rule {
  const [, limitText, count, unit] = RULE.exec(part) ?? []
  const limit = Number(limitText)
  const periodMs = Number(count) * (UNIT_MS[unit as string] ?? 0)
  if (!unit) throw new RangeError(`"${part}" is not a limit like 750/1m`)
  if (limit > LIMIT_MAX) throw new RangeError(`"${part}" has a limit over ${LIMIT_MAX}`)
  if (periodMs > PERIOD_MS_MAX) throw new RangeError(`"${part}" has a period over ${PERIOD_MS_MAX / DAY_MS} days`)
  return { limit, periodMs, period: count + unit }
}

/**
 * Returns the time for which an admitted request is counted, in ms: 1 more than the period, because times are truncated to whole
 * milliseconds.
 */
export function countedMs({ periodMs }: Rule): number {
  return periodMs + 1
}

/** Writes rules as `parseRules` reads them. */
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
  /**
   * Index of the rule that `remaining` and `waitMs` describe. For an admitted request, this is the rule with the longest period;
   * for a refused request, the rule that was broken.
   */
  rule: number
  /** Number of requests that the rule still allows after this request. */
  remaining: number
  /** Time in ms until the oldest counted request expires; for a refused request, until a retry is admitted. */
  waitMs: number
}

/** Returns the index of the rule with the longest period. */
export function longestOf(rules: readonly Rule[]): number {
  const longestMs = Math.max(...rules.map(({ periodMs }) => periodMs))
  return rules.findIndex(({ periodMs }) => periodMs === longestMs)
}
