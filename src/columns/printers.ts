import { plainDecimal } from '../model/decimal.ts'
import type { Kind, PlainName } from '../model/kinds.ts'
import type { JsonWriter } from '../respond/jsonWriter.ts'
import { dateOf, daysOf } from './codes.ts'
import { type Dictionary, NO_TEXT } from './dictionary.ts'

/** What codes stand for. */
export interface Printer {
  hasValue(code: number): boolean
  /** As PostgreSQL prints it; null: there is no value. */
  print(code: number): string | null
  /** Writes what the kind makes of that: JSON; `null` where there is no value. */
  write(code: number, into: JsonWriter): void
}

/** The printer of a property's codes: the inverse of `numbers`, or, of texts, of their dictionary. */
export function printerOf(kind: Kind, dictionary: Dictionary | null): Printer {
  return dictionary ? textPrinter(dictionary) : plainPrinter(kind)
}

/** Texts are JSON as they are. */
function textPrinter(dictionary: Dictionary): Printer {
  return {
    hasValue: (code) => code !== NO_TEXT,
    print: (code) => (code === NO_TEXT ? null : dictionary.text(code)),
    write: (code, into) => (code === NO_TEXT ? into.raw(NONE) : dictionary.write(code, into)),
  }
}

/** Of a code that is a number. */
interface Plain {
  print(code: number): string
  /** False: it is not as usual, and nothing was written. */
  write(code: number, into: JsonWriter): boolean
}

const NONE = new TextEncoder().encode('null')

function plainPrinter(kind: Kind): Printer {
  const plain = plains[kind.name as PlainName](kind)
  const { readText } = kind
  return {
    hasValue: (code) => !Number.isNaN(code),
    print: (code) => (Number.isNaN(code) ? null : plain.print(code)),
    write: (code, into) => {
      if (Number.isNaN(code)) into.raw(NONE)
      else if (!plain.write(code, into))
        into.json(readText ? JSON.stringify(readText(plain.print(code))) : plain.print(code))
    },
  }
}

const plains: Readonly<Record<PlainName, (kind: Kind) => Plain>> = {
  boolean: () => ({ print: (code) => (code === 1 ? 't' : 'f'), write: () => false }),
  integer: () => ({ print: String, write: writeInteger }),
  date: () => ({ print: printDate, write: () => false }),
  instant: () => ({ print: printInstant, write: writeInstant }),
  decimal: plainDecimals,
}

function writeInteger(code: number, into: JsonWriter): boolean {
  if (!(code >= 0)) return false
  into.integer(code)
  return true
}

/** With more digits than these, a float is not the only one of its decimal. */
const UNITS_MAX = 10 ** 15

/** A decimal of 15 digits is the shortest that leads to its float, which is what JavaScript prints. ECMA-262, 6.1.6.1.20 */
function plainDecimals(kind: Kind): Plain {
  /** The point, and as many zeros as stand behind it. */
  const zeros = kind.printFilter('0').slice(1)
  const scale = Math.max(zeros.length - 1, 0)
  const power = 10 ** scale
  return {
    print: (code) => {
      if (code === Number.POSITIVE_INFINITY) return 'NaN'
      const text = String(code)
      const point = text.indexOf('.')
      if (text.includes('e')) return kind.printFilter(plainDecimal(text) as string)
      return point < 0 ? text + zeros : text.padEnd(point + zeros.length, '0')
    },
    write: (code, into) => {
      const units = Math.round(code * power)
      // The quotient of two exact floats is the float that is nearest to the decimal: so it is this one.
      if (!(code >= 0) || units > UNITS_MAX || units / power !== code) return false
      into.decimal(units, scale)
      return true
    },
  }
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const pairs = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

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

/** Of the years that have four digits. */
const [FIRST_INSTANT, LAST_INSTANT] = [daysOf(1, 1, 1) * DAY, daysOf(10_000, 1, 1) * DAY - 1]

function writeInstant(seconds: number, into: JsonWriter): boolean {
  if (seconds < FIRST_INSTANT || seconds > LAST_INSTANT) return false
  const days = Math.floor(seconds / DAY)
  const { year, month, day } = dateOf(days)
  into.instant(year, month, day, seconds - days * DAY)
  return true
}
