// Bulk create: one statement that writes all rows or none.

import type { Guard } from '../model/access.ts'
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { integer, join, type Param, param, replaceParams, type Sql, sql, toStatement } from '../model/sql.ts'
import { batchInput, columnOf, commaList, setAuditKey } from './batch.ts'
import { copiedValues, insertParts } from './create.ts'
import { type GuardParts, guardParts, guardShape, guardValues } from './guard.ts'
import { claimParams, IS_FIRST, underClaim } from './idempotency.ts'
import { allTrue, hasUnique, operandsOf, shapeCache, uniqueConditions, writeStatement } from './parts.ts'
import { allFound } from './references.ts'

const textOfShape = shapeCache<string>(200)

/**
 * First half of the key of an advisory lock, which only one bulk create or upsert of a table can hold at a time. The second half
 * is a hash of the table's name.
 */
const SERIALIZED_LOCK = 59

/**
 * Compiles a bulk create. `values`: a PostgreSQL array for each property of `writableOf`. The statement returns the rows in the
 * order of the body. It returns no rows if the guard does not admit a row, a referenced row is missing, a unique value is taken,
 * or the Idempotency-Key of `claim` is known or in use. The stored answer is an array of rows.
 */
export function compileCreateRows(
  entity: Entity,
  values: readonly string[],
  claim: IdempotencyClaim | null,
  keyId: string,
  guard: Guard | null,
): BatchableStatement {
  const changed = writableOf(entity)
  const shape = `rows${claim ? ' claim' : ''} ${entity.table}${guardShape(guard)}`
  const text = textOfShape(shape, () => {
    const params = changed.map(() => param(null))
    const key = param(null)
    const claimed = claim ? claimParams() : null
    const guarded = guardParts(guard, changed)
    const effect = insertAll(entity, changed, params, guarded, key, claimed !== null)
    const write = claimed
      ? underClaim(entity, claimed, effect, 'rows')
      : sql`with "Effect" ("C1") as (${effect}) select * from "Effect" order by "C1"`
    return toStatement(write, [...params, ...(claimed ?? []), ...guarded.params, key]).text
  })
  return writeStatement({ text, batch: null }, values, { claim, keyId }, guardValues(guard, changed))
}

/** Properties that clients write, in the order in which `compileCreateRows` takes their values. */
export function writableOf({ properties }: Entity): Property[] {
  return properties.filter(({ writable }) => writable)
}

function insertAll(
  entity: Entity,
  changed: readonly Property[],
  arrays: readonly Param[],
  guard: GuardParts,
  keyId: Param,
  isClaimed: boolean,
): Sql {
  const operands = operandsOf(changed)
  const { insert, values, returning, referenced, valueConditions } = insertParts(entity, changed, operands, guard)
  const value = columnOf(operands)
  const { from } = batchInput(operands, arrays)
  // Without the lock of "Serialized", two bulk creates with the same unique values in different orders would deadlock. PostgreSQL
  // would undo one of them, and its retry could deadlock again. D65
  const isSerialized = hasUnique(changed)
  const hasLock = isSerialized ? sql`(select "Is" from "Serialized")` : sql`true`
  // A repeated request whose Idempotency-Key is known or in use does not wait for the lock.
  const isAllowed = isClaimed ? sql`case when ${IS_FIRST} then ${hasLock} else false end` : hasLock
  // Conditions that all rows must meet: the guard admits the row, the rows that it refers to exist, and its unique values are
  // free. `allTrue` is needed because `bool_and` skips nulls.
  const conditions = [
    ...valueConditions.map((condition) => allTrue([condition])),
    ...(referenced.length === 0 ? [] : [allFound(referenced)]),
    ...uniqueConditions(entity, changed, operands, null),
  ]
  const areAllRight =
    conditions.length === 0 ? sql`true` : sql`bool_and(${replaceParams(join(conditions, sql` and `), value)}) over ()`
  const lookedUp = referenced.length === 0 ? sql`b.*` : sql`b.*, ${replaceParams(copiedValues(referenced), value)}`
  const found = sql`"Found" as materialized (
    select b.*, ${areAllRight} as "All"
    from (select ${lookedUp} from ${from} where ${setAuditKey(keyId)} and ${isAllowed} offset 0) as b
  )`
  return sql`
    with ${commaList(isSerialized ? [serialized(entity), found] : [found])}
    ${insert}
    select ${replaceParams(values, value)} from "Found" as b where b."All" order by b."N"
    ${returning}`
}

/**
 * Part "Serialized" of the `with` clause: takes a lock, so that bulk creates and upserts of a table run one after the other, on
 * all servers.
 */
export function serialized({ table }: Entity): Sql {
  const lock = sql`pg_advisory_xact_lock(${integer(SERIALIZED_LOCK)}, ${integer(Bun.hash.crc32(table) >>> 1)})`
  return sql`"Serialized" as materialized (select true as "Is" from ${lock})`
}
