import fc from 'fast-check'
import { type Collection, type Field, type Filter, type Operator, properties, related, type Sort, writable } from './model.ts'

/** Letters whose order is the same in all versions of ICU. They are few, so that many texts are equal. */
const collatedText = fc.oneof(
  { weight: 1, arbitrary: fc.constant('') },
  {
    weight: 3,
    arbitrary: fc.constantFrom('a', 'A', 'á', 'Á', 'b', 'e f', 'e-f', "e'f", 'ef', 'É', 'Zoë', 'zoe', '10', '9'),
  },
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(..."aAáÁàâäbBcçeEéEèëñøßzZ09 -'"), maxLength: 5 }) },
)

/** All texts that JSON, UTF-8 and PostgreSQL can hold: all code points but NUL. D17 */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }).map((text) => text.replaceAll('\0', '')),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom('', ' ', '\u{10ffff}', '\ufeff', '\u2028', '\\u0000', '%00', 'null', '"', '\r\n', 'e\u0301', '😀'.repeat(100)),
)

/** A decimal of 0 or more as a JSON number, and in its printed form. D13 */
export interface DecimalSample {
  written: string
  printed: string
}

const units = fc.oneof(
  fc.constantFrom(0n, 1n, 10n ** 8n, 4n * 10n ** 8n, 75n * 10n ** 7n, 10n ** 18n - 1n, 123_456_789_012_345_678n),
  fc.bigInt(0n, 10n ** 18n - 1n),
  fc.bigInt(0n, 400n).map((quarters) => quarters * 25_000_000n),
)

const decimal: fc.Arbitrary<DecimalSample> = fc
  .tuple(units, fc.constantFrom('full', 'short', 'exponent', 'E+'))
  .map(([value, style]) => {
    const digits = String(value).padStart(9, '0')
    const printed = `${digits.slice(0, -8)}.${digits.slice(-8)}`
    if (style === 'full') return { written: printed, printed }
    if (style === 'exponent') return { written: `${value}e-8`, printed }
    if (style === 'short' || value < 10n ** 8n) return { written: printed.replace(/\.?0+$/, ''), printed }
    return { written: `0.${value}E+${String(value).length - 8}`, printed }
  })

/** A date-time with an offset; `utc` of the model returns its value. D15 */
const instant = fc
  .tuple(
    fc.oneof(fc.constantFrom(0, 1_700_000_000, 951_782_400), fc.integer({ min: -62_000_000_000, max: 253_000_000_000 })),
    fc.oneof(fc.constant(0), fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 })),
    fc.constantFrom('', '', '.5', '.999999999'),
    fc.boolean(),
  )
  .map(([seconds, offsetMinutes, fraction, lower]) => {
    const local = new Date((seconds + offsetMinutes * 60) * 1000).toISOString().slice(0, 19)
    const text = `${local}${fraction}${zone(offsetMinutes)}`
    return lower ? text.toLowerCase() : text
  })

function zone(minutes: number): string {
  if (minutes === 0) return 'Z'
  const two = (part: number) => String(Math.floor(part)).padStart(2, '0')
  const distance = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(distance / 60)}:${two(distance % 60)}`
}

/** Value of a property in a body; undefined leaves the property out. A reference is an index among the existing rows. */
export type Sample = string | number | boolean | DecimalSample | null | undefined
export type Draft = Record<string, Sample>

function sample(field: Field, text: fc.Arbitrary<string>): fc.Arbitrary<Sample> {
  if (field.kind === 'boolean') return fc.constantFrom(true, false, undefined)
  const values = { text, decimal, instant, integer: fc.nat(1000) }[field.kind] as fc.Arbitrary<Sample>
  return fc.oneof({ weight: 6, arbitrary: values }, { weight: 1, arbitrary: fc.constantFrom(null, undefined) })
}

/** Draws a body. `collated`: the model can also sort its texts; `any`: the texts are any texts. */
export function draft(collection: Collection, texts: 'collated' | 'any'): fc.Arbitrary<Draft> {
  const text = texts === 'any' ? anyText : collatedText
  return fc.record(Object.fromEntries(writable[collection].map((field) => [field.name, sample(field, text)])))
}

/** Draws a property of the collection, often a property of a related row. */
export function anyField(collection: Collection): fc.Arbitrary<Field> {
  const own = fc.constantFrom(...properties[collection])
  return related[collection].length === 0 ? own : fc.oneof(own, fc.constantFrom(...related[collection]))
}

/** Draws a filter, and the value of its parameter, in which the `=` of an equality may be left out. */
export function filter(collection: Collection): fc.Arbitrary<Filter & { text: string }> {
  return anyField(collection).chain((field) => {
    const ordered: Operator[] = field.kind === 'boolean' ? ['=', '!='] : ['=', '!=', '<', '<=', '>', '>=']
    return fc
      .tuple(fc.constantFrom(...ordered), operand(field), fc.boolean(), fc.nat(9))
      .map(([operator, value, bare, empty]) => {
        const equality = operator === '=' || operator === '!='
        const text = value === '' || empty === 0 ? (equality ? '' : value || 'a') : value
        const prefix = operator === '=' && bare ? '' : operator
        return { field, operator, operand: text, text: prefix + text }
      })
  })
}

function operand(field: Field): fc.Arbitrary<string> {
  if (field.kind === 'text') return collatedText
  if (field.kind === 'boolean') return fc.constantFrom('true', 'false', 'TRUE', 'False')
  if (field.kind === 'integer')
    return fc.oneof(fc.integer({ min: 0, max: 45 }).map(String), fc.constantFrom('-3', '007', '9007199254740991'))
  if (field.kind === 'instant') return instant
  return fc.oneof(
    decimal.map(({ printed }) => printed),
    fc.constantFrom('4', '-1', '0', '0.000000001', '99999999999'),
  )
}

export function sort(collection: Collection): fc.Arbitrary<Sort & { sign: string }> {
  return fc
    .tuple(fc.constantFrom(...properties[collection]), fc.constantFrom('+', '%2B', '%20', '', '-', '-', '-'))
    .map(([field, sign]) => ({
      field,
      sign,
      descending: sign === '-',
    }))
}

/** Draws the name with other capitals, as a careless client may write it. D1, D2 */
export function spelling(name: string): fc.Arbitrary<string> {
  return fc.constantFrom(name, name, name.toLowerCase(), name.toUpperCase(), name.charAt(0).toLowerCase() + name.slice(1))
}
