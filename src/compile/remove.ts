// Deletes one row, or finds out why it was not deleted.
import type { BatchableStatement, WritePlan } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { commaList, setAuditKey } from './batch.ts'
import { type GuardParts, guardParts, guardShape, guardValues, reachConditions, storedValue } from './guard.ts'
import { claimParams, IS_FIRST, underClaim } from './idempotency.ts'
import { columns, shapeCache, writeStatement } from './parts.ts'
import { hasVersion } from './update.ts'

const compiledShape = shapeCache<string>(200)

/**
 * Compiles the deletion of one row. The statement returns the deleted row and the transaction. It returns no row if the guard
 * does not admit the deletion, a row of `referring` refers to the row, or the row's version is not one of `versions`. The
 * statement first locks the row. Then it looks for references, with a newer snapshot than its own: another transaction may have
 * committed a reference while the statement waited for the lock. `referring` must be the same for all rows of an entity, because
 * it is not part of the cache key.
 */
export function compileRemove(entity: Entity, plan: WritePlan, referring: readonly ReferringColumn[]): BatchableStatement {
  const { id, versions, claim, guard } = plan
  const shape = `${entity.table}${versions === null ? '' : ' if'}${claim ? ' claim' : ''}${guardShape(guard)}`
  const text = compiledShape(shape, () => {
    const idParam = param(null)
    const versionsParam = versions === null ? null : param(null)
    const key = param(null)
    const before = versionsParam === null ? [idParam] : [versionsParam, idParam]
    const guarded = guardParts(guard, null)
    const removal = { entity, referring, id: idParam, versions: versionsParam, guard: guarded }
    if (!claim) return toStatement(removeOne(removal, setAuditKey(key)), [...before, ...guarded.params, key]).text
    const claimed = claimParams()
    const write = underClaim(entity, claimed, removeOne(removal, sql`${setAuditKey(key)} and ${IS_FIRST}`), 'nothing')
    return toStatement(write, [...before, ...claimed, ...guarded.params, key]).text
  })
  const own = versions === null ? [id] : [versions, id]
  return writeStatement({ text, batch: null }, own, plan, guardValues(guard, null))
}

interface Removal {
  readonly entity: Entity
  readonly referring: readonly ReferringColumn[]
  readonly id: Param
  readonly versions: Param | null
  readonly guard: GuardParts
}

/**
 * Deletes the row if `condition` holds, and returns it as it was. `xmax` is the transaction that deletes the row, while `xmin` is
 * that of the last write before.
 */
function removeOne({ entity, referring, id, versions, guard }: Removal, condition: Sql): Sql {
  const table = name(entity.table)
  const version = versions === null ? sql`` : sql` and ${hasVersion(sql`xmin`, sql`${versions}`)}`
  const reach = reachConditions(guard, storedValue(sql``)).map((condition) => sql` and ${condition}`)
  const isFree = referring.length === 0 ? sql`` : sql` and own.id <> all (${referredTo(entity, referring)})`
  return sql`
    delete from ${table} as t
    using (select id from ${table} where id = ${id} and ${condition}${version}${join(reach, sql``)} for update) as own
    where t.id = own.id${isFree}
    returning ${columns(entity, sql`t`)}, t.xmax::text`
}

/**
 * Returns an array with the row's id if other rows refer to it, else an empty array. These rows are looked up with a snapshot
 * that is newer than the lock.
 */
function referredTo(entity: Entity, referring: readonly ReferringColumn[]): Sql {
  const query = sql`select array(select id from unnest($1) as own(id) where ${isReferredTo(entity, referring)})`
  return sql`found_now('${query}', array[own.id])`
}

/**
 * Compiles a search for the reasons why a row was not deleted. The statement returns for each column of `referring` how many rows
 * refer to the row, counted up to `countMax`. It returns no row if the row does not exist.
 */
export function compileDeleteBlockers(
  entity: Entity,
  id: string,
  referring: readonly ReferringColumn[],
  countMax: number,
): Statement {
  const counts = referring.map((column) => {
    const rows = sql`select ${referringRows(entity, column)} limit ${integer(countMax)}`
    return sql`(select count(*) from (${rows}) as counted)`
  })
  // Without referring columns this selects a row without columns.
  return toStatement(sql`select ${commaList(counts)} from ${name(entity.table)} as own where own.id = ${param(id)}`)
}

/**
 * Condition that other rows refer to the row. A reference of the row to itself does not count, because it is deleted with the
 * row.
 */
function isReferredTo(entity: Entity, referring: readonly ReferringColumn[]): Sql {
  const exists = referring.map((column) => sql`exists (select ${referringRows(entity, column)})`)
  return join(exists, sql` or `)
}

/**
 * Selects the rows that refer to the row, by a range of this one id. With an equality instead, PostgreSQL might read the whole
 * table if most rows refer to a few ids.
 */
function referringRows(entity: Entity, { table, column }: ReferringColumn): Sql {
  const isOther = table === entity.table ? sql` and referring.id <> own.id` : sql``
  return sql`from ${name(table)} as referring where referring.${name(column)} between own.id and own.id${isOther}`
}
