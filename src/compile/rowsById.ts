import type { Batchable } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import { name, param, sql, toStatement } from '../model/sql.ts'
import { batchQuery } from './batch.ts'
import { columns } from './parts.ts'
import type { Compiled } from './shapes.ts'

const compiled = new Map<Entity, Compiled>()

/** The rows with these ids that there are, in no order: each is the snapshot, then the entity's columns. */
export function compileRowsById(entity: Entity, ids: readonly number[]): Batchable {
  const { text, batch } = compiled.get(entity) ?? compile(entity)
  return { text, values: [`{${ids.join()}}`], batch }
}

function compile(entity: Entity): Compiled {
  const ids = param('')
  const rows = sql`select pg_current_snapshot()::text, ${columns(entity)} from ${name(entity.table)}`
  const piece = sql`${rows} where id = any (${ids}::text::bigint[])`
  const made = { text: toStatement(piece).text, batch: batchQuery(piece, [{ param: ids, type: 'text' }]) }
  compiled.set(entity, made)
  return made
}
