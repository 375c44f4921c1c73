// Deletions: one row alone, in a batch or under a key; and the reason why a row was not deleted.
import type { Batchable, WritePlan } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, name, type Param, param, type Sql, type Statement, sql, toStatement } from '../model/sql.ts'
import { isAmong, setsKey, setsKeyAndTimeout } from './batch.ts'
import { onceRemove } from './once.ts'
import { type Compiled, columns, shapeCache } from './parts.ts'

const compiledShape = shapeCache<Compiled>(200)

/**
 * Compiles the deletion of one row. It returns the row as it was, and the transaction; or no row if a row of `referring` refers
 * to it, or its version is not one of the plan's. The statement first locks the row, and then looks for references among
 * committed rows: a new reference needs a lock on this row, and the statement's own snapshot may be older than it. `referring`
 * is the same for all rows of an entity.
 */
export function compileRemove(
  entity: Entity,
  { id, versions, once, asker }: WritePlan,
  referring: readonly ReferringColumn[],
): Batchable {
  const among = versions === null ? null : param(versions)
  const removal = { entity, referring, id: param(id), among, asker: param(asker) }
  if (once) return { ...toStatement(onceRemove(once, (isFirst) => removeOne(removal, sql` and ${isFirst}`))), once, asker }
  const operands = [removal.id, ...(among === null ? [] : [among]), removal.asker]
  const { text, batch } = compiledShape(`${entity.table}${among === null ? '' : ' if'}`, () => ({
    text: toStatement(removeOne(removal), operands).text,
    batch: { text: toStatement(removeTogether(removal), operands).text, rows: 'numbered', distinct: 0 },
  }))
  return { text, values: operands.map(({ value }) => value), batch, asker }
}

/** The row as it was; its `xmin` is the write before, so the deletion is `xmax`. */
function returningOf(entity: Entity): Sql {
  return sql`returning ${columns(entity, sql`t`)}, t.xmax::text`
}

interface Removal {
  readonly entity: Entity
  readonly referring: readonly ReferringColumn[]
  readonly id: Param
  readonly among: Param | null
  readonly asker: Param
}

function removeOne({ entity, referring, id, among, asker }: Removal, first = sql``): Sql {
  const table = name(entity.table)
  const version = among === null ? sql`` : sql` and ${isAmong(sql`xmin`, sql`${among}`)}`
  const own = sql`(select id from ${table} where id = ${id} and ${setsKey(asker)}${first}${version} for update) as own`
  const free = referring.length === 0 ? sql`` : sql` and own.id <> all (${referredTo(entity, referring, sql`array[own.id]`)})`
  return sql`delete from ${table} as t using ${own} where t.id = own.id${free} ${returningOf(entity)}`
}

/** Locks rows in one order, so that two batches do not wait for each other, and asks once for those that are referred to. */
function removeTogether({ entity, referring, id, among, asker }: Removal): Sql {
  const table = name(entity.table)
  const ids = sql`${id}::bigint[]`
  const version = among === null ? sql`` : sql` and ${isAmong(sql`xmin`, sql`(${among}::text[])[array_position(${ids}, id)]`)}`
  const own = sql`"L" as materialized (select id from ${table} where id = any (${ids}) and ${setsKeyAndTimeout(asker)}${version} order by id for update)`
  const referred = () => referredTo(entity, referring, sql`array(select id from "L")`)
  const free = referring.length === 0 ? sql`` : sql` and t.id <> all ((select ${referred()})::bigint[])`
  const from = sql`unnest(${ids}) with ordinality as b("V1", "N") join "L" on "L".id = b."V1"`
  return sql`with ${own} delete from ${table} as t using ${from} where t.id = "L".id${free} ${returningOf(entity)}, b."N"`
}

/**
 * Compiles the reason why a row was not deleted: how many rows have its id in each of `referring`, of which `most` are counted;
 * no row if it does not exist.
 */
export function compileReferring(entity: Entity, id: string, referring: readonly ReferringColumn[], most: number): Statement {
  const counts = referring.map((column) => {
    const rows = sql`select ${referringRows(entity, column)} limit ${integer(most)}`
    return sql`(select count(*) from (${rows}) as counted)`
  })
  // Without a column that refers, the row has no value.
  return toStatement(sql`select ${join(counts, sql`, `)} from ${name(entity.table)} as own where own.id = ${param(id)}`)
}

function referredTo(entity: Entity, referring: readonly ReferringColumn[], ids: Sql): Sql {
  return sql`found_now('select array(select id from unnest($1) as own(id) where ${isReferredTo(entity, referring)})', ${ids})`
}

/** A row that refers to itself goes with its reference. */
function isReferredTo(entity: Entity, referring: readonly ReferringColumn[]): Sql {
  return join(
    referring.map((column) => sql`exists (select ${referringRows(entity, column)})`),
    sql` or `,
  )
}

function referringRows(entity: Entity, { table, column }: ReferringColumn): Sql {
  const isOther = table === entity.table ? sql` and referring.id <> own.id` : sql``
  return sql`from ${name(table)} as referring where referring.${name(column)} = own.id${isOther}`
}
