import { Type } from '@sinclair/typebox'
import { COMMON, type Kind, Mismatch, orNull } from './kinds.ts'
import { nearestOf } from './nearest.ts'

/** Letters, digits, and a few marks between: in a filter none is taken for an operator, in an address most need no code. */
const VALUE = /^[\p{L}\p{N}](?:[\p{L}\p{N} _.,&/()+-]{0,98}[\p{L}\p{N})])?$/u
const VALUES_MAX = 100

/** Texts of a list, ordered as people order names; their case counts. @throws Error where a text cannot be one */
export function oneOfKind(values: readonly string[]): Kind {
  const wrong = values.find((value, index) => !VALUE.test(value) || values.indexOf(value) !== index)
  if (wrong !== undefined) throw new Error(`oneOf cannot have, or has twice, the text ${JSON.stringify(wrong)}`)
  if (values.length === 0 || values.length > VALUES_MAX) throw new Error(`oneOf needs 1 to ${VALUES_MAX} texts`)
  const allowed = values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`
  const parse = (text: string) => {
    if (values.includes(text)) return text
    const nearest = text === '' ? null : nearestOf(text, values)
    throw new Mismatch(`must be ${allowed}${nearest === null ? '' : `; for ${text} write ${nearest}`}`)
  }
  return {
    ...COMMON,
    name: 'oneOf',
    values,
    allowed,
    columnType: 'text',
    schema: Type.Union([Type.String({ enum: [...values] }), Type.Null()]),
    parseJson(value) {
      if (typeof value !== 'string') throw new Mismatch(`must be ${allowed}${orNull(this)}`)
      return parse(value)
    },
    parseFilter: parse,
    // As of any text, PostgreSQL alone knows it.
    readText: (text) => text,
  }
}
