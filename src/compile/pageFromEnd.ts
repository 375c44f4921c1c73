import type { Entity } from '../model/entity.ts'
import { opposite, order } from '../model/order.ts'
import type { Filter, ListQuery, Sort } from '../model/query.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { columns, conditionsOf, orderBy, where } from './parts.ts'
import { ShapeCache, shapeOfFilters, shapeOfSorts } from './shapes.ts'

const shapes = new ShapeCache(1_000)
const REACH_MIN = 512

/** From which end of a list rows are counted. */
export type End = 'first' | 'last'

/**
 * `size` rows of a list: those that come next to one of its ends once `skip` rows are left out. Each row is the snapshot,
 * then the entity's columns; no rows are one row with null for an id.
 */
export function compilePageFromEnd(
  entity: Entity,
  { filters, sorts }: Pick<ListQuery, 'filters' | 'sorts'>,
  end: End,
  skip: number,
  size: number,
): Statement {
  const values = [...filters.flatMap(({ value }) => (value === null ? [] : [value])), String(size), String(skip)]
  // So that the planner knows how few they are whatever the operands.
  const reach = 2 ** Math.ceil(Math.log2(Math.max(skip + size, REACH_MIN)))
  const shape = `${reach} ${end} ${entity.table}${shapeOfFilters(filters)}${shapeOfSorts(sorts)}`
  const { text } = shapes.get(shape, () => {
    const operands = values.map(param)
    return { text: toStatement(page(entity, filters, sorts, end, operands, reach), operands).text, batch: null }
  })
  return { text, values }
}

/** The ids come from an index alone where it has all that the filters ask for, and become an array: they are few. */
function page(
  entity: Entity,
  filters: readonly Filter[],
  sorts: readonly Sort[],
  end: End,
  operands: readonly Param[],
  reach: number,
): Sql {
  const [size, skip] = operands.slice(-2) as [Param, Param]
  const forwards = order(entity, sorts)
  const keys = end === 'first' ? forwards : opposite(forwards)
  const keyColumns = join(
    keys.map(({ property }) => name(property.column)),
    sql`, `,
  )
  const filtered = sql`${name(entity.table)}${where(conditionsOf(filters, operands))}`
  const near = sql`select ${keyColumns} from ${filtered} order by ${orderBy(keys)} limit ${integer(reach)}`
  const ids = sql`select id from (${near}) as near order by ${orderBy(keys)} limit ${size} offset ${skip}`
  return sql`\
with page as (select * from ${name(entity.table)} where id = any (array(${ids}))) \
select "S", ${columns(entity)} from (select pg_current_snapshot()::text as "S") as seen left join page on true \
order by ${orderBy(forwards)}`
}
