// Summaries: one statement that groups rows, and returns a page of groups and the number of all groups.
import type { Entity, Property } from '../model/entity.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { type Figure, GROUPS_MAX, type SummaryQuery, zoneOf } from '../model/summary.ts'
import { commaList } from './batch.ts'
import { type Matching, matching, rowsOf } from './matching.ts'
import { shapeCache, shapeOf, shapeOfProperty, valuesOf } from './parts.ts'
import { compileKey, offsetValues } from './periods.ts'
import { RelatedJoins } from './related.ts'

const textOfShape = shapeCache<string>(500)

/**
 * Compiles a page of groups. `page`: null for all groups. Columns: the number of groups, the group keys, the count of rows, and
 * the figures. If the page has no groups, there is one row, whose count is null. For a group key with a time zone, the column has
 * the first date of the period.
 */
export function compileSummary(entity: Entity, query: SummaryQuery, page: { offset: number; size: number } | null): Statement {
  const { filters, keys, figures, sorts } = query
  const { offset, size } = page ?? { offset: 0, size: GROUPS_MAX }
  const joins = new RelatedJoins([...keys, ...figures].map(({ property }) => property))
  const ofFilters = valuesOf(filters)
  const zone = zoneOf(query)
  const ofZone = zone === null ? [] : offsetValues(zone)
  const values = [...ofFilters, ...joins.values, ...ofZone, String(size), String(offset)]
  const grouped = keys.map((key) => `${shapeOfProperty(key.property)} ${key.period}${key.zone === null ? '' : '*'}`)
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

/** Returns the matching rows, joined to the rows to which the paths of keys and figures lead. */
function joinedRows(matched: Matching, joins: RelatedJoins, operands: readonly Param[]): Sql {
  return sql`(select ${matched.table}.* from ${rowsOf(matched)}) as "T"${joins.compile(operands)}`
}

type ColumnOf = (property: Property) => Sql

function statement({ keys, figures, sorts }: SummaryQuery, rows: Sql, columnOf: ColumnOf, operands: readonly Param[]): Sql {
  const [size, offset] = operands.slice(-2) as [Param, Param]
  const [changes, offsets] = operands.slice(-4) as [Param, Param]
  const values = keys.map((key) => compileKey(key, columnOf(key.property), { changes, offsets }))
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

const figureOf = ({ name: figure }: Figure, value: Sql): Sql => sql`${FUNCTIONS[figure]}(${value})`

const FUNCTIONS: Readonly<Record<Figure['name'], Sql>> = {
  sum: sql`sum`,
  values: sql`count`,
  minimum: sql`min`,
  maximum: sql`max`,
}
