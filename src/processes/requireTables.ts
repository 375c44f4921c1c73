// Checks that the tables match the declared entities, and that Citus does not distribute them over several servers.
import { CITUS_CATALOG, compileColumnTypes, compileIsOfCitus } from '../compile/row.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { isAway } from '../execute/outcomes.ts'
import type { Entity } from '../model/entity.ts'

type Reader = Pick<Database, 'read'>

/**
 * Checks the table of each entity. Does not throw if the database gives no answer. @throws Error that names an entity whose table
 * needs a migration, or a table that Citus distributes: lists from memory would lack writes of other nodes of Citus
 */
export async function requireTables(entities: readonly Entity[], database: Reader): Promise<void> {
  const check = (entity: Entity) => requireColumns(entity, database).catch(unlessAway(`${entity.name} needs a migration: `))
  await Promise.all(entities.map(check))
  await refuseCitus(entities, database).catch(unlessAway(''))
}

/**
 * Returns a handler for `catch`. It ignores an ApiError, which means that PostgreSQL gave no answer, and throws all other errors.
 * It puts `prefix` before the message, unless the connection has failed.
 */
function unlessAway(prefix: string): (error: Error) => void {
  return (error) => {
    if (error instanceof ApiError) return
    throw isAway(error) || prefix === '' ? error : new Error(prefix + error.message, { cause: error })
  }
}

async function requireColumns(entity: Entity, database: Reader): Promise<void> {
  const types = new Map((await database.read(compileColumnTypes(entity))).map(([name, type]) => [name, type]))
  for (const { column, kind } of entity.properties)
    if (types.get(column) !== kind.columnType)
      throw new Error(`column ${column} of ${entity.table} has the type ${types.get(column) ?? 'none'}, not ${kind.columnType}`)
}

async function refuseCitus(entities: readonly Entity[], database: Reader): Promise<void> {
  const [[catalog = null] = []] = await database.read(CITUS_CATALOG)
  if (catalog === null) return
  for (const entity of entities)
    if ((await database.read(compileIsOfCitus(entity))).length > 0)
      throw new Error(`Citus holds the table ${entity.table}: use a database of its own for each tenant (docs/scaling.md)`)
}
