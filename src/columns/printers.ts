// Prints codes: as PostgreSQL prints their values, or as JSON.
import type { JsonWriter } from '../model/jsonWriter.ts'
import type { Kind, KindName, PlainName } from '../model/kinds.ts'
import { jsonOf } from '../respond/json.ts'
import { type Code, DAY, dateOf, daysOf, HOUR, MINUTE } from './codes.ts'
import type { Dictionary } from './dictionary.ts'

/** Numbers of kinds. A switch over these numbers is faster than a call of one of several functions. */
const FORMS = {
  text: 0,
  oneOf: 0,
  uuid: 0,
  integer: 1,
  instant: 2,
  decimal: 3,
  boolean: 4,
  date: 4,
  json: 4,
} as const satisfies Record<KindName, number>

/** Prints the codes of a property. This is the inverse of `codeParsers`, or, for texts, of the dictionary. */
export class Printer {
  private readonly form: number
  private readonly plain: Plain | null
  /** Digits of a decimal after the point; 0 if the kind is not decimal. */
  readonly scale: number

  /** `dictionary`: null if the kind's values are not texts. */
  constructor(
    private readonly kind: Kind,
    private readonly dictionary: Dictionary | null,
  ) {
    this.form = FORMS[kind.name]
    this.plain = dictionary ? null : plains[kind.name as PlainName]
    this.scale = kind.scale
  }

  /** Prints a code as PostgreSQL prints its value. Returns null if there is no value. */
  print(code: Code): string | null {
    if (Number.isNaN(code)) return null
    return this.dictionary === null ? (this.plain as Plain)(code, this.scale) : this.dictionary.text(code as number)
  }

  /** Writes the value of a code as JSON; `null` if there is no value. */
  write(code: Code, into: JsonWriter): void {
    if (typeof code === 'bigint' || !this.writeUsual(code, into)) this.writeText(this.print(code), into)
  }

  /** Writes as JSON a value that PostgreSQL has printed. `text`: null if there is no value. */
  writeText(text: string | null, into: JsonWriter): void {
    into.json(jsonOf(this.kind, text))
  }

  /**
   * Writes a value without making a string of it. Returns false if it cannot, as for negative numbers, or if there is no value.
   */
  private writeUsual(code: number, into: JsonWriter): boolean {
    switch (this.form) {
      case FORMS.text:
        // NaN means no value.
        if (Number.isNaN(code)) return false
        ;(this.dictionary as Dictionary).write(code, into)
        return true
      case FORMS.integer:
        if (!(code >= 0)) return false
        into.integer(code)
        return true
      case FORMS.instant: {
        if (!(code >= FIRST_INSTANT && code <= LAST_INSTANT)) return false
        const days = Math.floor(code / DAY)
        const { year, month, day } = dateOf(days)
        into.instant(year, month, day, code - days * DAY)
        return true
      }
      case FORMS.decimal:
        // The code Infinity stands for NaN.
        if (!(code >= 0 && code <= Number.MAX_SAFE_INTEGER)) return false
        into.decimal(code, this.scale)
        return true
      default:
        return false
    }
  }
}

/** Prints a code of a kind without texts as PostgreSQL prints its value. */
type Plain = (code: Code, scale: number) => string

const plains: Readonly<Record<PlainName, Plain>> = {
  boolean: (code) => (code === 1 ? 't' : 'f'),
  integer: String,
  date: (code) => printDate(code as number),
  instant: (code) => printInstant(code as number),
  // Stands for any JSON, because the code only says that there is a value. PostgreSQL answers lists that show the value.
  json: () => 'true',
  decimal: (code, scale) => (code === Number.POSITIVE_INFINITY ? 'NaN' : printUnits(String(code), scale)),
}

/** Prints a decimal. `units`: the decimal times 10^scale. `scale`: digits after the point. */
export function printUnits(units: string, scale: number): string {
  if (scale === 0) return units
  const sign = units.startsWith('-') ? '-' : ''
  const digits = units.slice(sign.length).padStart(scale + 1, '0')
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

const pairs = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

function printDate(days: number, time = ''): string {
  if (!Number.isFinite(days)) return days > 0 ? 'infinity' : '-infinity'
  const { year, month, day } = dateOf(days)
  const shown = String(year > 0 ? year : 1 - year).padStart(4, '0')
  return `${shown}-${pairs[month]}-${pairs[day]}${time}${year > 0 ? '' : ' BC'}`
}

/** Prints an instant as PostgreSQL does. `seconds`: since the start of 2000. */
export function printInstant(seconds: number): string {
  const days = Math.floor(seconds / DAY)
  const inDay = seconds - days * DAY
  const hour = (inDay / HOUR) | 0
  const minute = ((inDay / MINUTE) | 0) % 60
  return printDate(days, ` ${pairs[hour]}:${pairs[minute]}:${pairs[inDay % 60]}+00`)
}

/** First and last second of the years 1 to 9999. */
const FIRST_INSTANT = daysOf(1, 1, 1) * DAY
const LAST_INSTANT = daysOf(10_000, 1, 1) * DAY - 1
