// Time zones: the day that their clocks show at an instant, and the instant at which a day begins. Instants are seconds since
// 2000-01-01 in UTC, and days are numbered from that date. The offsets come from Bun. Statements send these offsets to
// PostgreSQL, so that its own time zones make no difference. D119

const DAY = 86_400
/** Seconds from 1970 to 2000. */
const EPOCH = 946_684_800
/** Number of days in 400 years, after which the calendar repeats. From 2100 on, the offsets of each zone repeat with it. */
const CYCLE_DAYS = 146_097
const CYCLE = CYCLE_DAYS * DAY
const CYCLE_FIRST_DAY = 36_525
/** 2100-01-01. */
const CYCLE_START = CYCLE_FIRST_DAY * DAY
/** 2500-01-01. Later instants are moved back by whole cycles. */
const CYCLE_END = CYCLE_START + CYCLE
/**
 * Instant before which days are those of UTC. Time zones were introduced later, and in local time the first day of the year 1
 * could begin in the year 0, which clients cannot write.
 */
const ZONES_FROM = '1800-01-01T00:00:00Z'
/** 10000-01-01. From this day on, days are those of UTC again. */
const LAST_DAY = 2_921_940
const ZONES_END = LAST_DAY * DAY
/** Maximum length of a zone's name; the longest name has 32 letters. */
export const ZONE_NAME_MAX = 64

/** Offsets of a zone from UTC, in seconds. `offsets[i]` is valid from the instant `from[i]` on. */
export interface Offsets {
  /** Instants in ascending order; the first is `-Infinity`. */
  readonly from: readonly number[]
  readonly offsets: readonly number[]
}

/** Zones by their names in lower case. IANA has some 600 names; the offsets of a zone take up to 20 KB. */
const zones = new Map<string, Zone>()

/**
 * A time zone of IANA. If clocks go back over midnight, the earlier day lasts until they show the later day for good, so that no
 * day begins twice.
 */
export class Zone {
  /** Offsets up to 2100; if `isWhole`, up to `CYCLE_END`. */
  private readonly known: { readonly from: number[]; readonly offsets: number[] }
  private isWhole = false

  private constructor(readonly name: string) {
    const first = Temporal.Instant.from(ZONES_FROM).toZonedDateTimeISO(name)
    this.known = { from: [Number.NEGATIVE_INFINITY], offsets: [0] }
    this.addChange(first.epochMilliseconds / 1_000 - EPOCH, first.offsetNanoseconds / 1e9)
    this.addChanges(first, CYCLE_START)
  }

  /** Finds a zone by its name, such as `Europe/Amsterdam`, ignoring case. Returns null if there is no such zone. */
  static named(text: string): Zone | null {
    const lower = text.toLowerCase()
    const known = zones.get(lower)
    if (known !== undefined) return known
    const name = text.length <= ZONE_NAME_MAX ? canonicalName(text) : null
    if (name === null) return null
    const zone = new Zone(name)
    zones.set(lower, zone)
    return zone
  }

  /** True if the days of the zone are those of UTC. */
  get isUtc(): boolean {
    return this.known.offsets.every((offset) => offset === 0)
  }

  /** Returns all offsets up to `CYCLE_END`. */
  get all(): Offsets {
    if (!this.isWhole) {
      this.isWhole = true
      this.addChanges(Temporal.Instant.from('2099-12-31T23:59:59Z').toZonedDateTimeISO(this.name), CYCLE_END)
    }
    return this.known
  }

  /** Returns the offsets between two instants, which must be finite. */
  offsetsBetween(least: number, greatest: number): Offsets {
    const found = { from: [Number.NEGATIVE_INFINITY], offsets: [this.offsetAt(least)] }
    const last = Math.min(greatest, ZONES_END - 1)
    for (let cycle = cycleOf(least); cycle <= cycleOf(last); cycle++) {
      const { from, offsets } = greatest < CYCLE_START ? this.known : this.all
      for (let at = cycle === 0 ? 1 : firstAfter(from, CYCLE_START - 1); at < from.length; at++) {
        const own = (from[at] as number) + cycle * CYCLE
        if (own <= least || own > last) continue
        add(found, own, offsets[at] as number)
      }
    }
    if (least < ZONES_END && last < greatest) add(found, ZONES_END, 0)
    return found
  }

