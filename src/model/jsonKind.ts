// Kind of property for JSON of any form: checked within bounds, written in one form, and stored as jsonb.
import { DIGITS_MAX, plainDecimal } from './decimal.ts'
import { baseOf, JsonNumber, type Kind, Mismatch } from './kinds.ts'

/** Maximum bytes of a value by default. */
export const JSON_BYTES_MAX = 16_384
/** Maximum bytes that a declaration may allow for a value: a page can have 50 such values. */
export const JSON_BYTES_END = 65_536
/** Maximum depth of nested objects and arrays. */
const DEPTH_MAX = 32

/**
 * Kind of a JSON value of at most `bytesMax` bytes of UTF-8, in which the names in objects are sorted. Filters can only ask
 * whether a row has a value.
 */
export function jsonKind(bytesMax: number): Kind {
  return {
    ...baseOf('json'),
    allowed: `JSON of at most ${bytesMax} bytes`,
    columnType: 'jsonb',
    schema: {},
    parseJson(value) {
      const text = canonicalJson(value, 1)
      if (Buffer.byteLength(text) > bytesMax) throw new Mismatch(`must be ${this.allowed}`)
      return text
    },
    parseFilter() {
      throw new Mismatch('is JSON, which is not compared: = alone finds rows without it, and != alone rows that have it')
    },
    readText: null,
  }
}

/**
 * Writes a parsed value, with all digits of its numbers and sorted names in its objects. Texts of equal values can differ only in
 * zeros at the end of a fraction. @throws Mismatch
 */
function canonicalJson(value: unknown, depth: number): string {
  if (value instanceof JsonNumber) return numberText(value.source)
  if (typeof value === 'string') return stringText(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth > DEPTH_MAX) throw new Mismatch(`must not have more than ${DEPTH_MAX} objects and arrays within each other`)
  if (Array.isArray(value)) return `[${value.map((one) => canonicalJson(one, depth + 1)).join()}]`
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, one]) => `${stringText(name)}:${canonicalJson(one, depth + 1)}`).join()}}`
}

/** Returns a number without an exponent: PostgreSQL would write `1e9999` with all its zeros. */
function numberText(source: string): string {
  const plain = plainDecimal(source)
  if (plain === null) throw new Mismatch(`must not have a number of more than ${DIGITS_MAX} digits`)
  return plain === '0' || /e/i.test(source) ? plain : source
}

function stringText(text: string): string {
  if (text.includes('\0')) throw new Mismatch('must not contain the character NUL')
  if (!text.isWellFormed()) throw new Mismatch('must not contain half of a surrogate pair')
  return JSON.stringify(text)
}
