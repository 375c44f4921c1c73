// Summaries: one statement that groups rows, and returns a page of groups with their number.
import type { Entity, Property } from '../model/entity.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'
import { type Figure, GROUPS_MAX, type GroupKey, type Period, type SummaryQuery } from '../model/summary.ts'
import { commaList } from './batch.ts'
import { type Matching, matching, rowsOf } from './matching.ts'
import { shapeCache, shapeOf, shapeOfProperty, valuesOf } from './parts.ts'
import { RelatedJoins } from './related.ts'

const textOfShape = shapeCache<string>(500)

/** Compiles a page of groups (null: all). Columns: number of groups, keys, count (null: there is no group), figures. */
export function compileSummary(entity: Entity, query: SummaryQuery, page: { offset: number; size: number } | null): Statement {
  const { filters, keys, figures, sorts } = query
  const { offset, size } = page ?? { offset: 0, size: GROUPS_MAX }
  const joins = new RelatedJoins([...keys, ...figures].map(({ property }) => property))
  const ofFilters = valuesOf(filters)
  const values = [...ofFilters, ...joins.values, String(size), String(offset)]
  const grouped = keys.map(({ property, period }) => `${shapeOfProperty(property)} ${period}`)
  const computed = figures.map(({ name, property }) => `${name} ${shapeOfProperty(property)}`)
  const order = sorts.map(({ column, isDescending }) => `${column}${isDescending ? '-' : ''}`)
  const text = textOfShape(`${entity.table}${shapeOf(filters)} ${grouped.join()} ${computed.join()} ${order.join()}`, () => {
    const operands = values.map(param)
    const matched = matching(entity, filters, operands.slice(0, ofFilters.length))
    const rows = joins.isEmpty ? rowsOf(matched) : joinedRows(matched, joins, operands.slice(ofFilters.length))
    const columnOf = ({ column }: Property) => name(column)
    const columns = joins.isEmpty ? columnOf : (property: Property) => joins.columnOf(property)
    return toStatement(statement(query, rows, columns, operands), operands).text
  })
  return { text, values }
}

/** The matching rows, and the rows of other tables to which paths lead. */
function joinedRows(matched: Matching, joins: RelatedJoins, operands: readonly Param[]): Sql {
  return sql`(select ${matched.table}.* from ${rowsOf(matched)}) as "T"${joins.compile(operands)}`
}

type ColumnOf = (property: Property) => Sql

function statement({ keys, figures, sorts }: SummaryQuery, rows: Sql, columnOf: ColumnOf, operands: readonly Param[]): Sql {
  const [size, offset] = operands.slice(-2) as [Param, Param]
  const values = keys.map((key) => compileKey(key, columnOf(key.property)))
  const computed = [...values, sql`count(*)`, ...figures.map((figure) => figureOf(figure, columnOf(figure.property)))]
  const columns = computed.map((_, index) => sql`"C${integer(index + 1)}"`)
  const selected = computed.map((value, index) => sql`${value} as ${columns[index] as Sql}`)
  const groupBy = keys.length === 0 ? sql`` : sql` group by ${commaList(keys.map((_, index) => integer(index + 1)))}`
  const keysOfOrder = sorts.map(({ column, isDescending }) => sql`${columns[column] as Sql}${isDescending ? sql` desc` : sql``}`)
  const orderBy = keysOfOrder.length === 0 ? sql`` : sql` order by ${commaList(keysOfOrder)}`
  return sql`\
with groups as materialized (select ${commaList(selected)} from ${rows}${groupBy}), \
page as (select * from groups${orderBy} limit ${size}::bigint offset ${offset}::bigint) \
select total."N", ${join(columns, sql`, `)} from (select count(*) as "N" from groups) as total left join page on true${orderBy}`
}

function compileKey({ property: { kind }, period }: GroupKey, value: Sql): Sql {
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

/** Replaces the start of the first period of the calendar by the first date, because that period is not whole. */
function notBeforeFirst(truncated: Sql, value: Sql, first: Sql, period: Period): Sql {
  const wholeFrom = WHOLE_FROM[period]
  if (wholeFrom === undefined) return truncated
  return sql`case when ${value} < ${wholeFrom} and isfinite(${value}) then ${first} else ${truncated} end`
}

const figureOf = ({ name: figure }: Figure, value: Sql): Sql => sql`${FUNCTIONS[figure]}(${value})`

const FUNCTIONS: Readonly<Record<Figure['name'], Sql>> = {
  sum: sql`sum`,
  values: sql`count`,
  minimum: sql`min`,
  maximum: sql`max`,
}
