// Kinds of property: how values are parsed from JSON and from filters, stored in PostgreSQL, and written as JSON.
import { DECIMAL_DIGITS, DIGITS_MAX, plainDecimal, printDecimal } from './decimal.ts'
import { nearestOf } from './nearest.ts'

/** Characters of what an expression makes, two names of 200 and a space; and of what fits into an index, 2,704 bytes. */
export const [READ_ONLY_LENGTH_MAX, INDEXED_LENGTH_MAX] = [401, 650]

/** A value that does not fit a kind; `message` continues a sentence that begins with the property's name. */
export class Mismatch extends Error {}

/** A JSON number as it was written: `1e2` and `4.00000000` survive, which a binary float would not promise. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

export type KindName = 'text' | 'oneOf' | 'boolean' | 'integer' | 'date' | 'instant' | 'decimal'

/** Kinds whose values have an order of their own; the order of texts is that of PostgreSQL's collation. */
export type PlainName = Exclude<KindName, 'text' | 'oneOf'>

/** Returns whether values are texts, whichever there may be. */
export function isText(name: KindName): name is 'text' | 'oneOf' {
  return name === 'text' || name === 'oneOf'
}

export interface Kind {
  readonly name: KindName
  /** All values that there may be; without it they are without number. */
  readonly values?: readonly string[]
  /** The least and the greatest number that there may be. */
  readonly range?: Range
  /** The most code points that a text may have. */
  readonly lengthMax?: number
  /** Continues "must be": what is allowed, for messages and documentation. */
  readonly allowed: string
  /** The column's type as PostgreSQL's `format_type` prints it. */
  readonly columnType: string
  /** JSON Schema of a value in a response, but for null. */
  readonly schema: Readonly<Record<string, unknown>>
  /** False: never null, and `default` stands in. Spec 4.1, rule 2. */
  readonly nullable: boolean
  readonly default: string | null
  /** True if `<`, `<=`, `>` and `>=` can be applied. */
  readonly ordered: boolean
  /** True if '' counts as no value in a filter. */
  readonly emptyIsNoValue: boolean
  /** JSON value (not null) → text for PostgreSQL. @throws Mismatch */
  parseJson(value: unknown): string
  /** A filter's operand (not empty) → text for PostgreSQL. @throws Mismatch */
  parseFilter(text: string): string
  /** Prints what `parseFilter` returned as a column would print it: values are equal if these texts are. */
  printFilter(operand: string): string
  /** PostgreSQL's text → the JSON value of a response; null: the text is the JSON. */
  readonly readText: ((text: string) => string | number | boolean) | null
}

/** Defaults of most kinds. */
export const COMMON = {
  nullable: true,
  default: null,
  ordered: true,
  emptyIsNoValue: false,
  printFilter: (operand: string) => operand,
} as const

/** Text of at most `lengthMax` code points, ordered as people order names. */
export function textKind(lengthMax: number): Kind {
  const allowed = `a text of at most ${lengthMax} characters`
  return {
    ...COMMON,
    name: 'text',
    lengthMax,
    allowed,
    columnType: 'text',
    schema: { type: 'string', maxLength: lengthMax },
    emptyIsNoValue: true,
    parseJson(value) {
      if (typeof value !== 'string') throw misfit(this)
      if (longerThan(value, lengthMax)) throw new Mismatch(`must be ${allowed}`)
      if (value.includes('\0')) throw new Mismatch('must not contain the character NUL')
      if (!value.isWellFormed()) throw new Mismatch('must not contain half of a surrogate pair')
      return value
    },
    parseFilter(text) {
      if (text.includes('\0')) throw new Mismatch('must not contain the character NUL')
      return text
    },
    // PostgreSQL's ICU may be of another version than Bun's, and orders some texts otherwise.
    readText: (text) => text,
  }
}

function misfit({ allowed, nullable }: Pick<Kind, 'allowed' | 'nullable'>): Mismatch {
  return new Mismatch(`must be ${allowed}${nullable ? ', or null' : ''}`)
}

/** Parses a JSON text as a filter's operand is parsed. @throws Mismatch */
export function parseJsonText(this: Kind, value: unknown): string {
  if (typeof value !== 'string') throw misfit(this)
  return this.parseFilter(value)
}

/** Counts code points, as PostgreSQL's char_length does; a text's UTF-16 length is never less. */
function longerThan(text: string, lengthMax: number): boolean {
  return text.length > lengthMax && (text.length > 2 * lengthMax || [...text].length > lengthMax)
}

export const booleanKind: Kind = {
  ...COMMON,
  name: 'boolean',
  allowed: 'true or false',
  columnType: 'boolean',
  schema: { type: 'boolean' },
  nullable: false,
  default: 'false',
  ordered: false,
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
  readText: (text) => text === 't',
}

