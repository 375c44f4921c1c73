// Check that the tables match the declared entities.
import { compileColumnTypes } from '../compile/row.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { isAway } from '../execute/outcomes.ts'
import type { Entity } from '../model/entity.ts'

/**
 * Checks the table of each entity, as far as the database answers. @throws Error that names an entity whose table needs a
 * migration
 */
export async function requireTables(entities: readonly Entity[], database: Pick<Database, 'read'>): Promise<void> {
  const check = async (entity: Entity) => {
    const types = new Map((await database.read(compileColumnTypes(entity))).map(([name, type]) => [name, type]))
    for (const { column, kind } of entity.properties)
      if (types.get(column) !== kind.columnType)
        throw new Error(`column ${column} of ${entity.table} has the type ${types.get(column) ?? 'none'}, not ${kind.columnType}`)
  }
  const fail = (entity: Entity) => (error: Error) => {
    if (error instanceof ApiError) return
    throw isAway(error) ? error : new Error(`${entity.name} needs a migration: ${error.message}`, { cause: error })
  }
  await Promise.all(entities.map((entity) => check(entity).catch(fail(entity))))
}
