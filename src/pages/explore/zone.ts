// Wall-clock times of a time zone: from instants and back, also in the hours when clocks change.

/** Formatters by time zone. They write dates of the ISO calendar in Latin digits, whatever the reader's language is. */
const formatters = new Map<string, Intl.DateTimeFormat>()
const DAY_MS = 86_400_000
/** Matches instants such as `2026-01-31T09:00:00.5Z`, of the years that a browser's fields accept. */
const INSTANT = /^(?!000[01])\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/
const LOCAL = /^(?!000[01])\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(\.\d+)?)?$/

/**
 * Returns the wall-clock time of an instant: `2026-01-31T10:00:00` for `2026-01-31T09:00:00Z` in Europe/Amsterdam. Returns null
 * if the text is no instant of the years 2 to 9999.
 */
export function localOf(instant: string, zone: string): string | null {
  const [, fraction = ''] = INSTANT.exec(instant) ?? []
  const ms = Math.floor(Date.parse(instant) / 1_000) * 1_000
  if (!INSTANT.test(instant) || Number.isNaN(ms)) return null
  const local = printMs(ms + offsetMs(ms, zone))
  return LOCAL.test(local) ? local + fraction : null
}

/**
 * Returns the instant of a wall-clock time: `2026-01-31T09:00:00Z` for `2026-01-31T10:00` in Europe/Amsterdam. Returns null if
 * the text is no time. If clocks skip the time, it is moved later by as much as they skip. If clocks repeat the time, returns
 * `before` if it is one of the two instants, otherwise the first. `before`: the instant that the field had.
 */
export function instantOf(local: string, zone: string, before = ''): string | null {
  const [, fraction = ''] = LOCAL.exec(local) ?? []
  const whole = local.slice(0, local.length - fraction.length)
  const wall = Date.parse(`${whole}Z`)
  // Browsers parse 30 February as 2 March.
  if (!LOCAL.test(local) || Number.isNaN(wall) || !printMs(wall).startsWith(whole)) return null
  if (before !== '' && localOf(before, zone) === printMs(wall) + fraction) return before
  // Clocks change by a day at most, and not twice in two days. So the offset equals the offset one day before or one day after.
  const early = wall - offsetMs(wall - DAY_MS, zone)
  const late = wall - offsetMs(wall + DAY_MS, zone)
  const isOfZone = (ms: number) => ms + offsetMs(ms, zone) === wall
  const ms = [early, late].filter(isOfZone).sort((one, other) => one - other)[0] ?? early
  const instant = `${printMs(ms)}${fraction}Z`
  return INSTANT.test(instant) ? instant : null
}

/** Writes a time in whole seconds, given in ms, as ISO 8601 without the zone. */
const printMs = (ms: number) => new Date(ms).toISOString().replace(/\.000Z$/, '')

/** Returns the milliseconds that the clocks of a zone are ahead of UTC at an instant. */
function offsetMs(ms: number, zone: string): number {
  if (zone === 'UTC') return 0
  const found = formatters.get(zone) ?? formatterOf(zone)
  const part = Object.fromEntries(found.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const local = new Date(0)
  local.setUTCFullYear(part.year as number, (part.month as number) - 1, part.day as number)
  local.setUTCHours(part.hour as number, part.minute as number, part.second as number)
  return local.getTime() - ms
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as const
  const formatter = new Intl.DateTimeFormat('en-u-ca-iso8601-nu-latn', { ...numeric, hourCycle: 'h23', timeZone })
  formatters.set(timeZone, formatter)
  return formatter
}
