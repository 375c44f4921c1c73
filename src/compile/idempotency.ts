// Writes under an Idempotency-Key: one statement that looks up the key, locks it, writes, and stores the answer. D43
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import { integer, join, type Param, param, type Sql, sql, toStatement, word } from '../model/sql.ts'
import { printedText, writtenNames } from './parts.ts'

/** Condition that a write is the first under its Idempotency-Key: no other write has used the key, or is using it now. */
export const IS_FIRST = sql`(select "Is" from "First")`

/** Form of a stored answer: the written row, an array of the written rows, or nothing for a deletion. */
type StoredAnswer = 'row' | 'rows' | 'nothing'

/**
 * Wraps a write, so that it is done once under its Idempotency-Key. The statement returns what `effect` returns, or no row if the
 * key is known or in use. If two statements both find the key unused, the primary key of `idempotency_key` undoes the second one.
 */
export function underClaim(entity: Entity, [key, request]: ClaimParams, effect: Sql, answer: StoredAnswer): Sql {
  return sql`
    with "First" as materialized (select ${isFirst(sql`${key}::uuid`)} as "Is"),
      "Effect" (${writtenNames(entity)}) as (${effect}),
      "Stored" as (
        insert into idempotency_key (id, request, answer)
        select ${key}::uuid, ${request}::uuid, ${storedAnswer(entity, answer)}
      )
    select * from "Effect" order by "C1"`
}

function storedAnswer(entity: Entity, answer: StoredAnswer): Sql {
  if (answer === 'nothing') return sql`null from "Effect"`
  if (answer === 'row') return sql`${answerOf(entity)} from "Effect"`
  return sql`array_agg(${answerOf(entity)} order by "C1") from "Effect" having count(*) > 0`
}

/**
 * Like `underClaim`, for rows that are returned in the order of the body. `parts`: parts of the `with` clause that `effect`
 * reads. `effect`: columns and query of the part "Effect". Its column "At" has the row's index in the body, and "Outcome" has the
 * row's outcome, which is stored, too.
 */
export function underClaimInOrder(entity: Entity, [key, request]: ClaimParams, parts: Sql, effect: Sql): Sql {
  return sql`
    with "First" as materialized (select ${isFirst(sql`${key}::uuid`)} as "Is"), ${parts},
      "Effect" ${effect},
      "Stored" as (
        insert into idempotency_key (id, request, answer)
        select ${key}::uuid, ${request}::uuid, array_agg(${answerOf(entity, [sql`"Outcome"`])} order by "At")
        from "Effect" having count(*) > 0
      )
    select * from "Effect" order by "At"`
}

/**
 * Returns the answer to store for a row: its columns as PostgreSQL prints them, the transaction, `others` (further values), and
 * the fingerprint of the entity.
 */
export function answerOf(entity: Entity, others: readonly Sql[] = []): Sql {
  const texts = entity.properties.map(({ kind }, index) => printedText(sql`"C${integer(index + 1)}"`, kind))
  return sql`array[${join([...texts, sql`pg_current_xact_id()::text`, ...others, word(propertiesFingerprint(entity))], sql`, `)}]`
}

/**
 * Compiles the check that an Idempotency-Key is unknown and not in use. The `case` keeps the check from taking a lock if the key
 * is known.
 */
export function isFirst(key: Sql): Sql {
  const known = sql`(select true from idempotency_key where id = ${key})`
  return sql`case when ${known} then false else pg_try_advisory_xact_lock(uuid_hash_extended(${key}, 0)) end`
}

/** Returns a hash of the entity's properties. A change of the properties almost certainly changes the hash. */
export function propertiesFingerprint({ properties }: Entity): string {
  return `p${Bun.hash.crc32(properties.map(({ column, kind }) => `${column} ${kind.name}`).join())}`
}

/** Parameters for the key and the request of a claim, in the order of their values in `writeStatement`. */
export type ClaimParams = readonly [key: Param, request: Param]

export function claimParams(): ClaimParams {
  return [param(null), param(null)]
}

/**
 * Compiles a search for an Idempotency-Key. The statement returns `t` if the key was used for the same request, else `f`, then
 * the stored answer as JSON. It returns no row if the key is unknown.
 */
export function compileFindStored({ key, request }: IdempotencyClaim): BatchableStatement {
  const columns = sql`request = ${param(request)}::uuid, to_json(answer)::text`
  return toStatement(sql`select ${columns} from idempotency_key where id = ${param(key)}::uuid`)
}

/** Compiles a statement that returns `t` if an Idempotency-Key is unknown and not in use, else `f`. */
export function compileIsFree({ key }: IdempotencyClaim): BatchableStatement {
  return toStatement(sql`select ${isFirst(sql`${param(key)}::uuid`)}`)
}
