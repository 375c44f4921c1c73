// Values as text for people: numbers in the format of the reader's language, dates in UTC.
import { isQuantity, type Kind, type Property } from './resources.ts'

const UTC = { timeZone: 'UTC' } as const
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', ...UTC })
const instants = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', ...UTC })
const seconds = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', ...UTC })
const months = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', ...UTC })
const decimals = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 8 })
const exact = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 20 })
const plain = new Intl.NumberFormat()
const small = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })
const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 2 })

/** Formats a whole number for the reader's language. */
export const formatCount = (count: number) => plain.format(count)
/** Shortens a number for an axis. */
export function formatShort(number: number): string {
  const size = Math.abs(number)
  return (size < 1 ? small : size < 10_000 ? plain : short).format(number)
}
/** Formats a decimal with all its digits, also of a text with more digits than a double holds. */
export const formatDecimal = (value: string | number) => (typeof value === 'string' ? exact : decimals).format(value as number)

/** Formats a value for people, by the kind of its property; dates in UTC. */
export function formatValue(property: Property, value: string | number | boolean): string {
  const { kind } = property
  if (kind === 'decimal') return formatDecimal(value as number)
  if (kind === 'integer' && isQuantity(property)) return plain.format(value as number)
  if (kind === 'boolean') return value ? 'yes' : 'no'
  return kind === 'date' || kind === 'instant' ? formatDate(kind, String(value)) : String(value)
}

/** Formats a date, or a date-time without trailing zeros; returns any other text as it is. */
export function formatDate(kind: Kind, text: string): string {
  const date = new Date(text)
  if (Number.isNaN(date.getTime()) || !/^\d{4}-/.test(text)) return text
  if (kind === 'date') return dates.format(date)
  return (date.getUTCSeconds() === 0 ? instants : seconds).format(date)
}

/** Formats the value of a filter; midnight is shown as a day: `1 Jan 2026`. */
export function formatOperand(property: Property | undefined, text: string): string {
  if (property?.kind === 'boolean') return text === 'true' ? 'yes' : text === 'false' ? 'no' : text
  if (property?.kind === 'date' || /T00:00:00Z$/.test(text)) return formatDate('date', text)
  return property?.kind === 'instant' ? formatDate('instant', text) : text
}

/** Formats a year, quarter, month, week or day, given its first instant; a week by its Monday. */
export function formatUnit(unit: string, text: string): string {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) return text
  const year = date.getUTCFullYear()
  if (unit === 'year') return String(year)
  if (unit === 'quarter') return `Q${Math.floor(date.getUTCMonth() / 3) + 1} ${year}`
  if (unit === 'month') return months.format(date)
  return dates.format(date)
}
