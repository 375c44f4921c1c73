import { plainDecimal } from '../model/decimal.ts'
import type { Kind, PlainName } from '../model/kinds.ts'
import { dateOf } from './codes.ts'
import type { Dictionary } from './dictionary.ts'
import { NO_TEXT } from './dictionary.ts'

/** The value of a code as PostgreSQL prints it; null: there is none. */
export type Printer = (code: number) => string | null

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Texts that came first are kept as they were decoded: those that many rows have are among them. */
const TEXTS_MAX = 1_024

const pairs = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/** The printer of a property's codes: the inverse of `numbers`, or, of texts, of their dictionary. */
export function printerOf(kind: Kind, dictionary: Dictionary | null): Printer {
  return dictionary ? textPrinter(dictionary) : printers[kind.name as PlainName](kind)
}

const printers: Readonly<Record<PlainName, (kind: Kind) => Printer>> = {
  boolean: () => (code) => (Number.isNaN(code) ? null : code === 1 ? 't' : 'f'),
  integer: () => (code) => (Number.isNaN(code) ? null : String(code)),
  date: () => (code) => (Number.isNaN(code) ? null : printDate(code)),
  instant: () => (code) => (Number.isNaN(code) ? null : printInstant(code)),
  decimal: decimalPrinter,
}

function textPrinter(dictionary: Dictionary): Printer {
  const texts: (string | undefined)[] = []
  return (code) => {
    if (code === NO_TEXT) return null
    if (code >= TEXTS_MAX) return dictionary.text(code)
    texts[code] ??= dictionary.text(code)
    return texts[code] as string
  }
}

/** A decimal of 15 digits is the shortest that leads to its float, which is what JavaScript prints. ECMA-262, 6.1.6.1.20 */
function decimalPrinter(kind: Kind): Printer {
  /** The point, and as many zeros as stand behind it. */
  const scale = kind.printFilter('0').slice(1)
  return (code) => {
    if (Number.isNaN(code)) return null
    if (code === Number.POSITIVE_INFINITY) return 'NaN'
    const text = String(code)
    const point = text.indexOf('.')
    if (text.includes('e')) return kind.printFilter(plainDecimal(text) as string)
    return point < 0 ? text + scale : text.padEnd(point + scale.length, '0')
  }
}

function printDate(days: number): string {
  if (!Number.isFinite(days)) return days > 0 ? 'infinity' : '-infinity'
  const { year, month, day } = dateOf(days)
  return `${yearText(year)}-${pairs[month]}-${pairs[day]}${year > 0 ? '' : ' BC'}`
}

function printInstant(seconds: number): string {
  if (!Number.isFinite(seconds)) return seconds > 0 ? 'infinity' : '-infinity'
  const days = Math.floor(seconds / DAY)
  const { year, month, day } = dateOf(days)
  const inDay = seconds - days * DAY
  const hour = (inDay / HOUR) | 0
  const minute = ((inDay / MINUTE) | 0) % 60
  const date = `${yearText(year)}-${pairs[month]}-${pairs[day]}`
  return `${date} ${pairs[hour]}:${pairs[minute]}:${pairs[inDay % 60]}+00${year > 0 ? '' : ' BC'}`
}

function yearText(year: number): string {
  const shown = year > 0 ? year : 1 - year
  return shown > 999 ? String(shown) : String(shown).padStart(4, '0')
}
