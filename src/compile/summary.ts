// Summaries: one statement that groups rows, and returns a page of groups with their number.
import type { Entity } from '../model/entity.ts'
import { integer, join, name, param, type Sql, type Statement, sql, toStatement, word } from '../model/sql.ts'
import { type Figure, GROUPS_MAX, type GroupKey, type SummaryQuery } from '../model/summary.ts'
import { list } from './batch.ts'
import { conditionsOf, ShapeCache, shapeOfFilters, where } from './parts.ts'

const shapes = new ShapeCache(500)

/**
 * Compiles a page of a summary's groups; null for a page: all of them. Each row is the number of groups, then the keys, the
 * count and the figures. A page without groups is one row with null for a count.
 */
export function compileSummary(entity: Entity, query: SummaryQuery, page: { offset: number; size: number } | null): Statement {
  const { filters, keys, figures, sorts } = query
  const { offset, size } = page ?? { offset: 0, size: GROUPS_MAX }
  const values = [...filters.flatMap(({ value }) => value ?? []), String(size), String(offset)]
  const grouped = [...keys.map(({ property, period }) => `${property.column} ${period}`), ...figures.map(shapeOfFigure)]
  const order = sorts.map(({ column, isDescending }) => `${column}${isDescending ? '-' : ''}`)
  const shape = `${entity.table}${shapeOfFilters(filters)} ${grouped.join()} ${order.join()}`
  const { text } = shapes.get(shape, () => {
    const operands = values.map(param)
    return { text: toStatement(statement(entity, query, operands), operands).text, batch: null }
  })
  return { text, values }
}

function shapeOfFigure({ name, property }: Figure): string {
  return `${name} ${property.column}`
}

function statement(entity: Entity, { filters, keys, figures, sorts }: SummaryQuery, operands: ReturnType<typeof param>[]): Sql {
  const [size, offset] = operands.slice(-2) as [ReturnType<typeof param>, ReturnType<typeof param>]
  const computed = [...keys.map(keyOf), sql`count(*)`, ...figures.map(figureOf)]
  const columns = computed.map((_, index) => sql`"C${integer(index + 1)}"`)
  const selected = computed.map((value, index) => sql`${value} as ${columns[index] as Sql}`)
  const groupBy = keys.length === 0 ? sql`` : sql` group by ${list(keys.map((_, index) => integer(index + 1)))}`
  const keysOfOrder = sorts.map(({ column, isDescending }) =>
    isDescending ? sql`${columns[column] as Sql} desc` : (columns[column] as Sql),
  )
  const orderBy = keysOfOrder.length === 0 ? sql`` : sql` order by ${list(keysOfOrder)}`
  return sql`\
with groups as materialized (select ${list(selected)} from ${name(entity.table)}${where(conditionsOf(filters, operands))}${groupBy}), \
page as (select * from groups${orderBy} limit ${size}::bigint offset ${offset}::bigint) \
select total."N", ${join(columns, sql`, `)} from (select count(*) as "N" from groups) as total left join page on true${orderBy}`
}

function keyOf({ property: { column, kind }, period }: GroupKey): Sql {
  if (period === null) return name(column)
  if (kind.name === 'instant') return sql`date_trunc(${word(period)}, ${name(column)}, 'UTC')`
  return sql`date_trunc(${word(period)}, ${name(column)}::timestamp)::date`
}

const figureOf = ({ name: figure, property: { column } }: Figure): Sql => sql`${FUNCTIONS[figure]}(${name(column)})`

const FUNCTIONS: Readonly<Record<Figure['name'], Sql>> = {
  sum: sql`sum`,
  values: sql`count`,
  minimum: sql`min`,
  maximum: sql`max`,
}
