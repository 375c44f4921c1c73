// Values as text for people: numbers in the format of the reader's language, date-times in the chosen time zone.
import { zoneStore } from './readerZone.ts'
import { isQuantity, type Kind, type Property } from './resources.ts'
import { instantOf, localOf } from './zone.ts'

const UTC = { timeZone: 'UTC' } as const
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', ...UTC })
/** Formatters of date-times by zone, kept because creating a formatter takes longer than formatting all values of a table. */
const instantsByZone = new Map<string, Record<'short' | 'medium', Intl.DateTimeFormat>>()
const months = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', ...UTC })
const decimals = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 8 })
const exact = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 20 })
const plain = new Intl.NumberFormat()
const small = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 2 })

/** Formats a whole number for the reader's language. */
export const formatCount = (count: number) => plain.format(count)
/** Formats a number for an axis; numbers from 10,000 on are shortened: `12.5K`. */
export function formatShort(number: number): string {
  const size = Math.abs(number)
  return (size < 1 ? small : size < 10_000 ? plain : short).format(number)
}
/** Formats a decimal with all its digits. `value` is a text if a double would round it. */
export const formatDecimal = (value: string | number) => (typeof value === 'string' ? exact : decimals).format(value as number)

/**
 * Returns the wall-clock time of an instant in the chosen zone: `2026-01-31T10:00:00`. Returns null if no field can show the
 * instant.
 */
export const toZone = (instant: string) => localOf(instant, zoneStore.value)
/**
 * Returns the instant of a wall-clock time in the chosen zone: `2026-01-31T09:00:00Z`. Returns null if the text is no time.
 * `before`: the instant that the field had. If clocks repeat the time, `before` decides which of its two instants is meant.
 */
export const fromZone = (local: string, before = '') => instantOf(local, zoneStore.value, before)

/** Formats a value for people, by the kind of its property; date-times in the chosen zone, or in `zone`. */
export function formatValue(property: Property, value: string | number | boolean, zone = zoneStore.value): string {
  const { kind } = property
  if (kind === 'decimal') return formatDecimal(value as number)
  if (kind === 'integer' && isQuantity(property)) return plain.format(value as number)
  if (kind === 'boolean') return value ? 'yes' : 'no'
  return kind === 'date' || kind === 'instant' ? formatDate(kind, String(value), zone) : String(value)
}

/** Formats a date or a date-time. Seconds are left out if they are 0. A text that is neither is returned unchanged. */
export function formatDate(kind: Kind, text: string, zone = zoneStore.value): string {
  const date = new Date(text)
  if (Number.isNaN(date.getTime()) || !/^\d{4}-/.test(text)) return text
  if (kind === 'date') return dates.format(date)
  return instantsOf(zone)[date.getUTCSeconds() === 0 ? 'short' : 'medium'].format(date)
}

/** Formats a range of days, without repeating what both days share: `1 – 31 Dec 2026`. */
export function formatDays(from: string, to: string): string {
  return dates.formatRange(new Date(from), new Date(to))
}

function instantsOf(timeZone: string) {
  const formatterOf = (timeStyle: 'short' | 'medium') =>
    new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle, timeZone })
  const found = instantsByZone.get(timeZone) ?? { short: formatterOf('short'), medium: formatterOf('medium') }
  instantsByZone.set(timeZone, found)
  return found
}

/** Formats the value of a filter; midnight in the chosen zone is shown as a day: `1 Jan 2026`. */
export function formatOperand(property: Property | undefined, text: string): string {
  if (property?.kind === 'boolean') return text === 'true' ? 'yes' : text === 'false' ? 'no' : text
  if (property?.kind === 'date') return formatDate('date', text)
  const [day = '', time] = toZone(text)?.split('T') ?? []
  if (time === '00:00:00') return formatDate('date', day)
  return property?.kind === 'instant' ? formatDate('instant', text) : text
}

/** Formats a year, quarter, month, week or day. `text`: first instant of the period. A week is shown as its Monday. */
export function formatUnit(unit: string, text: string): string {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) return text
  const year = date.getUTCFullYear()
  if (unit === 'year') return String(year)
  if (unit === 'quarter') return `Q${Math.floor(date.getUTCMonth() / 3) + 1} ${year}`
  if (unit === 'month') return months.format(date)
  return dates.format(date)
}
