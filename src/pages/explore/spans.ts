// Filters by a span, such as "Away between two days": the conditions for a range of days, and the range that two conditions name.
import type { Condition, Span } from './resources.ts'
import { instantOf, localOf } from './zone.ts'

/** The first and the last day that a reader asks for: `2026-12-01`. */
export interface Days {
  readonly from: string
  readonly to: string
}

/** Two filters of a view, one on the start and one on the end of a row, that together find the rows of a range of days. */
export interface FoundSpan {
  /** Indexes of the two filters in the view: of the filter on the start, and of the filter on the end. */
  readonly filterIndexes: readonly [start: number, end: number]
  /** Days for the form. If the conditions name hours, these are the days that contain the hours. */
  readonly days: Days
  /** Values of the conditions if they name hours; null if they name whole days. */
  readonly hours: Days | null
}

/** Returns the day that is `days` days later. */
function addDays(day: string, days: number): string {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + days)
  return date.toISOString().slice(0, 10)
}

/** Returns the first instant of a day in a zone. */
const firstInstant = (day: string, zone: string) => instantOf(`${day}T00:00`, zone) ?? ''

/**
 * Returns the conditions of rows whose time overlaps these days: a row begins before the last day is over, and ends on the first
 * day or later. An end at midnight, when the first day begins, counts: programs that know only days write the last day as its
 * midnight. Rows without a start or without an end do not match.
 */
export function filtersOfDays({ start, end }: Span, { from, to }: Days, zone: string): Condition[] {
  if (start.kind === 'date')
    return [
      { name: start.name, sign: '<=', values: [to] },
      { name: end.name, sign: '>=', values: [from] },
    ]
  return [
    { name: start.name, sign: '<', values: [firstInstant(addDays(to, 1), zone)] },
    { name: end.name, sign: '>=', values: [firstInstant(from, zone)] },
  ]
}

/**
 * Finds the two conditions of a span among filters, also if a person has typed them into the address. Returns null if one of the
 * two is missing or is no date, or if the first day is after the last.
 */
export function spanIn(span: Span | null, filters: readonly Condition[], zone: string): FoundSpan | null {
  if (span === null) return null
  const indexOf = (name: string, signs: readonly string[]) =>
    filters.findIndex((filter) => filter.name.toLowerCase() === name.toLowerCase() && signs.includes(filter.sign))
  const filterIndexes = [indexOf(span.start.name, ['<', '<=']), indexOf(span.end.name, ['>', '>='])] as const
  const [to, from] = filterIndexes.map((index) => limitOf(span, filters[index], zone))
  if (!to || !from || from.day > to.day) return null
  const isWhole = to.isWhole && from.isWhole
  return { filterIndexes, days: { from: from.day, to: to.day }, hours: isWhole ? null : { from: from.value, to: to.value } }
}

/** The first or the last day of a range, as a condition names it. */
interface Limit {
  readonly day: string
  /** True if the range includes the whole day. */
  readonly isWhole: boolean
  readonly value: string
}

/** Returns the day that a condition names. Returns null if there is no condition, or if its value is no date. */
function limitOf({ start: { kind } }: Span, filter: Condition | undefined, zone: string): Limit | null {
  const { sign = '', values: [value = ''] = [] } = filter ?? {}
  const local = kind === 'date' ? instantOf(`${value}T00:00`, 'UTC') && value : localOf(value, zone)?.slice(0, 10)
  if (!local) return null
  const isFirst = kind === 'date' || Date.parse(firstInstant(local, zone)) === Date.parse(value)
  // `<` and `>` leave out a date that they name. `<` leaves out the day of an instant only if the instant is the first of the
  // day.
  const isLeftOut = kind === 'date' ? sign === '<' || sign === '>' : isFirst && sign === '<'
  const day = isLeftOut ? addDays(local, sign === '<' ? -1 : 1) : local
  return { day, isWhole: kind === 'date' || (isFirst && (sign === '<' || sign === '>=')), value }
}

/**
 * Returns ranges of days to choose with one click. `day`: today. `firstDay`: day with which a week begins; 1 is Monday, 7 Sunday.
 */
export function presetsOf(day: string, firstDay: number): readonly (readonly [words: string, days: Days])[] {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay()
  const week = addDays(day, -((weekday - firstDay + 7) % 7))
  const month = `${day.slice(0, 8)}01`
  const monthAfter = (first: string) => `${addDays(first, 31).slice(0, 8)}01`
  const monthFrom = (first: string) => ({ from: first, to: addDays(monthAfter(first), -1) })
  return [
    ['Today', { from: day, to: day }],
    ['This week', { from: week, to: addDays(week, 6) }],
    ['This month', monthFrom(month)],
    ['Next month', monthFrom(monthAfter(month))],
  ]
}

/**
 * Returns the day with which a week begins in the region of a language: 1 is Monday, 7 Sunday. If the browser does not know the
 * day, it is Monday.
 */
export function firstDayOfWeek(language: string): number {
  // TypeScript does not declare the week's first day yet, and Firefox has it only since 2025.
  const locale = new Intl.Locale(language) as Intl.Locale & {
    getWeekInfo?(): { firstDay: number }
    weekInfo?: { firstDay: number }
  }
  return (locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? 1
}
