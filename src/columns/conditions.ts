// Filters as conditions on codes or ranks. Null wherever codes cannot decide: then the database answers.
import { compareDecimals, plainDecimal } from '../model/decimal.ts'
import type { Entity } from '../model/entity.ts'
import { isText as isTextName, type Kind } from '../model/kinds.ts'
import type { Sides } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { compareCodes, nextAbove, nextBelow } from './codes.ts'
import { EMPTY_TEXT } from './dictionary.ts'
import type { RankTable } from './rankTable.ts'
import type { RowCodes } from './rowCodes.ts'

/** Rows whose code of a property is from the least to the greatest, or all others. */
export interface Condition {
  /** Codes of which a row must have one. Many: a test of a code. Few: for each, a condition that all other codes meet. */
  readonly anyOf?: ((code: number) => boolean) | readonly Condition[]
  readonly column: number
  readonly least: number
  readonly greatest: number
  readonly isComplement: boolean
  /** The ranks to which the range applies; null: it applies to codes. */
  readonly byRank: RankTable | null
}

/** The parts of a table by which filters become conditions on codes. */
export interface Coded {
  readonly entity: Entity
  readonly rowCodes: RowCodes
  /** By column; null where no ranks are known. */
  readonly ranks: readonly (RankTable | null)[]
  /** By column, how many rows have a value without a code. */
  readonly uncoded: Int32Array
}

/** The ranks of a column's texts; null: it has no texts. Undefined: the order of some is not known. */
export function ranksOf({ rowCodes, ranks }: Coded, column: number): RankTable | null | undefined {
  const dictionary = rowCodes.dictionaries[column]
  if (!dictionary) return null
  const known = ranks[column]
  return known && dictionary.size <= known.ranks.length ? known : undefined
}

/** Bounds of filters on texts: the rank below which texts are less than the operand, or the codes of texts that match. */
export interface TextBounds {
  get(filter: Filter): number | readonly number[] | null | undefined
}

/** Returns the conditions, cheap ones first, two ranges of one property as one; null: codes cannot decide. */
export function conditionsOf(table: Coded, filters: readonly Filter[], bounds?: TextBounds): Condition[] | null {
  const conditions: Condition[] = []
  for (const filter of filters) {
    const condition = conditionOf(table, filter, bounds)
    if (!condition) return null
    const other = conditions.findIndex((one) => canIntersect(one, condition))
    if (other < 0) conditions.push(condition)
    else conditions[other] = intersection(conditions[other], condition)
  }
  return inOrderOfCost(conditions)
}

/** Sorts conditions that are looked up row by row to the end: the fewer rows are left the better. */
export function inOrderOfCost(conditions: readonly Condition[]): Condition[] {
  const isCostly = ({ byRank, anyOf }: Condition) => Number(byRank !== null || typeof anyOf === 'function')
  return conditions.toSorted((one, other) => isCostly(one) - isCostly(other))
}

function canIntersect(one: Condition, other: Condition): boolean {
  if (one.anyOf || other.anyOf || one.column !== other.column) return false
  return one.byRank === other.byRank && !one.isComplement && !other.isComplement
}

function intersection(one: Condition, other: Condition): Condition {
  const [least, greatest] = [Math.max(one.least, other.least), Math.min(one.greatest, other.greatest)]
  return { ...one, least, greatest }
}

function conditionOf(table: Coded, filter: Filter, bounds?: TextBounds): Condition | null {
  const { property, operator, value, anyOf } = filter
  const { sides } = operator
  const column = table.entity.properties.indexOf(property)
  if (table.uncoded[column] > 0) return null
  const { kind } = property
  // Codes decide each equality; a value without one is in no row.
  if (anyOf) return amongCodes(table, column, anyOf.flatMap((value) => codesOf(table, column, kind, value)).sort(compareCodes))
  if (operator.folded) {
    const codes = bounds?.get(filter)
    return codes && typeof codes === 'object' ? amongCodes(table, column, codes) : null
  }
  if (!sides) return null
  const isText = isTextName(kind.name)
  if (value === null) {
    const least = kind.emptyIsNoValue ? EMPTY_TEXT + 1 : -Infinity
    return { column, least, greatest: Infinity, isComplement: sides.equal, byRank: null }
  }
  const operand = kind.printFilter(value)
  if (isText && sides.less !== sides.greater) return rankCondition(table, column, sides, operand, bounds?.get(filter) as number)
  const code = table.rowCodes.find(column, operand)
  return rangeOf(column, sides, code === null && !isText ? neighborsOfUnknown(kind, operand) : aroundCode(code), null)
}

