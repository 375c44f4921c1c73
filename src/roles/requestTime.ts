// The time of a request, as `{today}` and `{now}` have it.
import type { Kind } from '../model/kinds.ts'

export interface RequestTime {
  /** The day in UTC: `2024-01-31`. */
  readonly today: string
  /** The minute in UTC: `2024-01-31T09:30:00Z`. */
  readonly now: string
}

const MINUTE_MS = 60_000

/** Stands for the time where nothing depends on it. */
export const ANY_TIME = timeAt(0)

let last = { minute: 0, time: ANY_TIME }

/** Returns the time now: the same object for all requests of a minute. */
export function requestTime(): RequestTime {
  const minute = Math.floor(Date.now() / MINUTE_MS)
  if (last.minute !== minute) last = { minute, time: timeAt(minute) }
  return last.time
}

function timeAt(minute: number): RequestTime {
  const text = new Date(minute * MINUTE_MS).toISOString()
  return { today: text.slice(0, 10), now: `${text.slice(0, 19)}Z` }
}

/** Returns the value of a variable for a kind of property; a day is its first second, too. Null: the kind has no such values. */
export function timeFor(variable: 'today' | 'now', { moment }: Kind, { today, now }: RequestTime): string | null {
  if (moment === 'instant') return variable === 'now' ? now : `${today}T00:00:00Z`
  return moment === 'day' && variable === 'today' ? today : null
}
