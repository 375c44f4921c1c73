// Kinds of property for dates and date-times: RFC 3339 in requests, UTC to the second in PostgreSQL and responses.
import { baseOf, type Kind, Mismatch, parseJsonText } from './kinds.ts'
import { DATE_PATTERN, instantHint, plainInstantOf, SLIP_LENGTH_MAX } from './plainInstant.ts'

/** Kind of a date-time to the second, in UTC. */
export const instantKind: Kind = {
  ...baseOf('instant'),
  allowed: 'a date-time like 2024-01-31T09:00:00Z',
  columnType: 'timestamp(0) with time zone',
  schema: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$' },
  parseJson: parseJsonText,
  parseFilter: parseInstant,
  printFilter: (operand) => `${operand.slice(0, 10)} ${operand.slice(11, 19)}+00`,
  // The session's zone is UTC and its date style ISO, so PostgreSQL prints 2024-01-31 09:00:00+00.
  readText: (text) => (text.length === PRINTED_LENGTH ? `${text.slice(0, 10)}T${text.slice(11, 19)}Z` : readFarInstant(text)),
}

const PRINTED_LENGTH = '2024-01-31 09:00:00+00'.length

/** Converts PostgreSQL's text of an instant that requests cannot contain: before the year 1, after 9999, or infinity. */
function readFarInstant(text: string): string {
  return text.replace(' ', 'T').replace('+00', 'Z')
}

const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/i
const DAY_MS = 86_400_000
const FIRST_INSTANT_MS = Date.parse('0001-01-01T00:00:00Z')

/**
 * Converts RFC 3339 to `YYYY-MM-DDThh:mm:ssZ`, without fractions; a leap second becomes the next second. @throws Mismatch, also
 * for 2023-02-30
 */
function parseInstant(text: string): string {
  const plain = plainInstantOf(text)
  if (plain !== null) return plain
  const match = INSTANT.exec(text)
  if (!match) throw new Mismatch(`must be a date-time like 2024-01-31T09:00:00Z${instantHint(text)}`)
  const [, minute, second, zone] = match.map((part) => part.toUpperCase())
  const isLeap = second === '60'
  const local = `${minute}:${isLeap ? 59 : second}`
  const localMs = Date.parse(`${local}Z`)
  // Date.parse carries some impossible days over into the next month, so the result is compared with the input.
  if (Number.isNaN(localMs) || secondsText(localMs) !== `${local}Z`) throw new Mismatch('must be a date and time that exist')
  const ms = Date.parse(`${local}${zone}`) + (isLeap ? 1_000 : 0)
  if (Number.isNaN(ms)) throw new Mismatch('must have an offset from -23:59 to +23:59')
  if (isLeap && ms % DAY_MS !== 0) throw new Mismatch('must be a date and time that exist: a leap second ends a day in UTC')
  const printed = secondsText(ms)
  if (ms < FIRST_INSTANT_MS || printed.length !== 20) throw new Mismatch('must be in the years 0001 to 9999, in UTC')
  return printed
}

function secondsText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -5)}Z`
}

const DATE_ALLOWED = 'a date like 2024-01-31'

/** Kind of a calendar day, without a time or a zone. RFC 3339, full-date */
export const dateKind: Kind = {
  ...baseOf('date'),
  allowed: DATE_ALLOWED,
  columnType: 'date',
  schema: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
  parseJson: parseJsonText,
  parseFilter: parseDate,
  readText: (text) => text,
}

const DATE = /^\d{4}-\d\d-\d\d$/
const EXISTING = new RegExp(`^${DATE_PATTERN}$`)
/** Matches a date-time, for a hint if a date is required. */
const LONGER = /^(\d{4}-\d\d-\d\d)[T ][\d:.]+ ?(?:Z|[+-]\d\d:?\d\d)?$/i

/** Parses a date. @throws Mismatch, also for 2023-02-30 */
function parseDate(text: string): string {
  if (EXISTING.test(text)) return text
  if (DATE.test(text)) throw new Mismatch('must be a date that exists, in the years 0001 to 9999')
  const [, date = ''] = text.length > SLIP_LENGTH_MAX ? [] : (LONGER.exec(text) ?? [])
  throw new Mismatch(`must be ${DATE_ALLOWED}${EXISTING.test(date) ? `; for ${text} write ${date}` : ''}`)
}
