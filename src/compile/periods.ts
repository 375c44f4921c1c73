// Periods of dates and date-times in SQL. For periods in a time zone, SQL gives dates, and `columns/zonedStarts.ts` turns these
// into instants. D119
import { arrayText, type Param, type Sql, sql, word } from '../model/sql.ts'
import type { GroupKey, Period } from '../model/summary.ts'
import { instantText, type Zone } from '../model/zone.ts'

/** First date of PostgreSQL's calendar, which is a Monday. */
const FIRST_DATE = sql`date '4714-11-24 BC'`
const FIRST_INSTANT = sql`timestamptz '4714-11-24 00:00:00+00 BC'`
/** Starts of the first complete periods in PostgreSQL's calendar. Days and weeks are all complete, so they have no entry. */
const WHOLE_FROM: Partial<Record<Period, Sql>> = {
  month: sql`'4714-12-01 BC'`,
  quarter: sql`'4713-01-01 BC'`,
  year: sql`'4713-01-01 BC'`,
}

/** Operands for the two values that `offsetValues` returns. */
export interface OffsetOperands {
  readonly changes: Param
  readonly offsets: Param
}

/**
 * Returns two array literals for a zone: the instants at which its offset changes, and the offsets before, between and after
 * these.
 */
export function offsetValues({ all: { from, offsets } }: Zone): [changes: string, offsets: string] {
  return [arrayText(from.slice(1).map(instantText)), arrayText(offsets.map((seconds) => `${seconds} s`))]
}

/** Compiles the value by which rows are grouped. `operands`: used only if the group key has a time zone. */
export function compileKey({ property: { kind }, period, zone }: GroupKey, value: Sql, operands: OffsetOperands): Sql {
  if (period === null) return value
  if (zone !== null) return compileZoned(period, value, operands)
  return kind.temporal === 'instant' ? compileInstant(period, value) : compileDate(period, value)
}

function compileInstant(period: Period, value: Sql): Sql {
  return notBeforeFirst(sql`date_trunc(${word(period)}, ${value}, 'UTC')`, value, FIRST_INSTANT, period)
}

function compileDate(period: Period, value: Sql): Sql {
  // A date after the last timestamp, in the year 294276, is moved by a multiple of 400 years before it is cast. All spans of 400
  // years have the same number of days, and begin on the same day of the week.
  const moved = sql`(${value} - date '2000-01-01') / 146097 * 146097`
  const far = sql`date_trunc(${word(period)}, (${value} - ${moved})::timestamp)::date + ${moved}`
  const near = notBeforeFirst(sql`date_trunc(${word(period)}, ${value}::timestamp)::date`, value, FIRST_DATE, period)
  return sql`case when ${value} > date '294276-12-31' and isfinite(${value}) then ${far} else ${near} end`
}

/** Compiles the first date of a period: in the zone for the years 1800 to 9999, which `Zone` covers, else in UTC. */
function compileZoned(period: Period, value: Sql, { changes, offsets }: OffsetOperands): Sql {
  // From 2100-01-01 on, the offsets repeat every 400 years.
  const cycles = sql`floor((extract(epoch from ${value}) - 4102444800) / 12622780800)`
  const moved = sql`${value} - ${cycles}::double precision * interval '146097 days'`
  const near = sql`case when ${value} < timestamptz '2500-01-01 00:00:00+00' then ${value} else ${moved} end`
  const offset = sql`(${offsets}::interval[])[1 + width_bucket(${near}, ${changes}::timestamptz[])]`
  const hasZone = sql`${value} >= timestamptz '1800-01-01 00:00:00+00' and ${value} < timestamptz '10000-01-01 00:00:00+00'`
  const local = sql`date_trunc(${word(period)}, ${value} at time zone 'UTC' + ${offset})::date`
  return sql`case when ${hasZone} then ${local} else ${compileInstant(period, value)}::date end`
}

/** Returns `first` for values in the calendar's first period, which is incomplete, and `start` for all others. */
function notBeforeFirst(start: Sql, value: Sql, first: Sql, period: Period): Sql {
  const wholeFrom = WHOLE_FROM[period]
  if (wholeFrom === undefined) return start
  return sql`case when ${value} < ${wholeFrom} and isfinite(${value}) then ${first} else ${start} end`
}
