// Hints for filters in the notations of other APIs, such as `filter[status][_eq]=A`, `status__eq=A` or `Id=eq.5`.
import type { Property, View } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import { Mismatch } from '../model/kinds.ts'
import { operators } from '../model/operators.ts'
import { plain } from './names.ts'
import { findRelated, meantPath } from './paths.ts'

/**
 * Operators of other APIs, each with our sign and a placeholder for the value. The placeholder is '' if the operator takes no
 * value.
 */
const OPERATORS: readonly (readonly [RegExp, string, string])[] = [
  [/^(i?like|i?regex|i?contains?i?|search|match|fts|has|substring)$/, '[contains]', '<text>'],
  [/^i?(begins?|starts?)(with)?i?$/, '[begins]', '<text>'],
  [/^(in|oneof|\d+)$/, '[]', '<value>'],
  [/^(eq|equals?|is)i?$/, '=', '<value>'],
  [/^(neq?|not|isnot)$/, '!=', '<value>'],
  [/^(lt|before)$/, '<', '<value>'],
  [/^(lte|le|max|to)$/, '<=', '<value>'],
  [/^(gt|after)$/, '>', '<value>'],
  [/^(gte|ge|min|from)$/, '>=', '<value>'],
  [/^(null|isnull|empty)$/, '=', ''],
  [/^(nnull|notnull|exists|nempty)$/, '!=', ''],
]

/** Matches names of parameters in which other APIs put filters. */
const WRAPPERS = /^(?:filters?|where|search|q|query)$/
/** Maximum length of names and of values that are interpreted. */
const READ_LENGTH_MAX = 100
/** Maximum number of values of a list that a hint repeats. */
const HINT_VALUES_MAX = 5

/**
 * Returns a hint for an operator and its value, ` Write Name[contains]=ada.`; null if the operator is unknown, or the property
 * has no such operator.
 */
export function hintForOperator(property: Property, operator: string, value: string): string | null {
  const word = plain(operator)
  const [, sign = '', placeholder = ''] = OPERATORS.find(([pattern]) => pattern.test(word)) ?? []
  if (!operators.some((one) => one.sign === sign && one.serves(property))) return null
  return ` Write ${written(property, word, sign, placeholder, value)}.`
}

/**
 * Returns a hint for a parameter whose name has a property and further parts: ` Write Status=A.` for `filter[status]=A`. Returns
 * null for all other names.
 */
export function hintForFilter(view: View, name: string, value: string): string | null {
  if (name.length > READ_LENGTH_MAX) return null
  const words = name.split(/[^a-z0-9]+/i).filter(Boolean)
  const isWrapped = words.length > 1 && WRAPPERS.test((words[0] as string).toLowerCase())
  const path = isWrapped ? words.slice(1).filter((word) => !/^(?:and|\d+)$/i.test(word)) : words
  const wrapper = isWrapped ? (words[0] as string) : ''
  // Both an operator and a property may have several words: `name__istarts_with`.
  for (let length = path.length; length > 0; length--) {
    const property = propertyOf(view, path.slice(0, length))
    const operator = path.slice(length).join('') || (/^[fw]/i.test(wrapper) ? 'eq' : 'contains')
    if (property && (isWrapped || length < path.length)) return hintForOperator(property, operator, value)
  }
  return null
}

/** Matches comparisons such as OData's `Status eq 'A'`, `status:A` and `status==A`. */
const COMPARISON = /^(?<name>[\w./]+)\s*(?:\s(?<word>eq|ne|[gl][te]|in)\s|(?<sign>[<>]=?|!=|==?|:))\s*(?<value>.+)$/i
/** Matches comparisons that are written as calls, such as OData's `contains(Name,'x')`. */
const CALL = /^(?<word>contains|startswith)\((?<name>[\w./]+),(?<value>.+)\)$/i
const WORDS: Readonly<Record<string, string>> = { '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge', '!=': 'ne' }