  /** Returns the day that clocks show at an instant. */
  dayAt(instant: number): number {
    return Math.floor((instant + this.offsetAt(instant)) / DAY)
  }

  /** Returns the first instant of a day; for a day that clocks skip, the first instant of the next day. */
  startOf(day: number): number {
    if (day > LAST_DAY) return day * DAY
    const cycle = day < CYCLE_FIRST_DAY + CYCLE_DAYS ? 0 : Math.floor((day - CYCLE_FIRST_DAY) / CYCLE_DAYS)
    const own = day - cycle * CYCLE_DAYS
    const { from, offsets } = own < CYCLE_FIRST_DAY - 1 ? this.known : this.all
    let low = 0
    let high = from.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      const lastDay = Math.floor(((from[middle + 1] as number) - 1 + (offsets[middle] as number)) / DAY)
      if (lastDay < own) low = middle + 1
      else high = middle
    }
    const start = Math.max(from[low] as number, own * DAY - (offsets[low] as number)) + cycle * CYCLE
    return Math.min(start, ZONES_END)
  }

  private offsetAt(instant: number): number {
    if (instant >= ZONES_END) return 0
    const { from, offsets } = instant < CYCLE_START ? this.known : this.all
    return offsets[firstAfter(from, instant - cycleOf(instant) * CYCLE) - 1] as number
  }

  /** Adds the changes of the offset between `after` and `end`. */
  private addChanges(after: Temporal.ZonedDateTime, end: number) {
    for (let next = after.getTimeZoneTransition('next'); next !== null; next = next.getTimeZoneTransition('next')) {
      const from = next.epochMilliseconds / 1_000 - EPOCH
      if (from >= end) break
      this.addChange(from, next.offsetNanoseconds / 1e9)
    }
  }

  private addChange(at: number, offset: number) {
    const { from, offsets } = this.known
    while ((from.at(-1) as number) >= at) dropLast(from, offsets)
    const lastDay = Math.floor((at - 1 + (offsets.at(-1) as number)) / DAY)
    // If clocks go back to an earlier day, the new offset begins only when clocks reach the later day again, so that no day
    // occurs twice.
    add(this.known, Math.max(at, lastDay * DAY - offset), offset)
  }
}

/** Prints an instant up to the year 9999. */
export function instantText(instant: number): string {
  return new Date((EPOCH + instant) * 1_000).toISOString()
}

/** Returns the names of zones, each once. */
export function zoneNames(): string[] {
  return Intl.supportedValuesOf('timeZone')
}

function add({ from, offsets }: { readonly from: number[]; readonly offsets: number[] }, at: number, offset: number) {
  from.push(at)
  offsets.push(offset)
}

function dropLast(...lists: unknown[][]) {
  for (const list of lists) list.pop()
}

/**
 * Returns a function that finds the first instant of a day. The caller must call it with ascending days, which the offsets must
 * cover.
 */
export function ascendingStarts({ from, offsets }: Offsets): (day: number) => number {
  let at = 0
  const lastDay = () => Math.floor(((from[at + 1] as number) - 1 + (offsets[at] as number)) / DAY)
  let last = from.length > 1 ? lastDay() : Number.POSITIVE_INFINITY
  return (day) => {
    while (last < day) last = ++at < from.length - 1 ? lastDay() : Number.POSITIVE_INFINITY
    return Math.max(from[at] as number, day * DAY - (offsets[at] as number))
  }
}

function canonicalName(text: string): string | null {
  // A text such as `+01:00` is an offset, not a zone.
  if (!/^[a-z]/i.test(text)) return null
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return null
  }
}

function cycleOf(instant: number): number {
  return instant < CYCLE_END ? 0 : Math.floor((instant - CYCLE_START) / CYCLE)
}

/** Returns the index of the first element of `from` that is after `instant`; the length if there is none. */
function firstAfter(from: readonly number[], instant: number): number {
  let low = 0
  let high = from.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((from[middle] as number) <= instant) low = middle + 1
    else high = middle
  }
  return low
}
