// Kinds of property: how values are parsed from JSON and from filters, stored in PostgreSQL, and written as JSON.
import { compareDecimals, DECIMAL_DIGITS, DIGITS_MAX, plainDecimal, printDecimal } from './decimal.ts'
import { KIND_TRAITS, type KindName, type KindTraits } from './kindTraits.ts'
import { nearestOf } from './nearest.ts'

// Re-exported, so that other rooms import all about kinds from this file. Code for browsers imports `kindTraits.ts` itself.
export {
  isKeptAsText,
  isNotated,
  KIND_TRAITS,
  type KindName,
  type PlainName,
  type TemporalName,
} from './kindTraits.ts'

/** Maximum length of a computed text: two names of 200 characters and a space. */
export const READ_ONLY_LENGTH_MAX = 401
/** Maximum characters of a text that is indexed, so that it fits into an index entry of 2,704 bytes. */
export const INDEXED_LENGTH_MAX = 650

/** Thrown for a value that does not fit a kind. `message` continues a sentence that begins with the property's name. */
export class Mismatch extends Error {}

/** A JSON number as its source text: a binary float would lose the notation of `1e2` and `4.00000000`. */
export class JsonNumber {
  constructor(readonly source: string) {}
}

/** A kind as a declaration has it: the traits of its name, and its limits. */
export interface Kind extends KindTraits {
  readonly name: KindName
  /** All allowed values; undefined if the kind does not list them. */
  readonly values?: readonly string[]
  /**
   * The least and the greatest allowed number. Undefined for ids, for kinds that are not numbers, and for decimals without a
   * declared range, which may be any number from 0 up.
   */
  readonly range?: NumberRange
  /** Maximum length in code points. */
  readonly lengthMax?: number
  /** Digits of a decimal after the point; 0 for other kinds. */
  readonly scale: number
  /** Allowed values in words, which continue "must be", for messages and documentation. */
  readonly allowed: string
  /** Type of the column as PostgreSQL's `format_type` prints it. */
  readonly columnType: string
  /** JSON Schema of a value in a response, without null. */
  readonly schema: Readonly<Record<string, unknown>>
  /** False if the value is never null; `default` replaces a missing value. Spec 4.1, rule 2. */
  readonly nullable: boolean
  readonly default: string | null
  /** Converts a JSON value that is not null to text for PostgreSQL. @throws Mismatch */
  parseJson(value: unknown): string
  /** Converts a filter's operand that is not empty to text for PostgreSQL. @throws Mismatch */
  parseFilter(text: string): string
  /** Converts a result of `parseFilter` to what the column would print, so that equal values have equal texts. */
  printFilter(operand: string): string
  /** Converts PostgreSQL's text to the JSON value of a response; null if the text is JSON already. */
  readonly readText: ((text: string) => string | number | boolean) | null
}

type Base = KindTraits & Pick<Kind, 'name' | 'scale' | 'nullable' | 'default' | 'printFilter'>

/**
 * Returns the members of a kind in which most kinds agree: the traits of its name, and defaults for members that are not traits.
 */
export function baseOf(name: KindName): Base {
  return {
    name,
    ...KIND_TRAITS[name],
    scale: 0,
    nullable: true,
    default: null,
    printFilter: asGiven,
  }
}

function asGiven(operand: string): string {
  return operand
}

/** Text of at most `lengthMax` code points, ordered by the collation for names. */
export function textKind(lengthMax: number): Kind {
  const allowed = `a text of at most ${lengthMax} characters`
  return {
    ...baseOf('text'),
    lengthMax,
    allowed,
    columnType: 'text',
    schema: { type: 'string', maxLength: lengthMax },
    parseJson(value) {
      if (typeof value !== 'string') throw misfit(this)
      if (isLongerThan(value, lengthMax)) throw new Mismatch(`must be ${allowed}`)
      if (value.includes('\0')) throw new Mismatch('must not contain the character NUL')
      if (!value.isWellFormed()) throw new Mismatch('must not contain half of a surrogate pair')
      return value
    },
    parseFilter(text) {
      if (text.includes('\0')) throw new Mismatch('must not contain the character NUL')
      return text
    },
    readText: (text) => text,
  }
}

