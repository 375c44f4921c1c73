// The time of a request, as `{today}` and `{now}` have it.
import type { KindName } from '../model/kinds.ts'

export interface Moment {
  /** The day in UTC: `2024-01-31`. */
  readonly today: string
  /** The minute in UTC: `2024-01-31T09:30:00Z`. */
  readonly now: string
}

const MINUTE_MS = 60_000

let last = { minute: Number.NaN, moment: momentAt(0) }

/** Returns the moment of a time by `Date.now()`: the same object for all requests of a minute. */
export function momentOf(ms: number): Moment {
  const minute = Math.floor(ms / MINUTE_MS)
  if (last.minute !== minute) last = { minute, moment: momentAt(minute) }
  return last.moment
}

function momentAt(minute: number): Moment {
  const text = new Date(minute * MINUTE_MS).toISOString()
  return { today: text.slice(0, 10), now: `${text.slice(0, 19)}Z` }
}

/** Returns the value of a variable for a property of a kind: a day is its first second, too. Null: the kind has no such values. */
export function timeFor(variable: 'today' | 'now', kind: KindName, { today, now }: Moment): string | null {
  if (kind === 'instant') return variable === 'now' ? now : `${today}T00:00:00Z`
  return kind === 'date' && variable === 'today' ? today : null
}