/** The codes of rows that have this value. */
function codesOf({ rowCodes }: Coded, column: number, kind: Kind, value: string | null): number[] {
  if (value === null && kind.emptyIsNoValue) return [Number.NaN, EMPTY_TEXT]
  return [rowCodes.find(column, value === null ? null : kind.printFilter(value)) ?? []].flat()
}

/** Maximum codes that are compared one by one, with vectors; of more, each row's is looked up. */
const ONE_BY_ONE_MAX = 32

/** Condition that a row has one of these codes, which ascend. */
function amongCodes({ rowCodes }: Coded, column: number, codes: readonly number[]): Condition {
  const [least, greatest] = [codes[0] ?? Infinity, codes.at(-1) ?? -Infinity]
  const hasNone = Number.isNaN(greatest)
  const range = { column, least: hasNone ? -Infinity : least, greatest: hasNone ? Infinity : greatest, byRank: null }
  const size = rowCodes.dictionaries[column]?.size
  const anyOf = codes.length <= ONE_BY_ONE_MAX ? codes.map((code) => withCode(column, code, true)) : testOf(codes, size)
  return { ...range, isComplement: false, anyOf }
}

/** Tests whether a code is among these; `size`: of the dictionary, if they are of texts. */
function testOf(codes: readonly number[], size: number | undefined): (code: number) => boolean {
  if (size === undefined) {
    const set = new Set(codes)
    return (code) => set.has(code)
  }
  // A set of many thousand codes would take longer to make than to use.
  const marks = new Uint8Array(size)
  // No text has the code 0, so it stands for no value.
  for (const code of codes) marks[code | 0] = 1
  return (code) => marks[code | 0] === 1
}

/** Condition that a row has this code, or `isComplement`: any other. NaN: that of rows without a value. */
export function withCode(column: number, code: number, isComplement = false): Condition {
  const [least, greatest] = Number.isNaN(code) ? [-Infinity, Infinity] : [code, code]
  return { column, least, greatest, isComplement: Number.isNaN(code) !== isComplement, byRank: null }
}

/** The greatest code that is less than an operand's, its own, and the least that is greater. */
interface Neighbors {
  readonly equal: number | null
  below(): number
  above(): number
}

/** Null is a text that no row has; no operator needs its neighbors. */
function aroundCode(code: number | null): Neighbors {
  return { equal: code, below: () => nextBelow(code as number), above: () => nextAbove(code as number) }
}

/** Neighbors of a number that has no code itself. */
function neighborsOfUnknown(kind: Kind, operand: string): Neighbors {
  const nearest = Number(operand)
  // Between the finite codes and those of infinity and NaN.
  if (nearest === Infinity) return { equal: null, below: () => Number.MAX_VALUE, above: () => Infinity }
  if (nearest === -Infinity) return { equal: null, below: () => -Infinity, above: () => -Number.MAX_VALUE }
  // The one decimal that has this float as its code.
  const plain = plainDecimal(nearest.toPrecision(15))
  const order = plain === null || kind.name !== 'decimal' ? 0 : compareDecimals(kind.printFilter(plain), operand)
  const [below, above] = [order < 0 ? nearest : nextBelow(nearest), order > 0 ? nearest : nextAbove(nearest)]
  return { equal: null, below: () => below, above: () => above }
}

/** By the ranks of texts; null: one is not known. */
function rankCondition(table: Coded, column: number, sides: Sides, operand: string, bound?: number | null): Condition | null {
  const ranks = ranksOf(table, column)
  if (!ranks || bound == null) return null
  const code = table.rowCodes.find(column, operand)
  const equal = code === null ? null : ranks.rankOf(code)
  return rangeOf(column, sides, { equal, below: () => bound - 1, above: () => (equal === null ? bound : equal + 1) }, ranks)
}

/** Range of an operator; one that also takes rows without a value is the complement of the opposite range. */
function rangeOf(column: number, sides: Sides, around: Neighbors, byRank: RankTable | null): Condition {
  const isComplement = sides.none
  const { less, equal, greater } = isComplement ? { less: !sides.less, equal: !sides.equal, greater: !sides.greater } : sides
  const own = equal ? around.equal : null
  const least = less ? -Infinity : (own ?? (greater ? around.above() : Infinity))
  const greatest = greater ? Infinity : (own ?? (less ? around.below() : -Infinity))
  return { column, least, greatest, isComplement, byRank }
}
