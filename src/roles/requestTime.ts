// The time of a request, for the variables `{today}` and `{now}`.
import type { Kind } from '../model/kinds.ts'

export interface RequestTime {
  /** The day in UTC: `2024-01-31`. */
  readonly today: string
  /** The minute in UTC: `2024-01-31T09:30:00Z`. */
  readonly now: string
}

const MINUTE_MS = 60_000

/** Value to pass as the time if nothing depends on the time. */
export const ANY_TIME = timeAt(0)

let last = { minute: 0, time: ANY_TIME }

/** Returns the current time; all requests of a minute get the same object. */
export function requestTime(): RequestTime {
  const minute = Math.floor(Date.now() / MINUTE_MS)
  if (last.minute !== minute) last = { minute, time: timeAt(minute) }
  return last.time
}

function timeAt(minute: number): RequestTime {
  const text = new Date(minute * MINUTE_MS).toISOString()
  return { today: text.slice(0, 10), now: `${text.slice(0, 19)}Z` }
}

/**
 * Returns the value of a variable for a kind of property. For date-times, `{today}` means the first second of the day. Null if
 * the variable has no value of this kind.
 */
export function timeFor(variable: 'today' | 'now', { temporal }: Kind, { today, now }: RequestTime): string | null {
  if (temporal === 'instant') return variable === 'now' ? now : `${today}T00:00:00Z`
  return temporal === 'day' && variable === 'today' ? today : null
}
