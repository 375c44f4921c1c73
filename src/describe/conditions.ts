// Filters in the OpenAPI document. Patterns accept only what the parser accepts, because tools generate requests from them.
import { type TArray, Type } from '@sinclair/typebox'
import type { Kind, KindName } from '../model/kinds.ts'
import { pascalCase } from '../model/names.ts'
import { type Operator, prefixes } from '../model/operators.ts'
import { anyOf, DATE_PATTERN, DAY_PATTERN, LEAP_DAY_PATTERN, TIME_PATTERN } from '../model/plainInstant.ts'
import { FILTERS_MAX, RELATED_FILTERS_MAX, VALUES_MAX } from '../parse/filter.ts'
import { type Schema, schemaRef, someOf } from './schema.ts'

const LEAP_SECOND = '[Tt]23:59:60(?:\\.[0-9]+)?[Zz]'
const OFFSET = '[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]'
/** Pattern of years that stay within 1 to 9999 with any offset from UTC. */
const INNER_YEAR = anyOf(
  '[1-8][0-9]{3}',
  '9[0-8][0-9]{2}',
  '99[0-8][0-9]',
  '999[0-8]',
  '0[1-9][0-9]{2}',
  '00[1-9][0-9]',
  '000[2-9]',
)

/** Pattern of date-times by RFC 3339 whose day exists, in the years 1 to 9999. D15 */
export const INSTANT_PATTERN = anyOf(
  `${DATE_PATTERN}[Tt]${TIME_PATTERN}[Zz]`,
  `${anyOf(`${INNER_YEAR}-${DAY_PATTERN}`, LEAP_DAY_PATTERN)}${anyOf(`[Tt]${TIME_PATTERN}${OFFSET}`, LEAP_SECOND)}`,
)

/** Patterns of operands by kind of property. */
const operandPatterns: Readonly<Record<KindName, (kind: Kind) => string>> = {
  text: () => '[^\\u0000]+',
  oneOf: ({ values = [] }) => anyOf(...values.map((value) => value.replace(/[^\p{L}\p{N} _,&/-]/gu, '\\$&'))),
  uuid: () => '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}',
  boolean: () => anyOf('[Tt][Rr][Uu][Ee]', '[Ff][Aa][Ll][Ss][Ee]'),
  integer: () => '-?[0-9]+',
  // The parser accepts up to 200 digits, counted when the number is written without its exponent. This pattern allows fewer.
  decimal: () => '-?[0-9]{1,50}(?:\\.[0-9]{1,50})?(?:[eE][+-]?[0-9]{1,2})?',
  date: () => DATE_PATTERN,
  instant: () => INSTANT_PATTERN,
  // JSON values are not compared, so an operator has no operand.
  json: () => '',
}

/**
 * Pattern of conditions on free texts. An operand must follow `<`, `<=`, `>` and `>=`; a condition that does not begin with one
 * of these can be any text.
 */
const TEXT_CONDITION = '^(?:[<>](?:=[^\\u0000]+|[^=\\u0000][^\\u0000]*)|[^<>\\u0000][^\\u0000]*)?$'

/** Pattern of a text with at least one character that is not an accent. D72 */
const PART_PATTERN = '^[\\u0300-\\u036f]*[^\\u0000\\u0300-\\u036f][^\\u0000]*$'

/** Returns the operators that a kind supports in front of a value. */
export const prefixesFor = (kind: Kind) => prefixes.filter((operator) => operator.serves({ kind, reference: null }))

/** Returns the pattern of what follows the first `=` of a filter on a property of this kind. */
export function conditionPattern(kind: Kind): string {
  if (kind.isFreeText) return TEXT_CONDITION
  const serving = prefixesFor(kind)
  if (!kind.isCompared) return `^${anyOf(...serving.map(({ sign }) => sign))}?$`
  const valueless = serving.filter(({ compileEmpty }) => compileEmpty !== null).map(({ sign }) => sign)
  const signs = serving.map(({ sign }) => sign)
  return `^(?:${anyOf(...signs)}?${operandPattern(kind)}|${anyOf(...valueless)}?)$`
}

export function operandPattern(kind: Kind): string {
  return operandPatterns[kind.name](kind)
}

/** Returns the name of a schema of a kind: `IntegerCondition`, or `IntegerValue` for operands. */
const schemaNameOf = ({ name }: Kind, suffix: 'Condition' | 'Value') => pascalCase(name) + suffix

/**
 * Schema of a filter on a property of this kind. It is always an array, because generated clients send "a value or an array" as
 * one text.
 */
export function filterSchema(kind: Kind, filtersMax = FILTERS_MAX): TArray {
  const items = kind.values ? conditionSchema(kind) : schemaRef(schemaNameOf(kind, 'Condition'))
  return someOf(items, filtersMax)
}

/** Returns the schema of the filters `name[operator]=operand`: an array of operands. D71 */
export function bracketSchema(kind: Kind, { isAny, isChain }: Operator, filtersMax = FILTERS_MAX): TArray {
  if (isChain) return someOf(Type.String({ pattern: `^${operandPattern(kind)}$` }), RELATED_FILTERS_MAX)
  if (!isAny) return someOf(schemaRef('TextPart'), filtersMax)
  const items = kind.values ? valueSchema(kind) : schemaRef(schemaNameOf(kind, 'Value'))
  return someOf(items, VALUES_MAX)
}

/** Schemas of conditions and operands for properties of these kinds. */
export function conditionSchemas(kinds: readonly Kind[]): Record<string, Schema> {
  const schemas: Record<string, Schema> = {}
  for (const kind of kinds.filter(({ values }) => !values)) {
    schemas[schemaNameOf(kind, 'Condition')] = conditionSchema(kind)
    if (kind.isCompared) schemas[schemaNameOf(kind, 'Value')] = valueSchema(kind)
  }
  const part = Type.String({ description: 'A part of a text, whatever its case and accents.', pattern: PART_PATTERN })
  return { ...schemas, ...(kinds.some(({ isFreeText }) => isFreeText) && { TextPart: part }) }
}

function valueSchema(kind: Kind): Schema {
  return Type.String({ description: 'An empty value is none.', pattern: `^(?:${operandPattern(kind)})?$` })
}

function conditionSchema(kind: Kind): Schema {
  const meanings = prefixesFor(kind).map(({ sign, meaning }) => `\`${sign}\` ${meaning}`)
  if (!kind.isCompared) {
    const description = 'An operator alone: `=` finds rows without a value, `!=` the others.'
    return Type.String({ description, pattern: conditionPattern(kind) })
  }
  const description = `An operator and a value without a space between; without an operator it is \`=\`. ${meanings.join('; ')}. An empty value is none: \`=\` finds rows without one, \`!=\` the others.`
  return Type.String({ description, pattern: conditionPattern(kind) })
}
