const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** `2026-01-05T08:00:00Z`: so many whole days and minutes after a moment. */
export function instantOf(startMs: number, days: number, minutes = 0): string {
  return `${new Date(startMs + days * DAY_MS + minutes * MINUTE_MS).toISOString().slice(0, 19)}Z`
}
