// Streams: the statement of one batch of rows, and the columns that it reads.
import { type Entity, isGroup, type Property } from '../model/entity.ts'
import type { Seek, StreamQuery } from '../model/query.ts'
import { order } from '../model/query.ts'
import { integer, name, param, type Statement, sql, toStatement } from '../model/sql.ts'
import { commaList } from './batch.ts'
import { matching, rowsOf } from './matching.ts'
import { orderBy, shapeCache, shapeOf, shapeOfProperty, valuesOf, valuesOfPaths } from './parts.ts'
import { relatedColumns } from './related.ts'
import { nearestRows } from './seek.ts'

const textOfShape = shapeCache<string>(200)

/**
 * Returns the columns that a stream reads: chosen properties and sort keys, then related properties. Without a choice: all
 * properties of the entity.
 */
export function streamColumns(entity: Entity, { sorts, choice }: StreamQuery): readonly Property[] {
  if (choice === null) return entity.properties
  const read = new Set(order(entity, sorts).map(({ property }) => property))
  // All parts of an object are read, because it is null only if all of them are.
  for (const member of choice.members)
    for (const property of isGroup(member) ? member.allProperties : [member]) read.add(property)
  return [...entity.properties.filter((property) => read.has(property)), ...choice.related]
}

/** Compiles one batch: `size` rows after a position (null: from the start), and one more row if more rows follow. */
export function compileStreamBatch(
  entity: Entity,
  { filters, sorts }: StreamQuery,
  columns: readonly Property[],
  position: Seek['position'] | null,
  size: number,
): Statement {
  const own = columns.filter(({ related }) => related === null)
  const related = columns.filter((property) => property.related !== null)
  const ofFilters = valuesOf(filters)
  const ofPaths = valuesOfPaths(related)
  const ofPosition = (position ?? []).filter((value) => value !== null)
  const shape = `${entity.table} ${columns.map(shapeOfProperty).join()}${shapeOf(filters, sorts, position ?? [])}`
  const text = textOfShape(`${shape} ${size}`, () => {
    const operands = { filters: ofFilters.map(param), paths: ofPaths.map(param), position: ofPosition.map(param) }
    const matched = matching(entity, filters, operands.filters)
    const near = { side: 'after', position: position ?? [] } as const
    const keys = { sorts, pageSize: size }
    const rows =
      position === null ? rowsOf(matched) : sql`(${nearestRows(entity, keys, near, matched, operands.position)}) as near`
    const table = position === null ? matched.table : sql`near`
    const read = commaList(own.map(({ column }) => name(column)))
    const shown = relatedColumns(related, table, operands.paths)
    const statement = sql`select ${read}${shown} from ${rows} order by ${orderBy(order(entity, sorts))} limit ${integer(size + 1)}`
    return toStatement(statement, [...operands.filters, ...operands.paths, ...operands.position]).text
  })
  return { text, values: [...ofFilters, ...ofPaths, ...ofPosition] }
}
