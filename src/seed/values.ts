// Generated values by the kind of a property.
import type { Entity, Property } from '../model/entity.ts'
import type { KindName } from '../model/kinds.ts'
import { integer, join, param, type Sql, sql, typeName } from '../model/sql.ts'
import { FEW_NULLS, RandomValues } from './randomValues.ts'
import { textOf } from './texts.ts'

/** Range of days to draw dates from. */
export interface DayRange {
  /** First day of the range, such as `2016-01-01`. */
  readonly firstDay: string
  readonly days: number
}

/** Ranges for the dates at which periods such as absences begin, and for other dates. */
export type DayRanges = Readonly<Record<'periods' | 'others', DayRange>>

/**
 * Returns ranges relative to today: periods begin from three years ago to half a year ahead, other dates are of the last ten
 * years.
 */
export function rangesOf(today: Date): DayRanges {
  const dayAt = (days: number) => new Date(today.getTime() + days * 86_400_000).toISOString().slice(0, 10)
  return {
    periods: { firstDay: dayAt(-3 * 365), days: 3 * 365 + 182 },
    others: { firstDay: dayAt(-3_652), days: 3_653 },
  }
}

/** Date of the first row, if dates must be unique. Each further row has the next day. */
const FIRST_UNIQUE_DAY = '2000-01-01'
/** Number of unique dates, up to the year 9999. */
const UNIQUE_DAYS = 2_900_000
/** Number of days within which the later date of a rule follows the earlier date. */
const LATER_DAYS = 15
/** Hours of a working day. */
const DAY_HOURS = 7.5
/** Least generated decimal, if the property has a range that contains it. */
const DECIMALS_MIN = -30
/** Greatest generated decimal; lower if the property has a range that ends below it. */
const DECIMALS_MAX = 60
/** Number of integers to draw from if the property allows more. */
const INTEGERS = 10_000

/** Source of generated values: the same entity, seed and ranges give the same values in rows with the same numbers. */
export interface ValueSource {
  readonly entity: Entity
  readonly seed: number
  readonly ranges: DayRanges
}

/** Returns the value of a writable property that is no reference, as SQL over `made.n`, the row number. */
export function compileValue(source: ValueSource, property: Property): Sql {
  const { kind, unique, column } = property
  const random = randomOf(source, property)
  const value = makers[kind.name](property, random, source)
  if (unique !== null) return kind.nullable ? sql`case when made.n <= ${integer(uniquesMax(property))} then ${value} end` : value
  // `textOf` has already made texts null in some rows, by the column name.
  if (!kind.nullable || kind.isFreeText) return value
  return random.orNull(value, /_end$/.test(column) ? 14 : FEW_NULLS)
}

const makers: Readonly<Record<KindName, (property: Property, random: RandomValues, source: ValueSource) => Sql>> = {
  text: (property, _, source) => textOf(source.entity, property, (one) => randomOf(source, one)),
  oneOf: ({ kind }, random) => random.pick(kind.values ?? []),
  json: (_, random) =>
    sql`jsonb_build_object('number', ${random.below(100)}, 'tags', jsonb_build_array(${random.pick(['a', 'b'])}))`,
  uuid: (_, random) => random.uuid(),
  boolean: (_, random) => sql`${random.below(5)} < 4`,
  integer: integerOf,
  decimal: (property, random, source) => lengthOf(source, property) ?? decimalOf(property, random),
  date: (property, _, source) => momentOf(source, property),
  instant: (property, _, source) => momentOf(source, property),
}

export function randomOf({ seed, entity }: ValueSource, { column }: Property, use = ''): RandomValues {
  return new RandomValues(seed, `${entity.table} ${column}${use}`)
}

/**
 * Returns the length of the entity's period in days or hours, at least half a day. Returns null if the column's name ends in
 * neither of these units, if the property has a range, or if the entity does not have exactly one rule.
 */
function lengthOf(source: ValueSource, { column, kind }: Property): Sql | null {
  const [rule, ...others] = source.entity.rules
  const [, unit] = /(?:^|_)(days|hours)$/.exec(column) ?? []
  if (rule === undefined || others.length > 0 || unit === undefined || kind.range) return null
  const days = sql`greatest(0.5, ${daysOf(randomOf(source, rule.later, ' moment'), LATER_DAYS)})`
  return sql`(${days} * ${unit === 'hours' ? sql`${param(String(DAY_HOURS))}::numeric` : sql`1`})::${typeName(kind.columnType)}`
}