/** Returns a hint for a comparison in the value of a parameter, ` Write Status=A.`; null if the value is no comparison. */
export function hintForExpression(view: View, text: string): string | null {
  if (text.length > READ_LENGTH_MAX) return null
  const { name = '', word, sign = '', value = '' } = (CALL.exec(text) ?? COMPARISON.exec(text))?.groups ?? {}
  const property = propertyOf(view, name.split(/\W/))
  if (property === null) return null
  const operator = word ?? WORDS[sign] ?? 'eq'
  if (/^null$/i.test(value)) return hintForOperator(property, /^n|^!/i.test(operator) ? 'notnull' : 'null', '')
  return hintForOperator(property, operator, value.trim().replace(/^(['"])(.*)\1$/, '$2'))
}

/** Matches values such as PostgREST's `eq.5` and `in.(1,2)`, or `gte:5`. */
const PREFIXED = /^(?<word>[a-z]+)[.:](?<value>.*)$/i

/**
 * Returns a hint for a value with an operator or a list: ` Write Id=5.` for `Id=eq.5`, ` Write Id[]=1&Id[]=2.` for `Id=1,2`; ''
 * if the text contains no valid value of the property.
 */
export function hintForValue(property: Property, text: string): string {
  const { word = 'in', value = text } = PREFIXED.exec(text)?.groups ?? {}
  const isNone = /^is$/i.test(word) && /^null$/i.test(value)
  const values = isNone ? [] : plain(word) === 'in' ? valuesOf(value) : [value]
  if ((plain(word) === 'in' && values.length < 2) || values.some((one) => !isValue(property, one))) return ''
  return hintForOperator(property, isNone ? 'null' : word, isNone ? '' : value) ?? ''
}

function isValue({ kind }: Property, text: string): boolean {
  try {
    return text !== '' && kind.parseFilter(text) !== ''
  } catch (error) {
    if (error instanceof Mismatch) return false
    throw error
  }
}

/**
 * Finds the property of a path, such as `['period', 'days']`, `['days']`, `['first', 'name']`, or `['employee', 'department']`,
 * which leads through a reference.
 */
function propertyOf(view: View, path: readonly string[]): Property | null {
  const { properties } = view
  const name = path.join('').toLowerCase()
  const found = properties.find((property) => plain(property.name) === name)
  const part = found ?? properties.find((property) => property.path.at(-1)?.toLowerCase() === name)
  const related = part ? null : meantPath(view, path.join('.'))
  return part ?? (related?.namesReference ? (findRelated(view, related.name) ?? null) : null)
}

function written(property: Property, word: string, sign: string, placeholder: string, value: string): string {
  const { name } = property
  if (placeholder === '')
    return /^(?:false|0)$/i.test(value) ? `${name}=${sign === '=' ? '!=' : ''}` : `${name}=${sign === '=' ? '' : sign}`
  if (sign === '[]') {
    const values = valuesOf(value)
    const isWhole = values.length > 0 && values.length <= HINT_VALUES_MAX
    return (isWhole ? values : ['']).map((one) => `${name}[]=${operandText(one, placeholder)}`).join('&')
  }
  if (sign.startsWith('[')) {
    const isBeginning = word.endsWith('like') && /^[^%*].*[%*]$/.test(value)
    return `${name}${isBeginning ? '[begins]' : sign}=${operandText(value.replace(/^[%*]+|[%*]+$/g, ''), placeholder)}`
  }
  const operand = operandText(value, placeholder)
  // A value that begins with an operator needs an extra `=` before it.
  return sign === '=' && !/^[=!<>]/.test(value) ? `${name}=${operand}` : `${name}=${sign}${operand}`
}

/** Splits a list: `(1,2)`, `['a','b']` or `a,b`. */
function valuesOf(text: string): string[] {
  const parts = text.replace(/^[([](.*)[)\]]$/, '$1').split(',')
  return parts.map((part) => part.trim().replace(/^(['"])(.*)\1$/, '$2')).filter(Boolean)
}

/** Writes a value for a query string, percent-encoded; the placeholder if the value is empty or too long. */
export function operandText(value: string, placeholder: string): string {
  if (value === '' || value.length > READ_LENGTH_MAX) return placeholder
  return excerpt(value).replace(/[\s%&#+\p{Cc}]/gu, (sign) => encodeURIComponent(sign))
}
