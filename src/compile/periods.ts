// Periods of dates and date-times in SQL. Those in a time zone are dates, of which `columns/zonedStarts.ts` makes instants. D119
import { arrayText, type Param, type Sql, sql, word } from '../model/sql.ts'
import type { GroupKey, Period } from '../model/summary.ts'
import { instantText, type Zone } from '../model/zone.ts'

/** First date of PostgreSQL's calendar, a Monday. */
const FIRST_DATE = sql`date '4714-11-24 BC'`
const FIRST_INSTANT = sql`timestamptz '4714-11-24 00:00:00+00 BC'`
/** Starts of the first whole periods; days and weeks are always whole. */
const WHOLE_FROM: Partial<Record<Period, Sql>> = {
  month: sql`'4714-12-01 BC'`,
  quarter: sql`'4713-01-01 BC'`,
  year: sql`'4713-01-01 BC'`,
}

/** Operands of `offsetValues`. */
export interface OffsetOperands {
  readonly changes: Param
  readonly offsets: Param
}

/** Returns the values of the operands of a zone: the instants at which its offset changes, and the offsets around these. */
export function offsetValues({ all: { from, offsets } }: Zone): [changes: string, offsets: string] {
  return [arrayText(from.slice(1).map(instantText)), arrayText(offsets.map((seconds) => `${seconds} s`))]
}

/** Compiles the value by which rows are grouped. `operands`: used only for keys with a zone. */
export function compileKey({ property: { kind }, period, zone }: GroupKey, value: Sql, operands: OffsetOperands): Sql {
  if (period === null) return value
  if (zone !== null) return compileZoned(period, value, operands)
  return kind.moment === 'instant' ? compileInstant(period, value) : compileDate(period, value)
}

function compileInstant(period: Period, value: Sql): Sql {
  return notBeforeFirst(sql`date_trunc(${word(period)}, ${value}, 'UTC')`, value, FIRST_INSTANT, period)
}

function compileDate(period: Period, value: Sql): Sql {
  // Dates have a wider range than timestamps, so later dates are moved by multiples of 400 years, which always have the same
  // number of days and whole weeks and months.
  const moved = sql`(${value} - date '2000-01-01') / 146097 * 146097`
  const far = sql`date_trunc(${word(period)}, (${value} - ${moved})::timestamp)::date + ${moved}`
  const near = notBeforeFirst(sql`date_trunc(${word(period)}, ${value}::timestamp)::date`, value, FIRST_DATE, period)
  return sql`case when ${value} > date '294276-12-31' and isfinite(${value}) then ${far} else ${near} end`
}

/** Compiles the first date of a period: in the zone from 1800 to 9999, as `Zone` has it, else in UTC. */
function compileZoned(period: Period, value: Sql, { changes, offsets }: OffsetOperands): Sql {
  // The last 400 years of the offsets, from 2100-01-01 on, repeat.
  const cycles = sql`floor((extract(epoch from ${value}) - 4102444800) / 12622780800)`
  const moved = sql`${value} - ${cycles}::double precision * interval '146097 days'`
  const near = sql`case when ${value} < timestamptz '2500-01-01 00:00:00+00' then ${value} else ${moved} end`
  const offset = sql`(${offsets}::interval[])[1 + width_bucket(${near}, ${changes}::timestamptz[])]`
  const hasZone = sql`${value} >= timestamptz '1800-01-01 00:00:00+00' and ${value} < timestamptz '10000-01-01 00:00:00+00'`
  const local = sql`date_trunc(${word(period)}, ${value} at time zone 'UTC' + ${offset})::date`
  return sql`case when ${hasZone} then ${local} else ${compileInstant(period, value)}::date end`
}

/** Replaces the start of the first period of the calendar by the first date, because that period is not whole. */
function notBeforeFirst(start: Sql, value: Sql, first: Sql, period: Period): Sql {
  const wholeFrom = WHOLE_FROM[period]
  if (wholeFrom === undefined) return start
  return sql`case when ${value} < ${wholeFrom} and isfinite(${value}) then ${first} else ${start} end`
}
