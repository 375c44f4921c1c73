import type { ReferringColumn } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { join, name, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { columns, TRANSACTION } from './columns.ts'

/**
 * Deletes one row; returns it as it was, and the transaction; or no row where one of `referring` has its id. These are asked
 * once the row is locked, for what is committed by then: who refers to it has held a lock on it, and the statement's own
 * snapshot may be older.
 */
export function compileRemove(entity: Entity, id: string, referring: readonly ReferringColumn[]): Statement {
  const [table, operand] = [name(entity.table), param(id)]
  if (referring.length === 0)
    return toStatement(sql`delete from ${table} where id = ${operand} returning ${columns(entity)}, ${TRANSACTION}`)
  const own = sql`(select id from ${table} where id = ${operand} for update) as own`
  const isReferred = sql`is_found_now('${referencesQuery(entity, referring)}', own.id)`
  const returning = sql`returning ${columns(entity, sql`t`)}, ${TRANSACTION}`
  return toStatement(sql`delete from ${table} as t using ${own} where t.id = own.id and not ${isReferred} ${returning}`)
}

/** A row that refers to itself goes with its reference. */
function referencesQuery(entity: Entity, referring: readonly ReferringColumn[]): Sql {
  const found = referring.map(({ table, column }) => {
    const isOther = table === entity.table ? sql` and id <> $1` : sql``
    return sql`exists (select from ${name(table)} where ${name(column)} = $1${isOther})`
  })
  return sql`select ${join(found, sql` or `)}`
}
