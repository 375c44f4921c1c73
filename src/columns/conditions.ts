// Filters as conditions on codes or ranks. Null wherever codes cannot decide: then the database answers.
import { compareDecimals, plainDecimal } from '../model/decimal.ts'
import type { Entity } from '../model/entity.ts'
import { isText as isTextName, type Kind } from '../model/kinds.ts'
import { equality, type Sides } from '../model/operators.ts'
import type { Filter } from '../model/query.ts'
import { nextAbove, nextBelow } from './codes.ts'
import { EMPTY_TEXT, NO_TEXT } from './dictionary.ts'
import type { RankTable } from './rankTable.ts'
import type { RowCodes } from './rowCodes.ts'

/** Rows whose code of a property is from the least to the greatest, or all others. */
export interface Condition {
  /** Alternatives, of which a row must meet one; the range has all their codes. */
  readonly anyOf?: readonly Condition[]
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
  /** Ranks of 1 for these codes of a column, and of 0 for the others, until the list is found; null: there is no memory. */
  mark(column: number, codes: readonly number[]): RankTable | null
}

/** The ranks of a column's texts; null: it has no texts. Undefined: the order of some is not known. */
export function ranksOf({ rowCodes, ranks }: Coded, column: number): RankTable | null | undefined {
  const dictionary = rowCodes.dictionaries[column]
  if (!dictionary) return null
  return ranks[column]?.knows(dictionary.size) ? ranks[column] : undefined
}

/** Bounds of filters on texts: the rank below which texts are less than the operand, or the codes of texts that match. */
export type TextBounds = ReadonlyMap<Filter, number | readonly number[]>

/** Returns the conditions, cheap ones first, two ranges of one property as one; null: codes cannot decide. */
export function conditionsOf(table: Coded, filters: readonly Filter[], bounds?: TextBounds): Condition[] | null {
  const conditions: Condition[] = []
  for (const filter of filters) {
    const condition = conditionOf(table, filter, bounds)
    if (!condition) return null
    const other = conditions.findIndex((one) => canMeet(one, condition))
    if (other < 0) conditions.push(condition)
    else conditions[other] = met(conditions[other] as Condition, condition)
  }
  return inOrderOfCost(conditions)
}

/** Ranks are looked up row by row, so the fewer rows are left the better. */
export function inOrderOfCost(conditions: readonly Condition[]): Condition[] {
  return conditions.toSorted((one, other) => Number(one.byRank !== null) - Number(other.byRank !== null))
}

function canMeet(one: Condition, other: Condition): boolean {
  if (one.anyOf || other.anyOf || one.column !== other.column) return false
  return one.byRank === other.byRank && !one.isComplement && !other.isComplement
}

function met(one: Condition, other: Condition): Condition {
  const [least, greatest] = [Math.max(one.least, other.least), Math.min(one.greatest, other.greatest)]
  return { ...one, least, greatest }
}

function conditionOf(table: Coded, filter: Filter, bounds?: TextBounds): Condition | null {
  const { property, operator, value, anyOf } = filter
  const { sides } = operator
  const column = table.entity.properties.indexOf(property)
  if ((table.uncoded[column] as number) > 0) return null
  // Codes decide each equality.
  if (anyOf) return unionOf(anyOf.map((value) => conditionOf(table, { property, operator: equality, value }) as Condition))
  if (operator.folded) return textCondition(table, column, bounds?.get(filter))
  if (!sides) return null
  const { kind } = property
  const isText = isTextName(kind.name)
  if (value === null) {
    const none = isText ? textsWithout(kind) : { least: -Infinity, greatest: Infinity }
    return { column, ...none, isComplement: isText !== sides.equal, byRank: null }
  }
  const operand = kind.printFilter(value)
  if (isText && sides.less !== sides.greater) return rankCondition(table, column, sides, operand, bounds?.get(filter) as number)
  const code = table.rowCodes.find(column, operand)
  return rangeOf(column, sides, code === null && !isText ? aroundNone(kind, operand) : aroundCode(code), null)
}

/** Meets one of these conditions of a column. */
function unionOf(ways: readonly Condition[]): Condition {
  const { column } = ways[0] as Condition
  const isOpen = ways.some(({ isComplement }) => isComplement)
  const least = isOpen ? -Infinity : Math.min(...ways.map(({ least }) => least))
  const greatest = isOpen ? Infinity : Math.max(...ways.map(({ greatest }) => greatest))
  return { anyOf: ways, column, least, greatest, isComplement: false, byRank: null }
}

/** Maximum codes that are compared one by one, with vectors, and not by a mark for each code. */
const ONE_BY_ONE_MAX = 16

/** Condition that a text has one of these codes; null: they are unknown, or there is no memory. */
function textCondition(table: Coded, column: number, codes: number | readonly number[] | undefined): Condition | null {
  if (typeof codes !== 'object') return null
  const range = { column, isComplement: false, byRank: null }
  if (codes.length === 0) return { ...range, least: Infinity, greatest: -Infinity }
  if (codes.length <= ONE_BY_ONE_MAX) return unionOf(codes.map((code) => ({ ...range, least: code, greatest: code })))
  const byRank = table.mark(column, codes)
  return byRank && { ...range, least: 1, greatest: 1, byRank }
}

const textsWithout = (kind: Kind) => ({ least: NO_TEXT, greatest: kind.emptyIsNoValue ? EMPTY_TEXT : NO_TEXT })

/** The greatest code that is less than an operand's, its own, and the least that is greater. */
interface Around {
  readonly equal: number | null
  below(): number
  above(): number
}

/** Null is a text that no row has; no operator needs its neighbors. */
function aroundCode(code: number | null): Around {
  return { equal: code, below: () => nextBelow(code as number), above: () => nextAbove(code as number) }
}

/** Neighbors of a number that has no code itself. */
function aroundNone(kind: Kind, operand: string): Around {
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
function rankCondition(table: Coded, column: number, sides: Sides, operand: string, bound?: number): Condition | null {
  const ranks = ranksOf(table, column)
  if (!ranks || bound === undefined) return null
  const code = table.rowCodes.find(column, operand)
  const equal = code === null ? null : ranks.rankOf(code)
  return rangeOf(column, sides, { equal, below: () => bound - 1, above: () => (equal === null ? bound : equal + 1) }, ranks)
}

/** Range of an operator; one that also takes rows without a value is the complement of the opposite range. */
function rangeOf(column: number, sides: Sides, around: Around, byRank: RankTable | null): Condition {
  const isComplement = sides.none
  const { less, equal, greater } = isComplement ? { less: !sides.less, equal: !sides.equal, greater: !sides.greater } : sides
  const own = equal ? around.equal : null
  const least = less ? -Infinity : (own ?? (greater ? around.above() : Infinity))
  const greatest = greater ? Infinity : (own ?? (less ? around.below() : -Infinity))
  return { column, least, greatest, isComplement, byRank }
}