function misfit({ allowed, nullable }: Pick<Kind, 'allowed' | 'nullable'>): Mismatch {
  return new Mismatch(`must be ${allowed}${nullable ? ', or null' : ''}`)
}

/** Parses a JSON text as if it were a filter's operand. @throws Mismatch */
export function parseJsonText(this: Kind, value: unknown): string {
  if (typeof value !== 'string') throw misfit(this)
  return this.parseFilter(value)
}

/**
 * Returns whether a text has more than `lengthMax` code points, as PostgreSQL's char_length counts them. The code points are
 * counted only if the number of UTF-16 units does not tell: a code point has one or two units.
 */
function isLongerThan(text: string, lengthMax: number): boolean {
  return text.length > lengthMax && (text.length > 2 * lengthMax || [...text].length > lengthMax)
}

export const booleanKind: Kind = {
  ...baseOf('boolean'),
  allowed: 'true or false',
  columnType: 'boolean',
  schema: { type: 'boolean' },
  nullable: false,
  default: 'false',
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
/** Fast path: matches most integers, which are within bigint, and are written as PostgreSQL prints them. */
const PLAIN_INTEGER = /^[1-9]\d{0,17}$/

const INTEGER = { ...baseOf('integer'), columnType: 'bigint', parseFilter: parseIntegerFilter, readText: null }

/** Kind of ids and references: numbers from 1 to 2^53-1. */
export function idKind(nullable: boolean): Kind {
  return {
    ...INTEGER,
    allowed: 'an integer',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    nullable,
    parseJson(value) {
      const plain = parseInteger(value, this)
      const number = Number(plain)
      // No row has an id outside of this range, so 0 stands for all such ids.
      return number >= 1 && number <= Number.MAX_SAFE_INTEGER ? plain : '0'
    },
  }
}

/** A range of numbers, ends included. */
export interface NumberRange {
  readonly min: number
  readonly max: number
}

/** Kind of an integer in a range; a JSON number keeps both ends exactly. */
export function integerKind({ min, max }: NumberRange): Kind {
  const allowed = `an integer from ${min} to ${max}`
  return {
    ...INTEGER,
    range: { min, max },
    allowed,
    schema: { type: 'integer', minimum: min, maximum: max },
    parseJson(value) {
      const plain = parseInteger(value, this)
      // Rounding is harmless here: a number beyond 2^53 stays outside of the range.
      if (Number(plain) < min || Number(plain) > max) throw new Mismatch(`must be ${allowed}`)
      return plain
    },
  }
}

/** Parses an integer. @throws Mismatch */
function parseInteger(value: unknown, kind: Pick<Kind, 'allowed' | 'nullable'>): string {
  const plain = value instanceof JsonNumber ? plainDecimal(value.source) : null
  if (!plain || plain.includes('.')) throw misfit(kind)
  return plain
}

function parseIntegerFilter(text: string): string {
  if (PLAIN_INTEGER.test(text)) return text
  if (!INTEGER_FILTER.test(text)) throw new Mismatch('must be an integer: digits, after a minus sign or not')
  // A number beyond bigint is replaced by the nearest end of bigint's range. No stored number is as large, so comparisons have
  // the same results.
  const number = BigInt(text)
  if (number > BIGINT_MAX) return String(BIGINT_MAX)
  return number < -BIGINT_MAX ? String(-BIGINT_MAX) : String(number)
}

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** Exclusive end of the range of a decimal that is bounded only by its digits. */
export const DECIMAL_END = 10 ** DECIMAL_DIGITS

/**
 * Kind of an exact number with up to 10 digits before the point and `scale` after it. It is printed with all `scale` digits.
 * `range`: undefined if every number from 0 up is allowed.
 */
export function decimalKind(scale: number, range?: NumberRange): Kind {
  const { min, max } = range ?? { min: 0, max: DECIMAL_END }
  const least = plainDecimal(String(min)) as string
  const greatest = plainDecimal(String(max)) as string
  const allowed = `a number ${rangeInWords({ min, max })} with up to ${DECIMAL_DIGITS} digits before and ${scale} after the point`
  return {
    ...baseOf('decimal'),
    scale,
    allowed,
    columnType: `numeric(${DECIMAL_DIGITS + scale},${scale})`,
    ...(range ? { range } : {}),
    schema: { type: 'number', minimum: min, ...(max < DECIMAL_END ? { maximum: max } : {}) },
    parseJson(value) {
      if (!(value instanceof JsonNumber)) throw misfit(this)
      const plain = plainDecimal(value.source)
      if (!plain || !fitsDecimal(plain, scale) || compareDecimals(plain, least) < 0 || compareDecimals(plain, greatest) > 0)
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

/** Returns whether a decimal without an exponent has at most 10 digits before and `scale` after the point. */
export function fitsDecimal(plain: string, scale: number): boolean {
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.')
  return whole.length <= DECIMAL_DIGITS && fraction.length <= scale
}

function rangeInWords({ min, max }: NumberRange): string {
  return max === DECIMAL_END ? `of ${min} or more` : `from ${min} to ${max}`
}

/** Matches texts that `oneOf` may list: none can be taken for an operator in a filter, and most need no escapes in URLs. */
const LISTED_TEXT = /^[\p{L}\p{N}](?:[\p{L}\p{N} _.,&/()+-]{0,98}[\p{L}\p{N})])?$/u
const VALUES_MAX = 100

/** Kind of a text that is one of `values`; ordered by collation, case-sensitive. @throws Error for a text that is not allowed */
export function oneOfKind(values: readonly string[]): Kind {
  const wrong = values.find((value, index) => !LISTED_TEXT.test(value) || values.indexOf(value) !== index)
  if (wrong !== undefined) throw new Error(`oneOf cannot have, or has twice, the text ${JSON.stringify(wrong)}`)
  if (values.length === 0 || values.length > VALUES_MAX) throw new Error(`oneOf needs 1 to ${VALUES_MAX} texts`)
  const allowed = values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`
  const parse = (text: string) => {
    if (values.includes(text)) return text
    const nearest = text === '' ? null : nearestOf(text, values)
    throw new Mismatch(`must be ${allowed}${nearest === null ? '' : `; for ${text} write ${nearest}`}`)
  }
  return {
    ...baseOf('oneOf'),
    values,
    allowed,
    columnType: 'text',
    schema: { type: 'string', enum: values },
    parseJson: parseJsonText,
    parseFilter: parse,
    readText: (text) => text,
  }
}

const UUID_FORM = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const UUID = new RegExp(`^${UUID_FORM}$`)
const UUID_ALLOWED = 'a UUID like 0192e4a8-5c7e-7d3a-9b1f-2f6c8d4e0a17'

/**
 * Kind of a UUID of any version, written with small letters. RFC 9562, 4. Filters do not compare UUIDs by order, because the
 * order has a meaning in only a few versions.
 */
export const uuidKind: Kind = {
  ...baseOf('uuid'),
  allowed: UUID_ALLOWED,
  columnType: 'uuid',
  schema: { type: 'string', pattern: `^${UUID_FORM}$` },
  parseJson: parseJsonText,
  parseFilter(text) {
    const lower = text.toLowerCase()
    if (UUID.test(lower)) return lower
    throw new Mismatch(`must be ${UUID_ALLOWED}${uuidHint(lower)}`)
  },
  readText: (text) => text,
}

/** Returns a hint for a UUID in a form that is not accepted: in braces, as a URN, or without hyphens; '' for any other text. */
function uuidHint(lower: string): string {
  const [, digits = ''] = /^(?:\{|urn:uuid:)?([0-9a-f-]{32,36})\}?$/.exec(lower) ?? []
  const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(digits.replaceAll('-', ''))
  return parts === null ? '' : `; write ${parts.slice(1).join('-')}`
}
