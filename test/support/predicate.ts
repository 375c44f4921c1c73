// PostgreSQL's filters and order in TypeScript, the oracle for tests of columns. test/columns/textsInOrder.test.ts compares them
// with PostgreSQL itself.
import { compareDecimals } from '../../src/model/decimal.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Kind, KindName } from '../../src/model/kinds.ts'
import { equality } from '../../src/model/operators.ts'
import type { Filter } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { foldedText } from './foldedText.ts'

/** Compares two values as PostgreSQL prints them: below 0, 0, above 0. */
export type Compare = (one: string, other: string) => number

type ValueTest = (value: string | null) => boolean

/** Compares texts by code units: values of the same length, and texts without a collation. */
export function compareCodes(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

function compareIntegers(one: string, other: string): number {
  // Comparing numbers is faster than comparing BigInts, and most integers differ even when they are rounded.
  const difference = Number(one) - Number(other)
  if (difference !== 0) return Math.sign(difference)
  const [first, second] = [BigInt(one), BigInt(other)]
  return first < second ? -1 : Number(first > second)
}

/** Compares dates and timestamps, also those that only SQL can write: years before 1 and after 9999, infinities. */
function compareDays(one: string, other: string): number {
  return yearOf(one) === yearOf(other) ? compareCodes(one, other) : yearOf(one) - yearOf(other)
}

function yearOf(text: string): number {
  if (text.endsWith('infinity')) return text.startsWith('-') ? -Infinity : Infinity
  const year = Number.parseInt(text, 10)
  return text.endsWith('BC') ? -year : year
}

const compares: Readonly<Record<KindName, Compare | null>> = {
  text: null,
  oneOf: null,
  uuid: compareCodes,
  json: null,
  boolean: compareCodes,
  integer: compareIntegers,
  date: compareDays,
  instant: compareDays,
  decimal: compareDecimals,
}

/** Returns the order of a kind's values; null if it depends on PostgreSQL's collation. */
export function compareOf({ name }: Kind): Compare | null {
  return compares[name]
}

/**
 * Compiles filters to a test of a row, which is true exactly if the filters' SQL is. A row is an array of the entity's properties
 * in order. Null if only PostgreSQL can decide, as for the order of texts.
 */
export function compilePredicate(entity: Entity, filters: readonly Filter[]): ((row: Row) => boolean) | null {
  const tests = filters.map((filter) => ({ place: entity.properties.indexOf(filter.property), test: testOf(filter) }))
  if (tests.some(({ test }) => test === null)) return null
  return (row) => tests.every(({ place, test }) => test?.(row[place] as string | null))
}

function testOf({ property, operator, value, anyOf }: Filter): ValueTest | null {
  const { kind } = property
  const { sides, folded } = operator
  if (anyOf) {
    const ways = anyOf.map((value) => testOf({ property, operator: equality, value }))
    return (text) => ways.some((test) => test?.(text))
  }
  if (folded) {
    const part = foldedText(value as string)
    const isAt = (text: string) => (folded === 'beginning' ? text.startsWith(part) : text.includes(part))
    return (text) => text !== null && isAt(foldedText(text))
  }
  if (sides === null) return null
  if (value === null) {
    const isNone = (text: string | null) => text === null || (kind.emptyIsNoValue && text === '')
    return (text) => isNone(text) === sides.equal
  }
  const operand = kind.printFilter(value)
  const compare = compareOf(kind)
  if (compare === null && sides.less !== sides.greater) return null
  return (text) => {
    if (text === null) return sides.none
    if (text === operand) return sides.equal
    return (compare?.(text, operand) ?? -1) < 0 ? sides.less : sides.greater
  }
}
