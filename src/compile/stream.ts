import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { order } from '../model/order.ts'
import type { Seek, StreamQuery } from '../model/query.ts'
import { integer, name, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { list } from './batch.ts'
import { conditionsOf, orderBy, where } from './parts.ts'
import { nearestRows } from './seek.ts'
import { ShapeCache, shapeOfFilters, shapeOfSorts } from './shapes.ts'

const shapes = new ShapeCache(200)

/** Columns of each row of a stream, in this order: the chosen ones, and those of its order. */
export function streamColumns(entity: Entity, { sorts, choice }: StreamQuery): readonly Property[] {
  if (choice === null) return entity.properties
  const read = new Set(order(entity, sorts).map(({ property }) => property))
  // Whether an object is null is said by all its parts.
  for (const member of choice.members) for (const property of isGroup(member) ? member.whole : [member]) read.add(property)
  return entity.properties.filter((property) => read.has(property))
}

/** Compiles one piece: `size` rows behind a position, null for the first, and one more if there are more. */
export function compilePiece(
  entity: Entity,
  query: StreamQuery,
  columns: readonly Property[],
  position: Seek['position'] | null,
  size: number,
): Statement {
  const values = [...query.filters.map(({ value }) => value), ...(position ?? [])].filter((value) => value !== null)
  const behind = position?.map((value) => (value === null ? '-' : '?')).join('') ?? ''
  const read = columns.map(({ column }) => column).join()
  const shape = `${entity.table} ${read}${shapeOfFilters(query.filters)}${shapeOfSorts(query.sorts)} ${behind} ${size}`
  const { text } = shapes.get(shape, () => {
    const operands = values.map(param)
    return { text: toStatement(piece(entity, query, columns, position, size, operands), operands).text, batch: null }
  })
  return { text, values }
}

function piece(
  entity: Entity,
  { filters, sorts }: StreamQuery,
  columns: readonly Property[],
  position: Seek['position'] | null,
  size: number,
  operands: ReturnType<typeof param>[],
): Sql {
  const read = list(columns.map(({ column }) => name(column)))
  const conditions = conditionsOf(filters, operands)
  const keys = orderBy(order(entity, sorts))
  if (position === null)
    return sql`select ${read} from ${name(entity.table)}${where(conditions)} order by ${keys} limit ${integer(size + 1)}`
  const ofFilters = filters.filter(({ value }) => value !== null).length
  const query = { sorts, pageSize: size }
  const near = nearestRows(entity, query, { side: 'behind', position }, conditions, operands.slice(ofFilters))
  return sql`select ${read} from (${near}) as piece order by ${keys}`
}
