import type { Entity } from '../model/entity.ts'
import { name, param, type Statement, sql, toStatement } from '../model/sql.ts'
import { columns } from './columns.ts'

const texts = new Map<Entity, string>()

/** The rows with these ids that there are, in no order: each is the snapshot, then the entity's columns. */
export function compileRowsById(entity: Entity, ids: readonly number[]): Statement {
  let text = texts.get(entity)
  if (text === undefined) {
    const of = sql`select pg_current_snapshot()::text, ${columns(entity)} from ${name(entity.table)}`
    text = toStatement(sql`${of} where id = any (${param('')}::bigint[])`).text
    texts.set(entity, text)
  }
  return { text, values: [`{${ids.join()}}`] }
}
