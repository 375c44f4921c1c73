import type { Batch, Batchable } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import type { Once } from '../model/once.ts'
import { join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { isAmong, PATIENCE } from './batch.ts'
import { columns } from './columns.ts'
import { onceRemove } from './once.ts'
import { written } from './written.ts'

type Compiled = { readonly text: string; readonly batch: Batch }
const [removes, removesOfVersions] = [new WeakMap<Entity, Compiled>(), new WeakMap<Entity, Compiled>()]

/**
 * Deletes one row; returns it as it was, and the transaction; or no row where one of `referring` has its id. These are asked
 * once the row is locked, for what is committed by then: who refers to it has held a lock on it, and the statement's own
 * snapshot may be older. `referring` is the same for every row of the entity. `versions`, `once`: as of
 * `compileUpdate`.
 */
export function compileRemove(
  entity: Entity,
  id: string,
  referring: readonly ReferringColumn[],
  versions: string | null = null,
  once: Once | null = null,
): Batchable {
  if (once) {
    const [own, among] = [param(id), versions === null ? null : param(versions)]
    const piece = onceRemove(once, (isFirst) => removeOne(entity, referring, own, among, sql` and ${isFirst}`))
    return { ...toStatement(piece), once }
  }
  const known = versions === null ? removes : removesOfVersions
  let compiled = known.get(entity)
  if (!compiled) known.set(entity, (compiled = compile(entity, referring, versions === null ? null : param(null))))
  return { text: compiled.text, values: versions === null ? [id] : [id, versions], batch: compiled.batch }
}

function compile(entity: Entity, referring: readonly ReferringColumn[], among: Param | null): Compiled {
  const [table, operand] = [name(entity.table), param(null)]
  const returning = sql`returning ${columns(entity, sql`t`)}, ${written(sql`t.`)}`
  const referred = (ids: Sql) => referredTo(entity, referring, ids)
  return {
    text: toStatement(removeOne(entity, referring, operand, among), [operand]).text,
    batch: removeTogether(table, referring.length === 0 ? null : referred, returning, among),
  }
}

function removeOne(
  entity: Entity,
  referring: readonly ReferringColumn[],
  id: Param,
  among: Param | null,
  first = sql``,
): Sql {
  const table = name(entity.table)
  const returning = sql`returning ${columns(entity, sql`t`)}, ${written(sql`t.`)}`
  const version = among === null ? sql`` : sql` and ${isAmong(sql`xmin`, sql`${among}`)}`
  const own = sql`(select id from ${table} where id = ${id}${first}${version} for update) as own`
  const free =
    referring.length === 0 ? sql`` : sql` and own.id <> all (${referredTo(entity, referring, sql`array[own.id]`)})`
  return sql`delete from ${table} as t using ${own} where t.id = own.id${free} ${returning}`
}

/** Rows are locked in one order, so that two batches do not wait for each other, and those that are referred to are asked for once. */
function removeTogether(table: Sql, referred: ((ids: Sql) => Sql) | null, returning: Sql, among: Param | null): Batch {
  const operand = param(null)
  const ids = sql`${operand}::bigint[]`
  const version =
    among === null ? sql`` : sql` and ${isAmong(sql`xmin`, sql`(${among}::text[])[array_position(${ids}, id)]`)}`
  const own = sql`"L" as materialized (select id from ${table} where id = any (${ids}) and ${PATIENCE} is not null${version} order by id for update)`
  const free = referred ? sql` and t.id <> all ((select ${referred(sql`array(select id from "L")`)})::bigint[])` : sql``
  const from = sql`unnest(${ids}) with ordinality as b("V1", "N") join "L" on "L".id = b."V1"`
  const piece = sql`with ${own} delete from ${table} as t using ${from} where t.id = "L".id${free} ${returning}, b."N"`
  return { text: toStatement(piece, [operand]).text, rows: 'numbered', distinct: 0 }
}

/** Of a row that is not deleted, whether one of `referring` has its id; no row where it is not there. */
export function compileKept(entity: Entity, id: string, referring: readonly ReferringColumn[]): Statement {
  const isReferred = referring.length === 0 ? sql`false` : isReferredTo(entity, referring)
  return toStatement(sql`select ${isReferred} from ${name(entity.table)} as own where own.id = ${param(id)}`)
}

/** Which of the ids other rows refer to. */
function referredTo(entity: Entity, referring: readonly ReferringColumn[], ids: Sql): Sql {
  return sql`found_now('select array(select id from unnest($1) as own(id) where ${isReferredTo(entity, referring)})', ${ids})`
}

/** A row that refers to itself goes with its reference. */
function isReferredTo(entity: Entity, referring: readonly ReferringColumn[]): Sql {
  const found = referring.map(({ table, column }) => {
    const isOther = table === entity.table ? sql` and referring.id <> own.id` : sql``
    return sql`exists (select from ${name(table)} as referring where referring.${name(column)} = own.id${isOther})`
  })
  return join(found, sql` or `)
}
