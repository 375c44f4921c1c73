import { Type } from '@sinclair/typebox'
import { plainDecimal } from './decimal.ts'
import { JsonNumber, type Kind, Mismatch, orNull, parseIntegerFilter } from './kinds.ts'

/** The integers from `min` to `max`, both of which a JSON number keeps. */
export interface Range {
  readonly min: number
  readonly max: number
}

/** @throws Error where the range is none, or goes beyond what JSON's numbers keep in all languages */
export function checkedRange({ min, max }: Range): Range {
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min > max)
    throw new Error(`no range of integers from -(2^53-1) to 2^53-1: ${min} to ${max}`)
  return { min, max }
}

/** An integer of a range. */
export function numberKind({ min, max }: Range): Kind {
  const allowed = `an integer from ${min} to ${max}`
  return {
    name: 'integer',
    range: { min, max },
    allowed,
    columnType: 'bigint',
    schema: Type.Union([Type.Integer({ minimum: min, maximum: max }), Type.Null()]),
    nullable: true,
    default: null,
    ordered: true,
    emptyIsNoValue: false,
    parseJson(value) {
      const plain = value instanceof JsonNumber ? plainDecimal(value.source) : null
      if (!plain || plain.includes('.')) throw new Mismatch(`must be ${allowed}${orNull(this)}`)
      // Rounded or not, a number beyond 2^53 is beyond the range.
      const number = Number(plain)
      if (number < min || number > max) throw new Mismatch(`must be ${allowed}`)
      return plain
    },
    parseFilter: parseIntegerFilter,
    printFilter: (operand) => operand,
    readText: Number,
  }
}
