// Summaries: one statement that groups rows, and returns a page of groups with their number.
import type { Entity } from '../model/entity.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'
import { type Figure, GROUPS_MAX, type GroupKey, type Period, type SummaryQuery } from '../model/summary.ts'
import { commaList } from './batch.ts'
import { matching, rowsOf } from './matching.ts'
import { shapeCache, shapeOf, valuesOf } from './parts.ts'

const textOfShape = shapeCache<string>(500)

/** Compiles a page of groups (null: all). Columns: number of groups, keys, count (null: there is no group), figures. */
export function compileSummary(entity: Entity, query: SummaryQuery, page: { offset: number; size: number } | null): Statement {
  const { filters, keys, figures, sorts } = query
  const { offset, size } = page ?? { offset: 0, size: GROUPS_MAX }
  const values = [...valuesOf(filters), String(size), String(offset)]
  const grouped = keys.map(({ property, period }) => `${property.column} ${period}`)
  const computed = figures.map(({ name, property }) => `${name} ${property.column}`)
  const order = sorts.map(({ column, isDescending }) => `${column}${isDescending ? '-' : ''}`)
  const text = textOfShape(`${entity.table}${shapeOf(filters)} ${grouped.join()} ${computed.join()} ${order.join()}`, () => {
    const operands = values.map(param)
    return toStatement(statement(entity, query, operands), operands).text
  })
  return { text, values }
}

function statement(entity: Entity, { filters, keys, figures, sorts }: SummaryQuery, operands: readonly Param[]): Sql {
  const [size, offset] = operands.slice(-2) as [Param, Param]
  const computed = [...keys.map(compileKey), sql`count(*)`, ...figures.map(figureOf)]
  const columns = computed.map((_, index) => sql`"C${integer(index + 1)}"`)
  const selected = computed.map((value, index) => sql`${value} as ${columns[index] as Sql}`)
  const groupBy = keys.length === 0 ? sql`` : sql` group by ${commaList(keys.map((_, index) => integer(index + 1)))}`
  const keysOfOrder = sorts.map(({ column, isDescending }) => sql`${columns[column] as Sql}${isDescending ? sql` desc` : sql``}`)
  const orderBy = keysOfOrder.length === 0 ? sql`` : sql` order by ${commaList(keysOfOrder)}`
  const rows = rowsOf(matching(entity, filters, operands))
  return sql`\
with groups as materialized (select ${commaList(selected)} from ${rows}${groupBy}), \
page as (select * from groups${orderBy} limit ${size}::bigint offset ${offset}::bigint) \
select total."N", ${join(columns, sql`, `)} from (select count(*) as "N" from groups) as total left join page on true${orderBy}`
}

function compileKey({ property: { column, kind }, period }: GroupKey): Sql {
  const value = name(column)
  if (period === null) return value
  const unit = word(period)
  if (kind.name === 'instant') return notBeforeFirst(sql`date_trunc(${unit}, ${value}, 'UTC')`, value, FIRST_INSTANT, period)
  // Dates have a wider range than timestamps, so later dates are moved by multiples of 400 years, which always have the same
  // number of days and whole weeks and months.
  const moved = sql`(${value} - date '2000-01-01') / 146097 * 146097`
  const far = sql`date_trunc(${unit}, (${value} - ${moved})::timestamp)::date + ${moved}`
  const near = notBeforeFirst(sql`date_trunc(${unit}, ${value}::timestamp)::date`, value, FIRST_DATE, period)
  return sql`case when ${value} > date '294276-12-31' and isfinite(${value}) then ${far} else ${near} end`
}

/** First date of PostgreSQL's calendar, a Monday. */
const FIRST_DATE = sql`date '4714-11-24 BC'`
const FIRST_INSTANT = sql`timestamptz '4714-11-24 00:00:00+00 BC'`
/** Starts of the first whole periods; days and weeks are always whole. */
const WHOLE_FROM: Partial<Record<Period, Sql>> = {
  month: sql`'4714-12-01 BC'`,
  quarter: sql`'4713-01-01 BC'`,
  year: sql`'4713-01-01 BC'`,
}

/** Replaces the start of the calendar's first period by the first date, because that period is not whole. */
function notBeforeFirst(truncated: Sql, value: Sql, first: Sql, period: Period): Sql {
  const wholeFrom = WHOLE_FROM[period]
  if (wholeFrom === undefined) return truncated
  return sql`case when ${value} < ${wholeFrom} and isfinite(${value}) then ${first} else ${truncated} end`
}

const figureOf = ({ name: figure, property: { column } }: Figure): Sql => sql`${FUNCTIONS[figure]}(${name(column)})`

const FUNCTIONS: Readonly<Record<Figure['name'], Sql>> = {
  sum: sql`sum`,
  values: sql`count`,
  minimum: sql`min`,
  maximum: sql`max`,
}
