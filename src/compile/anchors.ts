import type { Entity } from '../model/entity.ts'
import { order } from '../model/order.ts'
import type { Filter, ListQuery, Sort } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { columns } from './columns.ts'
import { conditionsOf, where } from './condition.ts'
import { orderBy } from './order.ts'
import { nearestIds, type Start } from './seek.ts'
import { ShapeCache, shapeOfFilters, shapeOfSorts } from './shapes.ts'

const shapes = new ShapeCache(1_000)
const notedShapes = new ShapeCache(200)
const REACH_MIN = 512

/**
 * `size` rows of a list, found from a start: those that come next to it once `skip` rows are left out. Each row is the
 * snapshot, then the entity's columns; no rows are one row with null for an id.
 */
export function compileFromAnchor(
  entity: Entity,
  query: ListQuery,
  start: Start,
  skip: number,
  size: number,
): Statement {
  const { filters, sorts } = query
  const position = (start.position ?? []).filter((value) => value !== null)
  const values = [...valuesOf(filters), ...position, String(size), String(skip)]
  const reach = 2 ** Math.ceil(Math.log2(Math.max(skip + size, REACH_MIN)))
  const { text } = shapes.get(`${reach} ${shapeOfStart(start)} ${shapeOf(entity, filters, sorts)}`, () => {
    const operands = values.map(param)
    return { text: toStatement(placed(entity, query, start, operands, reach), operands).text, batch: null }
  })
  return { text, values }
}

/** The ids become an array, for the planner cannot know how few they are. */
function placed(
  entity: Entity,
  { filters, sorts }: ListQuery,
  start: Start,
  operands: readonly Param[],
  reach: number,
): Sql {
  const [size, skip] = operands.slice(-2) as [Param, Param]
  const conditions = conditionsOf(filters, operands)
  const ids = nearestIds(entity, sorts, start, conditions, operands.slice(valuesOf(filters).length), reach)
  return sql`\
with page as (select * from ${name(entity.table)} where id = any (array(${ids} limit ${size} offset ${skip}))) \
select "S", ${columns(entity)} from (select pg_current_snapshot()::text as "S") as seen left join page on true \
order by ${orderBy(order(entity, sorts))}`
}

/** Every `step`th row of a list: the snapshot in the first one's, else null, then the values of the order's keys. */
export function compileAnchors(
  entity: Entity,
  { filters, sorts }: Pick<ListQuery, 'filters' | 'sorts'>,
  step: number,
): Statement {
  const values = valuesOf(filters)
  const { text } = notedShapes.get(`${step} ${shapeOf(entity, filters, sorts)}`, () => {
    const operands = values.map(param)
    const keys = order(entity, sorts)
    const selected = join(
      keys.map(({ property }) => name(property.column)),
      sql`, `,
    )
    const condition = where(conditionsOf(filters, operands))
    const numbered = sql`select ${selected}, row_number() over (order by ${orderBy(keys)}) as "N" from ${name(entity.table)}${condition}`
    const every = integer(step)
    const piece = sql`select case when "N" = ${every} then pg_current_snapshot()::text end, ${selected} from (${numbered}) as numbered where "N" % ${every} = 0 order by "N"`
    return { text: toStatement(piece, operands).text, batch: null }
  })
  return { text, values }
}

function valuesOf(filters: readonly Filter[]): string[] {
  return filters.flatMap(({ value }) => (value === null ? [] : [value]))
}

function shapeOf(entity: Entity, filters: readonly Filter[], sorts: readonly Sort[]): string {
  return `${entity.table}${shapeOfFilters(filters)}${shapeOfSorts(sorts)}`
}

function shapeOfStart({ side, position }: Start): string {
  return `${side} ${position === null ? '' : position.map((value) => (value === null ? '-' : '?')).join('')}`
}
