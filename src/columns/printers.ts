import { plainDecimal } from '../model/decimal.ts'
import type { Kind, PlainName } from '../model/kinds.ts'
import { jsonOf } from '../respond/json.ts'
import { dateOf } from './codes.ts'
import { type Dictionary, NO_TEXT } from './dictionary.ts'

/** Prints a code; null: there is no value. */
export type Print = (code: number) => string | null

/** Prints the codes of a property as text, the inverse of `numbers` or of a dictionary, and as JSON. */
export interface Printer {
  readonly text: Print
  readonly json: Print
}

/** `dictionary`: null where the kind has no texts. */
export function printerOf(kind: Kind, dictionary: Dictionary | null): Printer {
  const print = dictionary ? (code: number) => dictionary.text(code) : plains[kind.name as PlainName](kind)
  const isNone = dictionary ? (code: number) => code === NO_TEXT : Number.isNaN
  const text = (code: number) => (isNone(code) ? null : print(code))
  return { text, json: remembering((code) => jsonOf(kind, text(code))) }
}

/** Values that are kept: 2 to the power of 10. */
const KEPT_BITS = 10

/** Keeps what was printed last: rows of lists that follow each other have many values in common. */
function remembering(print: Print): Print {
  const codes = new Float64Array(1 << KEPT_BITS).fill(Number.NaN)
  const texts = Array<string | null>(1 << KEPT_BITS).fill(null)
  return (code) => {
    // Codes of instants are multiples of hours, and those of decimals parts of ones: the product's high bits differ.
    const slot = Math.imul((code * 64) | 0, 0x9e3779b1) >>> (32 - KEPT_BITS)
    if (codes[slot] !== code) {
      codes[slot] = code
      texts[slot] = print(code)
    }
    return texts[slot] as string | null
  }
}

/** As PostgreSQL prints a code that is a number. */
type Plain = (code: number) => string

const plains: Readonly<Record<PlainName, (kind: Kind) => Plain>> = {
  boolean: () => (code) => (code === 1 ? 't' : 'f'),
  integer: () => String,
  date: () => printDate,
  instant: () => printInstant,
  decimal: plainDecimals,
}

/** The point, and as many zeros as stand behind it. */
function zerosOf(kind: Kind): string {
  return kind.printFilter('0').slice(1)
}

/** Digits of a decimal behind the point. */
export function scaleOf(kind: Kind): number {
  return Math.max(zerosOf(kind).length - 1, 0)
}

/** A decimal of 15 digits is the shortest that leads to its float, which is what JavaScript prints. ECMA-262, 6.1.6.1.20 */
function plainDecimals(kind: Kind): Plain {
  const zeros = zerosOf(kind)
  return (code) => {
    if (code === Number.POSITIVE_INFINITY) return 'NaN'
    const text = String(code)
    const point = text.indexOf('.')
    if (text.includes('e')) return kind.printFilter(plainDecimal(text) as string)
    return point < 0 ? text + zeros : text.padEnd(point + zeros.length, '0')
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
