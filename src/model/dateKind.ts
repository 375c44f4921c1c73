import { Type } from '@sinclair/typebox'
import { type Kind, Mismatch, orNull } from './kinds.ts'
import { isPlainInstant } from './plainInstant.ts'

const ALLOWED = 'a date like 2024-01-31'

/** A day of the calendar, without a time or a zone. RFC 3339, full-date */
export const dateKind: Kind = {
  name: 'date',
  allowed: ALLOWED,
  columnType: 'date',
  schema: Type.Union([Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), Type.Null()]),
  nullable: true,
  default: null,
  ordered: true,
  emptyIsNoValue: false,
  parseJson(value) {
    if (typeof value !== 'string') throw new Mismatch(`must be ${ALLOWED}${orNull(this)}`)
    return parseDate(value)
  },
  parseFilter: parseDate,
  printFilter: (operand) => operand,
  readText: (text) => text,
}

const DATE = /^\d{4}-\d\d-\d\d$/
/** A date-time, which says more than a date. */
const LONGER = /^(\d{4}-\d\d-\d\d)[T ][\d:.]+ ?(?:Z|[+-]\d\d:?\d\d)?$/i
/** Beyond that length it is no slip, and the message would repeat all of it. */
const LENGTH_MAX = 40

/** @throws Mismatch also for 2023-02-30 */
function parseDate(text: string): string {
  if (isDay(text)) return text
  if (DATE.test(text)) throw new Mismatch('must be a date that exists, in the years 0001 to 9999')
  const [, date = ''] = text.length > LENGTH_MAX ? [] : (LONGER.exec(text) ?? [])
  throw new Mismatch(`must be ${ALLOWED}${isDay(date) ? `; for ${text} write ${date}` : ''}`)
}

function isDay(text: string): boolean {
  return text.length === 10 && isPlainInstant(`${text}T00:00:00Z`)
}
