// Turns filters into conditions on codes or ranks. If codes cannot decide a filter, gives the reason, and PostgreSQL answers the
// request instead.
import type { Entity } from '../model/entity.ts'
import { isKeptAsText, type Kind } from '../model/kinds.ts'
import type { Sides } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { type Code, compareCodes, operandOf } from './codes.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import type { Ids } from './idSet.ts'
import type { IndexedBy } from './indexes.ts'
import type { RowCodes } from './rowCodes.ts'

/** Reason why a list cannot be found in columns. */
export type Reason =
  /** The list compares or sorts by a value that has no code. */
  | 'values'
  /** The order of texts that the list needs, or the folded form of texts, is not known yet. */
  | 'texts'
  /** An index that the list needs is being built, or there is no memory for it. */
  | 'index'
  /** Another table that the list needs is not in memory, or its ids are too far apart. */
  | 'related'

/** A set of rows. A condition on a reference tests whether the reference leads to one of them. */
export interface ReferredRows {
  /** Name of the set, unique among the sets of rows for this reference. */
  readonly key: string
  /** Text that stays the same only while the rows are certainly the same. */
  readonly version: string
  /** Returns the ids of the rows. @throws KernelFull; IndexMissing */
  ids(): Ids
}

/** A condition on the values of a row: on one value, or a union of such conditions. */
export type Condition = ColumnCondition | UnionCondition

/** A condition with alternatives: a row must meet all conditions of one of the lists in `either`. */
export interface UnionCondition {
  readonly either: readonly (readonly Condition[])[]
  /** Name of the condition, unique among the conditions of its table. */
  readonly key: string
}

/**
 * A condition on the code, or rank, of a property. The code must be in a range, one of several codes, or the id of a referred
 * row. `isComplement` negates the condition.
 */
export interface ColumnCondition {
  readonly column: number
  readonly by: IndexedBy
  readonly least: Code
  readonly greatest: Code
  /**
   * Codes in ascending order; a row must have one of them. The last may be NaN, which means no value. Null: the range decides.
   */
  readonly among: readonly Code[] | null
  readonly referred: ReferredRows | null
  readonly isComplement: boolean
  /** Name of the condition, unique among the conditions of its table. */
  readonly key: string
  /**
   * One more than the greatest code that a text had when the condition was made. The condition cannot judge texts with this code
   * or a greater one. Infinity: no later text can meet the condition.
   */
  readonly codesEnd: number
}

/** Parts of a table that are needed to turn filters into conditions. */
export interface Coded {
  readonly entity: Entity
  readonly rowCodes: RowCodes
  /** Number of rows that have a value without a code, by column. */
  readonly uncoded: Int32Array
}

/**
 * Position of a text among the ranks. Texts that come before it have ranks below `bound`. `equal`: rank of the text itself; null
 * if no row has the text.
 */
export interface TextBound {
  readonly bound: number
  readonly equal: number | null
}

/** Facts about the texts of filters. Each function returns null while the answer is not known yet. */
export interface KnownTexts {
  /** Returns the position of an operand in the order of a column's texts. */
  boundOf(column: number, operand: string): TextBound | null
  /** Returns the codes of the texts that a folded filter matches, in ascending order. */
  codesOf(filter: Filter): readonly number[] | null
}

/** Returns the conditions on columns that a condition consists of. */
export function leavesOf(condition: Condition): readonly ColumnCondition[] {
  return 'either' in condition ? condition.either.flat().flatMap(leavesOf) : [condition]
}

/**
 * Returns a name for a list of conditions. It contains the lengths of their keys, so that two different lists never get the same
 * name.
 */
export function keyOf(conditions: readonly Condition[]): string {
  return conditions.map(({ key }) => ` ${key.length} ${key}`).join('')
}

/**
 * Returns the conditions of filters, or the reason why codes cannot decide them. Two ranges of one property become one condition.
 */
export function conditionsOf(table: Coded, filters: readonly Filter[], texts: KnownTexts): ColumnCondition[] | Reason {
  const conditions: ColumnCondition[] = []
  for (const filter of filters) {
    const condition = conditionOf(table, filter, texts)
    if (typeof condition === 'string') return condition
    const other = conditions.findIndex((one) => canIntersect(one, condition))
    if (other < 0) conditions.push(condition)
    else conditions[other] = intersection(conditions[other], condition)
  }
  return conditions
}

function canIntersect(one: ColumnCondition, other: ColumnCondition): boolean {
  return isRange(one) && isRange(other) && one.column === other.column && one.by === other.by
}

/** Returns whether the condition is a range of codes or ranks. */
export function isRange({ among, referred, isComplement }: ColumnCondition): boolean {
  return among === null && referred === null && !isComplement
}

