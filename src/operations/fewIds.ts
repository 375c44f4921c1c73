// Asks PostgreSQL whether the unions among a list's filters compare few ids. The answer changes how the list is compiled.
import { compileFewIds, unionsOfIds } from '../compile/fewIds.ts'
import type { Database } from '../execute/database.ts'
import { wasEnded } from '../execute/listReads.ts'
import type { Entity } from '../model/entity.ts'
import type { Filter } from '../model/query.ts'

/**
 * Returns the query with `hasFewIds` set in the unions (D103) that compare references with few ids. This does not change which
 * rows match.
 */
export async function withFewIds<Query extends { readonly filters: readonly Filter[] }>(
  query: Query,
  entity: Entity,
  database: Pick<Database, 'read'>,
): Promise<Query> {
  const unions = unionsOfIds(query.filters)
  if (unions.length === 0) return query
  const [row] = await database.read(compileFewIds(entity, unions)).catch(manyIfEnded)
  const few = new Set(unions.filter((_, index) => row?.[index] === 't'))
  return { ...query, filters: query.filters.map((filter) => (few.has(filter) ? { ...filter, hasFewIds: true } : filter)) }
}

function manyIfEnded(error: unknown): never[] {
  if (wasEnded(error)) return []
  throw error
}
