import { type TSchema, Type } from '@sinclair/typebox'
import { compareDecimals, DIGITS_MAX, plainDecimal, printDecimal } from './decimal.ts'
import { instantHint, plainInstantOf } from './plainInstant.ts'
import { type Compare, compareCodes, compareInstants, compareIntegers } from './printed.ts'

/** A value that does not fit a kind; `message` continues a sentence that begins with the property's name. */
export class Mismatch extends Error {}

/** A JSON number as it was written: `1e2` and `4.00000000` survive, which a binary float would not promise. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

export type KindName = 'text' | 'oneOf' | 'boolean' | 'integer' | 'date' | 'instant' | 'decimal'

/** Those whose values have an order of their own; of texts, PostgreSQL's collation knows it. */
export type PlainName = Exclude<KindName, 'text' | 'oneOf'>

/** Whether values are texts, whichever there may be. */
export function isText(name: KindName): name is 'text' | 'oneOf' {
  return name === 'text' || name === 'oneOf'
}

/** A type of property: how it is read from JSON and from a filter, kept in PostgreSQL, and written as JSON. */
export interface Kind {
  readonly name: KindName
  /** All values that there may be; without it they are without number. */
  readonly values?: readonly string[]
  /** The least and the greatest number that there may be. */
  readonly range?: { readonly min: number; readonly max: number }
  /** The most code points that a text may have. */
  readonly lengthMax?: number
  /** Continues "must be": what is allowed, for messages and documentation. */
  readonly allowed: string
  /** The column's type as PostgreSQL's `format_type` prints it. */
  readonly columnType: string
  /** The JSON value in a response. */
  readonly schema: TSchema
  /** False: never null, and `default` stands in. Spec 4.1, rule 2. */
  readonly nullable: boolean
  readonly default: string | null
  /** Whether `<` and its like mean something. */
  readonly ordered: boolean
  /** Whether '' counts as no value in a filter. */
  readonly emptyIsNoValue: boolean
  /** JSON value (not null) → text for PostgreSQL. @throws Mismatch */
  parseJson(value: unknown): string
  /** A filter's operand (not empty) → text for PostgreSQL. @throws Mismatch */
  parseFilter(text: string): string
  /** What `parseFilter` returned → as a column would print it: values are equal where these texts are. */
  printFilter(operand: string): string
  /** The order of values as PostgreSQL prints them; null: PostgreSQL alone knows it. */
  readonly compare: Compare | null
  /** PostgreSQL's text → the JSON value of a response; null: the text is the JSON, and a number would not keep it. */
  readonly readText: ((text: string) => string | number | boolean) | null
}

/** Text of at most `lengthMax` code points, ordered as people order names. */
export function textKind(lengthMax: number): Kind {
  const allowed = `a text of at most ${lengthMax} characters`
  return {
    name: 'text',
    lengthMax,
    allowed,
    columnType: 'text',
    schema: Type.Union([Type.String({ maxLength: lengthMax }), Type.Null()]),
    nullable: true,
    default: null,
    ordered: true,
    emptyIsNoValue: true,
    parseJson(value) {
      if (typeof value !== 'string') throw new Mismatch(`must be ${allowed}${orNull(this)}`)
      if (longerThan(value, lengthMax)) throw new Mismatch(`must be ${allowed}`)
      if (value.includes('\0')) throw new Mismatch('must not contain the character NUL')
      if (!value.isWellFormed()) throw new Mismatch('must not contain half of a surrogate pair')
      return value
    },
    parseFilter(text) {
      if (text.includes('\0')) throw new Mismatch('must not contain the character NUL')
      return text
    },
    printFilter: (operand) => operand,
    // PostgreSQL's ICU may be of another version than Bun's, and orders some texts otherwise.
    compare: null,
    readText: (text) => text,
  }
}

/** What ends a sentence of what a value must be. */
export function orNull({ nullable }: Pick<Kind, 'nullable'>): string {
  return nullable ? ', or null' : ''
}

/** Counts code points, as PostgreSQL's char_length does; a text's UTF-16 length is never less. */
function longerThan(text: string, lengthMax: number): boolean {
  if (text.length <= lengthMax) return false
  let length = 0
  for (const _ of text) if (++length > lengthMax) return true
  return false
}

export const booleanKind: Kind = {
  name: 'boolean',
  allowed: 'true or false',
  columnType: 'boolean',
  schema: Type.Boolean(),
  nullable: false,
  default: 'false',
  ordered: false,
  emptyIsNoValue: false,
  parseJson(value) {
    if (typeof value !== 'boolean') throw new Mismatch('must be true or false')
    return String(value)
  },
  parseFilter(text) {
    const lower = text.toLowerCase()
    if (lower !== 'true' && lower !== 'false') throw new Mismatch('must be true or false')
    return lower
  },
  printFilter: (operand) => (operand === 'true' ? 't' : 'f'),
  compare: compareCodes,
  readText: (text) => text === 't',
}

const BIGINT_MAX = 2n ** 63n - 1n
const INTEGER_FILTER = /^-?\d+$/
/** Most of them: as PostgreSQL prints it, and within bigint. */
const PLAIN_INTEGER = /^[1-9]\d{0,17}$/