function intersection(one: ColumnCondition, other: ColumnCondition): ColumnCondition {
  return {
    ...one,
    least: compareCodes(one.least, other.least) > 0 ? one.least : other.least,
    greatest: compareCodes(one.greatest, other.greatest) < 0 ? one.greatest : other.greatest,
    key: `${one.key}\0\0${other.key}`,
    codesEnd: Math.min(one.codesEnd, other.codesEnd),
  }
}

function conditionOf(table: Coded, filter: Filter, texts: KnownTexts): ColumnCondition | Reason {
  const { property, operator, value, anyOf } = filter
  const { kind } = property
  const { sides } = operator
  const column = table.entity.properties.indexOf(property)
  if (table.uncoded[column] > 0) return 'values'
  const size = table.rowCodes.dictionaries[column]?.size ?? Number.POSITIVE_INFINITY
  // A filter without a value must not get the same key as a filter with the text "null".
  const key = `${column} ${operator.sign}${value ?? '\0'}`
  if (anyOf) {
    const codes = anyOf.flatMap((one) => codesOf(table, column, kind, one)).sort(compareCodes)
    return { ...amongCodes(column, codes), key, codesEnd: size }
  }
  if (operator.folded) {
    const codes = texts.codesOf(filter)
    return codes === null ? 'texts' : { ...amongCodes(column, codes), key, codesEnd: size }
  }
  if (!sides) return 'values'
  if (value === null) return noValue(column, kind, sides, key)
  const operand = kind.printFilter(value)
  if (isKeptAsText(kind.name) && sides.less !== sides.greater) {
    const bound = texts.boundOf(column, operand)
    if (bound === null) return 'texts'
    return { ...rangeOf(column, sides, neighborsOf(bound)), by: 'ranks', key, codesEnd: size }
  }
  if (!isKeptAsText(kind.name)) {
    const around = operandOf(kind.name, table.rowCodes.scaleOf(column), operand)
    return { ...rangeOf(column, sides, around), key, codesEnd: Number.POSITIVE_INFINITY }
  }
  const code = table.rowCodes.find(column, operand)
  const equal = code === null ? null : Number(code)
  const range = rangeOf(column, sides, { equal, below: Number.NaN, above: Number.NaN })
  return { ...range, key, codesEnd: equal === null ? size : Number.POSITIVE_INFINITY }
}

/** Returns the condition for rows without a value, or for rows with one. */
function noValue(column: number, kind: Kind, { equal }: Sides, key: string): ColumnCondition {
  const least = kind.emptyIsNoValue ? EMPTY_TEXT + 1 : Number.NEGATIVE_INFINITY
  return {
    column,
    by: 'codes',
    least,
    greatest: Number.POSITIVE_INFINITY,
    among: null,
    referred: null,
    isComplement: equal,
    key,
    codesEnd: Number.POSITIVE_INFINITY,
  }
}

/** Returns the codes of a value in a column. Null has two codes if the empty text also counts as no value. */
function codesOf({ rowCodes }: Coded, column: number, kind: Kind, value: string | null): Code[] {
  if (value === null) return kind.emptyIsNoValue ? [Number.NaN, EMPTY_TEXT] : [Number.NaN]
  const code = rowCodes.find(column, kind.printFilter(value))
  return code === null ? [] : [code]
}

type Range = Omit<ColumnCondition, 'key' | 'codesEnd'>

function amongCodes(column: number, codes: readonly Code[]): Range {
  const least = codes[0] ?? Number.POSITIVE_INFINITY
  const greatest = codes.at(-1) ?? Number.NEGATIVE_INFINITY
  return { column, by: 'codes', least, greatest, among: codes, referred: null, isComplement: false }
}

/**
 * The code of an operand, and the codes around it: the greatest code below, and the least code above. `equal`: null if no row can
 * have the operand as its value.
 */
interface Neighbors {
  readonly equal: Code | null
  readonly below: Code
  readonly above: Code
}

function neighborsOf({ bound, equal }: TextBound): Neighbors {
  return { equal, below: bound - 1, above: equal === null ? bound : equal + 1 }
}

/**
 * Returns the range of codes that an operator matches. If the operator also matches rows without a value, the result is the
 * complement of the opposite range.
 */
function rangeOf(column: number, sides: Sides, around: Neighbors): Range {
  const isComplement = sides.none
  const { less, equal, greater } = isComplement ? { less: !sides.less, equal: !sides.equal, greater: !sides.greater } : sides
  const own = equal ? around.equal : null
  const least = less ? Number.NEGATIVE_INFINITY : (own ?? (greater ? around.above : Number.POSITIVE_INFINITY))
  const greatest = greater ? Number.POSITIVE_INFINITY : (own ?? (less ? around.below : Number.NEGATIVE_INFINITY))
  return { column, by: 'codes', least, greatest, among: null, referred: null, isComplement }
}