/**
 * Returns a date or date-time. It is computed even in rows where the property is null, because a later date may depend on it.
 * `later`: the properties that depend on this one.
 */
function momentOf(source: ValueSource, property: Property, later: readonly Property[] = []): Sql {
  const { rules } = source.entity
  const isLater = rules.some((rule) => rule.later === property)
  // If the later date of a rule is unique, its values begin after all dates of periods. So each is later than the earlier date of
  // its row.
  const { firstDay, days: daysOfPeriods } = source.ranges.periods
  const first = isLater
    ? sql`(${param(firstDay)}::date + ${param(String(daysOfPeriods + LATER_DAYS * rules.length))}::integer)`
    : sql`${param(FIRST_UNIQUE_DAY)}::date`
  if (property.unique !== null) return sql`(${first} + (made.n - 1)::integer)`
  const random = randomOf(source, property, ' moment')
  const earlier = rules.filter((rule) => rule.later === property && !later.includes(rule.earlier))
  const range = source.ranges[rules.some((rule) => rule.earlier === property) ? 'periods' : 'others']
  const isFirst = earlier.length === 0
  const days = daysOf(random, isFirst ? range.days : LATER_DAYS)
  const starts = earlier.map((rule) => momentOf(source, rule.earlier, [...later, property]))
  const start = isFirst ? sql`${param(range.firstDay)}::date` : sql`greatest(${join(starts, sql`, `)})`
  if (property.kind.temporal === 'day') return sql`(${start} + ${days})`
  // The later date-time of a rule follows the earlier date-time by `days` and up to ten hours. All remaining date-times are from
  // 8 to 18 o'clock in UTC. Minutes are in quarters of hours.
  const minutes = sql`(${isFirst ? sql`480` : sql`0`} + 15 * ${random.below(40)})`
  const from = isFirst ? sql`(${start})::timestamp at time zone 'UTC'` : start
  return sql`(${from} + make_interval(days => ${days}, mins => ${minutes}::integer))`
}

/** Returns a number of days from 0 up to, not including, `end`. */
function daysOf(random: RandomValues, end: number): Sql {
  return sql`(${random.below(end)})::integer`
}

/** Returns the maximum number of different values that are generated for a property. */
export function uniquesMax({ kind: { temporal, lengthMax, range } }: Property): number {
  if (temporal === 'day') return UNIQUE_DAYS
  // A unique text contains the row number, so its maximum length limits the number of rows.
  if (lengthMax !== undefined) return Math.min(Number.MAX_SAFE_INTEGER, 10 ** lengthMax - 1)
  if (range !== undefined) return Math.min(Number.MAX_SAFE_INTEGER, range.max - firstUnique(range) + 1)
  return Number.MAX_SAFE_INTEGER
}

function firstUnique({ min, max }: { readonly min: number; readonly max: number }): number {
  return min <= 1 && max >= 1 ? 1 : min
}

/**
 * Returns a number in steps of a half. A property without a range gets numbers from 0 to 60. A property with a range gets numbers
 * from the part of its range that is between -30 and 60.
 */
function decimalOf({ kind }: Property, random: RandomValues): Sql {
  const { min, max } = kind.range ?? { min: 0, max: DECIMALS_MAX }
  const least = Math.min(Math.max(DECIMALS_MIN, min), max)
  const greatest = Math.max(Math.min(DECIMALS_MAX, max), min)
  const steps = Math.floor(2 * Math.max(0, greatest - least))
  return sql`(${param(String(least))}::numeric + (${random.below(steps + 1)}) / 2.0)::${typeName(kind.columnType)}`
}

function integerOf({ kind, unique }: Property, random: RandomValues): Sql {
  const { min, max } = kind.range ?? { min: 1, max: Number.MAX_SAFE_INTEGER }
  if (unique !== null) return sql`${integer(BigInt(firstUnique({ min, max })))} + made.n - 1`
  const isNarrow = max - min < INTEGERS
  // From a wide range, integers near zero are drawn, because people use such numbers.
  const first = isNarrow ? min : Math.min(Math.max(0, min), max - INTEGERS + 1)
  const count = isNarrow ? max - min + 1 : INTEGERS
  return sql`${integer(BigInt(first))} + ${random.below(count)}`
}