/** Ids, and references to them. Printed as numbers, from 1 to 2^53-1. */
export function integerKind(nullable: boolean): Kind {
  return {
    name: 'integer',
    allowed: 'an integer',
    columnType: 'bigint',
    schema: nullable ? Type.Union([INTEGER_SCHEMA, Type.Null()]) : INTEGER_SCHEMA,
    nullable,
    default: null,
    ordered: true,
    emptyIsNoValue: false,
    parseJson(value) {
      const plain = value instanceof JsonNumber ? plainDecimal(value.source) : null
      if (!plain || plain.includes('.')) throw new Mismatch(`must be an integer${orNull(this)}`)
      const number = Number(plain)
      // No row can have another number, so all of those stand for one that is never there.
      return number >= 1 && number <= Number.MAX_SAFE_INTEGER ? plain : '0'
    },
    parseFilter: parseIntegerFilter,
    printFilter: (operand) => operand,
    compare: compareIntegers,
    readText: Number,
  }
}

export function parseIntegerFilter(text: string): string {
  if (PLAIN_INTEGER.test(text)) return text
  if (!INTEGER_FILTER.test(text)) throw new Mismatch('must be an integer: digits, after a minus sign or not')
  // No number that is stored comes near the ends of bigint, so one beyond compares the same there.
  const number = BigInt(text)
  if (number > BIGINT_MAX) return String(BIGINT_MAX)
  return number < -BIGINT_MAX ? String(-BIGINT_MAX) : String(number)
}

const INTEGER_SCHEMA = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** A date-time to the second, in UTC. */
export const instantKind: Kind = {
  name: 'instant',
  allowed: 'a date-time like 2024-01-31T09:00:00Z',
  columnType: 'timestamp(0) with time zone',
  schema: Type.Union([Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$' }), Type.Null()]),
  nullable: true,
  default: null,
  ordered: true,
  emptyIsNoValue: false,
  parseJson(value) {
    if (typeof value !== 'string') throw new Mismatch(`must be a date-time like 2024-01-31T09:00:00Z${orNull(this)}`)
    return parseInstant(value)
  },
  parseFilter: parseInstant,
  printFilter: (operand) => `${operand.slice(0, 10)} ${operand.slice(11, 19)}+00`,
  compare: compareInstants,
  // The session's zone is UTC and its style ISO, so PostgreSQL writes 2024-01-31 09:00:00+00.
  readText: (text) => `${text.slice(0, 10)}T${text.slice(11, 19)}Z`,
}

const INSTANT = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/i
const DAY_MS = 86_400_000
const FIRST_INSTANT_MS = Date.parse('0001-01-01T00:00:00Z')

/** RFC 3339 → `YYYY-MM-DDThh:mm:ssZ`; a fraction of a second is dropped, a leap second the next one. @throws Mismatch also for 2023-02-30 */
function parseInstant(text: string): string {
  const plain = plainInstantOf(text)
  if (plain !== null) return plain
  const match = INSTANT.exec(text)
  if (!match) throw new Mismatch(`must be a date-time like 2024-01-31T09:00:00Z${instantHint(text)}`)
  const [, year, month, day, hour, minute, second, , zone] = match as unknown as string[]
  const isLeap = second === '60'
  const local = `${year}-${month}-${day}T${hour}:${minute}:${isLeap ? 59 : second}Z`
  const localMs = Date.parse(local)
  // Date.parse lets some impossible days run over into the next month, so the text must come back as it went in.
  if (Number.isNaN(localMs) || secondsText(localMs) !== local) throw new Mismatch('must be a date and time that exist')
  const ms = localMs - offsetMsOf(zone as string) + (isLeap ? 1_000 : 0)
  if (isLeap && ms % DAY_MS !== 0)
    throw new Mismatch('must be a date and time that exist: a leap second ends a day in UTC')
  const printed = secondsText(ms)
  if (ms < FIRST_INSTANT_MS || printed.length !== 20) throw new Mismatch('must be in the years 0001 to 9999, in UTC')
  return printed
}

/** @throws Mismatch */
function offsetMsOf(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4, 6))]
  if (hours > 23 || minutes > 59) throw new Mismatch('must have an offset from -23:59 to +23:59')
  return (zone.startsWith('-') ? -1 : 1) * (60 * hours + minutes) * 60_000
}

function secondsText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -5)}Z`
}

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** A number of 0 or more with `digits` before and `scale` after the point, exact and printed with all `scale`. */
export function decimalKind(digits: number, scale: number): Kind {
  const allowed = `a number of 0 or more with up to ${digits} digits before and ${scale} after the point`
  return {
    name: 'decimal',
    allowed,
    columnType: `numeric(${digits + scale},${scale})`,
    schema: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
    nullable: true,
    default: null,
    ordered: true,
    emptyIsNoValue: false,
    parseJson(value) {
      if (!(value instanceof JsonNumber)) throw new Mismatch(`must be ${allowed}${orNull(this)}`)
      const plain = plainDecimal(value.source)
      const [whole = '', fraction = ''] = plain?.split('.') ?? []
      if (!plain || plain.startsWith('-') || whole.length > digits || fraction.length > scale)
        throw new Mismatch(`must be ${allowed}`)
      return plain
    },
    parseFilter(text) {
      if (!DECIMAL.test(text)) throw new Mismatch('must be a number')
      const plain = plainDecimal(text)
      if (!plain) throw new Mismatch(`must be a number with at most ${DIGITS_MAX} digits`)
      return plain
    },
    printFilter: (operand) => printDecimal(operand, scale),
    compare: compareDecimals,
    readText: null,
  }
}