const BIGINT_MAX = 2n ** 63n - 1n
const INTEGER_FILTER = /^-?\d+$/
/** Most of them: as PostgreSQL prints it, and within bigint. */
const PLAIN_INTEGER = /^[1-9]\d{0,17}$/

const INTEGER = { ...COMMON, name: 'integer', columnType: 'bigint', parseFilter: parseIntegerFilter, readText: null } as const

/** Ids, and references to them. Printed as numbers, from 1 to 2^53-1. */
export function idKind(nullable: boolean): Kind {
  return {
    ...INTEGER,
    allowed: 'an integer',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    nullable,
    parseJson(value) {
      const plain = parseInteger(value, this)
      const number = Number(plain)
      // No row can have another number, so all of those stand for one that is never there.
      return number >= 1 && number <= Number.MAX_SAFE_INTEGER ? plain : '0'
    },
  }
}

/** The integers from `min` to `max`, both of which a JSON number keeps. */
export interface Range {
  readonly min: number
  readonly max: number
}

/** An integer of a range. */
export function integerKind({ min, max }: Range): Kind {
  const allowed = `an integer from ${min} to ${max}`
  return {
    ...INTEGER,
    range: { min, max },
    allowed,
    schema: { type: 'integer', minimum: min, maximum: max },
    parseJson(value) {
      const plain = parseInteger(value, this)
      // Rounded or not, a number beyond 2^53 is beyond the range.
      if (Number(plain) < min || Number(plain) > max) throw new Mismatch(`must be ${allowed}`)
      return plain
    },
  }
}

/** @throws Mismatch */
function parseInteger(value: unknown, kind: Pick<Kind, 'allowed' | 'nullable'>): string {
  const plain = value instanceof JsonNumber ? plainDecimal(value.source) : null
  if (!plain || plain.includes('.')) throw misfit(kind)
  return plain
}

function parseIntegerFilter(text: string): string {
  if (PLAIN_INTEGER.test(text)) return text
  if (!INTEGER_FILTER.test(text)) throw new Mismatch('must be an integer: digits, after a minus sign or not')
  // No number that is stored comes near the ends of bigint, so one beyond compares the same there.
  const number = BigInt(text)
  if (number > BIGINT_MAX) return String(BIGINT_MAX)
  return number < -BIGINT_MAX ? String(-BIGINT_MAX) : String(number)
}

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** A number of 0 or more with 10 digits before and `scale` after the point, exact and printed with all `scale`. */
export function decimalKind(scale: number): Kind {
  const allowed = `a number of 0 or more with up to ${DECIMAL_DIGITS} digits before and ${scale} after the point`
  return {
    ...COMMON,
    name: 'decimal',
    allowed,
    columnType: `numeric(${DECIMAL_DIGITS + scale},${scale})`,
    schema: { type: 'number', minimum: 0 },
    parseJson(value) {
      if (!(value instanceof JsonNumber)) throw misfit(this)
      const plain = plainDecimal(value.source)
      const [whole = '', fraction = ''] = plain?.split('.') ?? []
      if (!plain || plain.startsWith('-') || whole.length > DECIMAL_DIGITS || fraction.length > scale)
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
    readText: null,
  }
}

/** Letters, digits, and a few marks between: in a filter none is taken for an operator, in an address most need no code. */
const CHOICE = /^[\p{L}\p{N}](?:[\p{L}\p{N} _.,&/()+-]{0,98}[\p{L}\p{N})])?$/u
const VALUES_MAX = 100

/** Texts of a list, ordered as people order names; their case counts. @throws Error where a text cannot be one */
export function oneOfKind(values: readonly string[]): Kind {
  const wrong = values.find((value, index) => !CHOICE.test(value) || values.indexOf(value) !== index)
  if (wrong !== undefined) throw new Error(`oneOf cannot have, or has twice, the text ${JSON.stringify(wrong)}`)
  if (values.length === 0 || values.length > VALUES_MAX) throw new Error(`oneOf needs 1 to ${VALUES_MAX} texts`)
  const allowed = values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`
  const parse = (text: string) => {
    if (values.includes(text)) return text
    const nearest = text === '' ? null : nearestOf(text, values)
    throw new Mismatch(`must be ${allowed}${nearest === null ? '' : `; for ${text} write ${nearest}`}`)
  }
  return {
    ...COMMON,
    name: 'oneOf',
    values,
    allowed,
    columnType: 'text',
    schema: { type: 'string', enum: values },
    parseJson: parseJsonText,
    parseFilter: parse,
    // As of any text, PostgreSQL alone knows it.
    readText: (text) => text,
  }
}
