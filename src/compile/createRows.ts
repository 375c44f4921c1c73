import type { Batchable } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Once } from '../model/once.ts'
import { join, type Param, param, replaceParams, type Sql, sql, toStatement } from '../model/sql.ts'
import { insertParts, list, operandsOf, paramsOf } from './assigned.ts'
import { allFound, columnOf, type InsertParts, lookup, type Operand, rowsOf } from './batch.ts'
import { answerOf, isFirst } from './once.ts'
import { ShapeCache } from './shapes.ts'
import { askerOf, imageNames, linesOf, reachedBy, type Trail } from './trail.ts'
import { freeOfNew } from './unique.ts'
import type { Publishing } from './written.ts'

const shapes = new ShapeCache(200)

/** The rows as they are sent, with what they copy. */
const FOUND = sql`"Found"`
/** What is written of them. */
const WRITTEN = sql`"W"`

/**
 * New rows, in one statement: all of them, or none where a reference of one names no row, another row has a unique value of one, or
 * the key of `once` was used or is in use. Returns them in the order of `values`, which are an array of PostgreSQL for each property that clients write: `writableOf`.
 * An answer that is kept for `once` is an array of arrays. `trail`: leaves a line of each.
 */
export function compileCreateRows(
  entity: Entity,
  values: readonly string[],
  once: Once | null,
  publishing: Publishing,
  trail: Trail | null,
): Batchable {
  const lines = trail === null ? '' : trail.hasValues ? ' trailed with values' : ' trailed'
  const shape = `${publishing} rows${once ? ' once' : ''}${lines} ${entity.table}`
  const { text } = shapes.get(shape, () => ({
    text: compile(entity, writableOf(entity), publishing, once !== null, trail),
    batch: null,
  }))
  const others = [...(once ? [once.key, once.request] : []), ...(trail ? [trail.key] : [])]
  return { text, values: [...values, ...others], batch: null, once }
}

/** The properties that clients write, in the order of values. */
export function writableOf({ properties }: Entity): Property[] {
  return properties.filter(({ writable }) => writable)
}

function compile(
  entity: Entity,
  changed: readonly Property[],
  publishing: Publishing,
  isOnce: boolean,
  trail: Trail | null,
): string {
  const operands = operandsOf(changed)
  const parts = insertParts(entity, changed, operands, publishing)
  const [key, request, asker] = [param(null), param(null), param(null)]
  const inner = replaceParams(parts.values, columnOf(operands))
  const effect = sql`${parts.insert} select ${inner} from ${FOUND} as b where b."All" order by b."N" ${parts.returning}`
  const steps = [
    ...(isOnce ? [sql`"First" as materialized (select ${isFirst(sql`${key}::uuid`)} as "Is")`] : []),
    sql`${FOUND} as materialized (${found(entity, changed, parts, operands, isOnce)})`,
    sql`${WRITTEN} (${imageNames(entity, 'create')}) as (${effect})`,
    ...(isOnce ? [kept(entity, key, request)] : []),
    ...(trail ? [left(entity, changed, trail, asker)] : []),
  ]
  const piece = sql`with ${join(steps, sql`, `)} select * from ${WRITTEN} order by "C1"`
  return toStatement(piece, [...paramsOf(operands), ...(isOnce ? [key, request] : []), ...(trail ? [asker] : [])]).text
}

/** The rows, and whether what each of them refers to is there and its unique values are free, of all or of none. */
function found(
  entity: Entity,
  changed: readonly Property[],
  { sources }: InsertParts,
  operands: readonly Operand[],
  isOnce: boolean,
): Sql {
  const { from } = rowsOf(operands, (index) => sql`${(operands[index] as Operand).param}`)
  const first = isOnce ? sql` where (select "Is" from "First")` : sql``
  const conditions = [...(sources.length === 0 ? [] : [allFound(sources)]), ...freeOfNew(entity, changed, operands)]
  if (conditions.length === 0) return sql`select b.*, true as "All" from ${from}${first}`
  const value = columnOf(operands)
  const lookups = replaceParams(list([sql`b.*`, ...sources.map(lookup)]), value)
  const all = replaceParams(join(conditions, sql` and `), value)
  return sql`select b.*, bool_and(${all}) over () as "All" from (select ${lookups} from ${from}${first} offset 0) as b`
}

function kept(entity: Entity, key: Param, request: Param): Sql {
  const answer = sql`array_agg(${answerOf(entity)} order by "C1")`
  const rows = sql`select ${key}::uuid, ${request}::uuid, ${answer} from ${WRITTEN} having count(*) > 0`
  return sql`"Kept" as (insert into idempotency_key (id, request, answer) ${rows})`
}

function left(entity: Entity, changed: readonly Property[], { hasValues }: Trail, asker: Param): Sql {
  const properties = reachedBy(entity, changed)
  const written = { entity, action: 'create', rows: WRITTEN, key: askerOf(asker, null), properties, hasValues } as const
  return sql`"Trail" as (${linesOf(written)})`
}
