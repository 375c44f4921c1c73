// Values as people type them: texts of the fields of a form, and the JSON that is sent for them.
import type { Row } from './resources.ts'
import type { FormField } from './writable.ts'

/** Texts of the fields of a form, by the names of their properties. */
export type Texts = Readonly<Record<string, string>>

/** Inputs of a control that shows and changes the text of a form's field. */
export interface ControlProps {
  readonly field: FormField
  readonly text: string
  /** Name of the row that was chosen for a reference; empty if the form does not know it. */
  readonly chosen: string
  /** Why the text cannot be saved; undefined if it can. */
  readonly fault: string | undefined
  /** Takes a new text, and the name of a chosen row. */
  take(text: string, chosen?: string): void
}

/** The JSON of a typed value, or why the text is no valid value. */
export type Typed = { readonly json: string } | { readonly fault: string }

/** Marks of numbers in the reader's language: `DECIMAL_MARK` is before the decimals, `GROUP_MARK` between thousands. */
const [DECIMAL_MARK, GROUP_MARK] = marksOf(undefined)

function marksOf(locale: string | undefined): readonly [decimal: string, group: string] {
  const parts = new Intl.NumberFormat(locale, { minimumFractionDigits: 1 }).formatToParts(12_345_678.9)
  const markOf = (type: string) => parts.find((part) => part.type === type)?.value
  return [markOf('decimal') ?? '.', markOf('group') ?? '']
}

/** Returns the text of a value in a field, in the reader's language. */
export function textOf({ kind, path }: Pick<FormField, 'kind' | 'path'>, row: Row): string {
  let value: unknown = row
  for (const name of path) value = (value as Row | null | undefined)?.[name]
  if (value === null || value === undefined) return ''
  return kind === 'decimal' ? printDecimal(String(value)) : String(value)
}

/** Writes a decimal with the reader's decimal mark: not rounded, and without trailing zeros. */
function printDecimal(text: string): string {
  // JavaScript writes small numbers as 1e-8. The API has at most 8 decimal places.
  const plain = /e/i.test(text) ? Number(text).toFixed(8) : text
  return plain
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace('.', DECIMAL_MARK)
}

/** Returns the JSON that a text of a field stands for. An empty text means no value, if the property may have none. */
export function typedOf(field: FormField, text: string): Typed {
  const { kind, isNullable, lengthMax, label, isRequired } = field
  if (text === '' && isRequired) return { fault: `${label} is needed.` }
  if (text === '' && isNullable) return { json: 'null' }
  if (kind === 'boolean') return { json: String(text === 'true') }
  if (text === '' && kind !== 'text' && kind !== 'oneOf') return { fault: `${label} is needed.` }
  if (field.references !== null || kind === 'integer') return typedInteger(field, text)
  if (kind === 'decimal') return typedDecimal(text)
  if (kind === 'instant' && !/^\d{4,}-\d\d-\d\dT/.test(text)) return { fault: `${label}: choose a day, too.` }
  if (kind === 'json') return isJson(text) ? { json: text } : { fault: `${label} must be JSON, such as {"a": 1}.` }
  const length = [...text].length
  if (lengthMax !== null && length > lengthMax)
    return { fault: `${label} has ${length} characters, and may have ${lengthMax}: shorten it.` }
  return { json: JSON.stringify(text) }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function typedInteger({ label, references }: FormField, text: string): Typed {
  const number = numberOf(text)
  if (number !== null && /^-?\d+$/.test(number)) return { json: number }
  return { fault: references === null ? `${label} is a whole number, such as 12.` : `${label}: choose a row of the list.` }
}

function typedDecimal(text: string): Typed {
  const number = numberOf(text)
  if (number !== null) return { json: number }
  const [whole = '', fraction = ''] = text.split(/[.,]/)
  const isEither = /^-?\d+[.,]\d{3}$/.test(text.trim())
  if (isEither) return { fault: `Is this ${whole}${fraction}, or ${whole}${DECIMAL_MARK}${fraction}0? Write it so.` }
  return { fault: `Write a number, such as 4${DECIMAL_MARK}5.` }
}

/**
 * Reads a number in the reader's language, and returns a JSON number with the same digits; null if the text is no number. Comma
 * and point are both accepted as the decimal mark, because a keypad may have only one of them. If exactly three digits follow the
 * mark, it must be the decimal mark of the reader's language: the other mark could separate thousands.
 */
export function numberOf(text: string, [decimal, group]: readonly [string, string] = [DECIMAL_MARK, GROUP_MARK]): string | null {
  const plain = latinDigits(text.trim())
    .replace(/^[\u2212\u2013]/, '-')
    .replace(/[\s\u00a0\u202f]/g, ' ')
  const thousands = group.trim() === '' ? ' ' : group
  const separated = new RegExp(`^-?\\d{1,3}(?:${escaped(thousands)}\\d{3}){2,}(?:${escaped(decimal)}\\d+)?$`)
  const once = new RegExp(`^-?\\d{1,3}${escaped(thousands)}\\d{3}${escaped(decimal)}\\d+$`)
  const spaced = thousands === ' ' && /^-?\d{1,3} \d{3}(?:\D\d+)?$/.test(plain)
  const whole = separated.test(plain) || once.test(plain) || spaced ? plain.replaceAll(thousands, '') : plain
  const isOther = /^-?\d*[.,]\d+$/.test(whole) && !whole.includes(decimal)
  if (isOther && /[.,]\d{3}$/.test(whole)) return null
  const number = whole.replace(isOther ? /[.,]/ : decimal, '.')
  if (!/^-?(?:\d+\.?\d*|\.\d+)$/.test(number)) return null
  return number
    .replace(/^(-?)0*(?=\d)/, '$1')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.$/, '')
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Replaces the digits of any script by Latin digits, which JSON requires, and the Arabic decimal mark by the reader's mark. */
function latinDigits(text: string): string {
  return text
    .replace(/\p{Nd}/gu, (digit) => {
      const code = digit.codePointAt(0) as number
      // Unicode has the ten digits of a script in a row. Going back to the first of them finds the zero.
      let zero = code
      while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1)) && code - zero < 9) zero -= 1
      return String(code - zero)
    })
    .replaceAll('\u066b', DECIMAL_MARK)
}

/** Returns the body of a request that sets these properties: `{"Period":{"Days":4.5}}`. Numbers have all digits. */
export function printBody(values: readonly { readonly name: string; readonly json: string }[]): string {
  const groups = Map.groupBy(values, ({ name }) => name.split('.')[0] as string)
  const members = [...groups].map(([key, all]) => {
    const [first] = all
    const isPlain = all.length === 1 && first?.name === key
    const parts = all.map(({ name, json }) => ({ name: name.slice(key.length + 1), json }))
    return `${JSON.stringify(key)}:${isPlain ? first?.json : printBody(parts)}`
  })
  return `{${members.join()}}`
}
