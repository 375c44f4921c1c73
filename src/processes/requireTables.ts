import { compileColumnTypes, compileProbe } from '../compile/entity.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { Entity } from '../model/entity.ts'

/** @throws Error that names the first entity whose table is not as declared */
export async function requireTables(entities: readonly Entity[], database: Database): Promise<void> {
  for (const entity of entities)
    await requireTable(entity, database).catch(async (error) => {
      if (error instanceof ApiError) return // unreachable for the moment; requests are answered 503
      await database.end(0)
      throw new Error(`${entity.name} needs a migration: ${error.message}`, { cause: error })
    })
}

async function requireTable(entity: Entity, database: Database) {
  await database.read(compileProbe(entity))
  const types = new Map((await database.read(compileColumnTypes(entity))).map(([name, type]) => [name, type]))
  for (const { column, kind } of entity.properties)
    if (types.get(column) !== kind.columnType)
      throw new Error(`column ${column} of ${entity.table} has the type ${types.get(column)}, not ${kind.columnType}`)
}
