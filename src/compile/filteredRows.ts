// Writes of all rows that match filters: one statement finds and locks the rows, checks each of them, and writes all or none.
// D113
import type { Guard } from '../model/access.ts'
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Filter } from '../model/query.ts'
import { integer, join, name, type Param, param, type Row, type Sql, sql } from '../model/sql.ts'
import { commaList, setAuditKey } from './batch.ts'
import { bindFilters, type Condition, conditionsOf, type GuardParts, reachConditions, storedValue } from './guard.ts'
import { type ClaimParams, claimParams, IS_FIRST, isFirst } from './idempotency.ts'
import { matching, rowsOf } from './matching.ts'
import { allTrue, shapeOf, valuesOf, writtenNames } from './parts.ts'
import { hasVersion } from './update.ts'

/** Maximum number of rows of one write by filters. It limits the time of the write, and the memory that its answer takes. */
export const FILTERED_ROWS_MAX = 1_000

/** A write of all rows that match filters. */
export interface FilteredWrite {
  /** Filters of the request and of the API key's view. */
  readonly filters: readonly Filter[]
  /** Maximum number of rows to write. If more rows match, nothing is written. */
  readonly rowsMax: number
  /** PostgreSQL array of versions, one of which each row must have; null: rows may have any version. */
  readonly versions: string | null
  /** True for a dry run: everything is checked, but no row is locked or written. */
  readonly isDry: boolean
  readonly claim: IdempotencyClaim | null
  readonly keyId: string
  readonly guard: Guard | null
}

/** Outcome of a write by filters: counts of the rows that its statement has found, and whether it has written them. */
export interface FilteredState {
  /** False if the Idempotency-Key is known or in use. */
  readonly isFirst: boolean
  /** Number of rows that matched when the statement began. Counting stops at `FILTERED_ROWS_MAX + 1`. */
  readonly found: number
  /** Number of found rows that still matched when they were locked. */
  readonly locked: number
  /** Number of rows that a check refuses. */
  readonly refused: number
  /** Least id of the refused rows; null: no row is refused. */
  readonly refusedId: string | null
  /** False if too many rows copy values from the rows to write. */
  readonly hasFewCopies: boolean
  /** True if all rows were written. In a dry run: true if all rows would be written. */
  readonly isDone: boolean
}

/** Number of columns of the state, which come before the columns of each row. */
const STATE_WIDTH = 7

/** Splits the result of a write by filters into the state and the written rows, in the order of their ids. */
export function filteredResult(rows: readonly Row[]): { readonly state: FilteredState; readonly rows: readonly Row[] } {
  const [first, found, locked, refused, refusedId = null, few, done] = rows[0] as Row
  const state = {
    isFirst: first === 't',
    found: Number(found),
    locked: Number(locked),
    refused: Number(refused),
    refusedId,
    hasFewCopies: few === 't',
    isDone: done === 't',
  }
  const written = rows.map((row) => row.slice(STATE_WIDTH)).filter(([id]) => id !== null && id !== undefined)
  return { state, rows: written }
}

/**
 * Parameters of a write by filters. `orderedParams` returns them in the order in which `filteredStatement` passes their values.
 */
export interface FilteredParams {
  readonly conditions: readonly Condition[]
  readonly rowsMax: Param
  /** PostgreSQL array of the versions that rows may have; null: rows may have any version. */
  readonly versions: Param | null
  readonly claim: ClaimParams | null
  /** Id of the API key; null in a dry run. */
  readonly key: Param | null
}

export function filteredParams({ filters, versions, claim, isDry }: FilteredWrite): FilteredParams {
  return {
    conditions: bindFilters(filters),
    rowsMax: param(null),
    versions: versions === null ? null : param(null),
    claim: claim && claimParams(),
    key: isDry ? null : param(null),
  }
}

/**
 * Returns the parameters in the order in which `filteredStatement` passes their values: `own` (new values of an update), filters,
 * maximum, versions, claim, guard, and the API key.
 */
export function orderedParams(own: readonly Param[], parts: FilteredParams, guard: GuardParts): Param[] {
  const { conditions, rowsMax, versions, claim, key } = parts
  const operands = conditions.flatMap((condition) => condition.operands)
  const before = [...own, ...operands, rowsMax, ...(versions ? [versions] : [])]
  return [...before, ...(claim ?? []), ...guard.params, ...(key ? [key] : [])]
}

/** Returns the statement of a write by filters, with the values of the parameters of `orderedParams` in the same order. */
export function filteredStatement(
  text: string,
  own: readonly (string | null)[],
  { filters, rowsMax, versions, claim, keyId, isDry }: FilteredWrite,
  ofGuard: readonly string[],
): BatchableStatement {
  const ofClaim = claim === null ? [] : [claim.key, claim.request]
  const ofVersions = versions === null ? [] : [versions]
  const values = [...own, ...valuesOf(filters), String(rowsMax), ...ofVersions, ...ofClaim, ...ofGuard]
  return isDry ? { text, values, batch: null } : { text, values: [...values, keyId], batch: null, claim, keyId }
}

/** Returns the key under which the statement of a write by filters is cached. */
export function filteredShape(entity: Entity, { filters, versions, claim, isDry }: FilteredWrite): string {
  return `${entity.table}${isDry ? ' dry' : ''}${versions === null ? '' : ' if'}${claim ? ' claim' : ''}${shapeOf(filters)}`
}

/** Parts of a write by filters that differ between updates and deletions. */
export interface FilteredParts {
  readonly entity: Entity
  readonly params: FilteredParams
  readonly guard: GuardParts
  readonly isDry: boolean
  /** Clause that locks the rows, such as `for update`. */
  readonly lock: Sql
  /**
   * Parts of the `with` clause between "Found" and "Locked": they lock rows that the write depends on, such as referenced rows.
   */
  readonly lockParts: readonly Sql[]
  /**
   * Conditions that are always true. They make PostgreSQL take the locks of `lockParts` first, and lock the rows to write only
   * then.
   */
  readonly lockConditions: readonly Sql[]
  /** Part "Refused" of the `with` clause, with one column "I": ids of the rows of "Locked" that a check refuses. */
  readonly refused: Sql
  /** Condition that not too many rows copy values from the rows of "Locked". */
  readonly hasFewCopies: Sql
  /**
   * Returns a statement that writes the rows of "Locked" if `condition` holds, and returns these rows. In a dry run the statement
   * has one column and selects no row.
   */
  effect(condition: Sql): Sql
  /** Answer to store for an Idempotency-Key: an aggregate over all rows of "Effect". */
  readonly answer: Sql
}

/**
 * Compiles a write by filters.
 * - "Found" has the rows that match in the statement's snapshot, at most `FILTERED_ROWS_MAX + 1`.
 * - "Locked" has the rows of "Found" that also match in their newest version: PostgreSQL checks the conditions again after it has
 *   waited for the lock of a row. If a row of "Found" is missing in "Locked", it was changed meanwhile. Then nothing is written,
 *   and the caller sends the statement again. So all written rows matched at one moment, and each matches when it is written.
 * - "State" has the counts of rows, and whether the rows are written.
 */
export function filteredWrite(parts: FilteredParts): Sql {
  const { entity, params, lockParts, isDry } = parts
  const { claim } = params
  const written = parts.effect(sql`(select "D" from "State")`)
  const names = isDry ? sql`"C1"` : writtenNames(entity)
  const withs = [
    ...(claim === null ? [] : [sql`"First" as materialized (select ${isFirst(sql`${claim[0]}::uuid`)} as "Is")`]),
    sql`"Found" as materialized (${foundRows(parts)})`,
    ...lockParts,
    sql`"Locked" as materialized (${lockedRows(parts)})`,
    sql`"Refused" as materialized (${refusedRows(parts)})`,
    sql`"State" as materialized (${stateOf(parts)})`,
    sql`"Effect" (${names}) as (${written})`,
    ...(claim === null ? [] : [storedAnswer(parts, claim)]),
  ]
  return sql`with ${commaList(withs)} select "State".*, "Effect".* from "State" left join "Effect" on true order by "C1"`
}

/**
 * Selects the rows that match, and whether the guard lets the write reach each of them. The limit bounds the statement's time.
 */
function foundRows({ entity, params, guard }: FilteredParts): Sql {
  const { conditions, claim, key } = params
  const operands = conditions.flatMap((condition) => condition.operands)
  const rows = matching(
    entity,
    conditions.map(({ filter }) => filter),
    operands,
  )
  const isReached = allTrue(reachConditions(guard, storedValue(sql`${rows.table}.`)))
  const settings = [...(key === null ? [] : [setAuditKey(key)]), ...(claim === null ? [] : [IS_FIRST])]
  const all = { ...rows, conditions: [...settings, ...rows.conditions] }
  return sql`select ${rows.table}.id, ${isReached} as "Is" from ${rowsOf(all)} limit ${integer(FILTERED_ROWS_MAX + 1)}`
}

/**
 * Condition that the rows may be locked: there is at least one, there are at most `rowsMax`, and the write may reach all of them.
 */
function mayLock({ params: { rowsMax } }: FilteredParts): Sql {
  return sql`(select count(*) between 1 and ${rowsMax}::bigint and bool_and("Is") from "Found")`
}

/** Joins conditions by a `case`, so that `others`, which take locks, are evaluated only if `condition` holds. */
export function onlyIf(condition: Sql, others: readonly Sql[]): Sql {
  return others.length === 0 ? condition : sql`case when ${condition} then ${join(others, sql` and `)} else false end`
}

function lockedRows(parts: FilteredParts): Sql {
  const { entity, params, lock, lockConditions, isDry } = parts
  const matched = conditionsOf(params.conditions, storedValue(sql`t.`))
  // A `case` keeps PostgreSQL from turning subqueries into joins: after a wait for a lock, it would not read the joined rows
  // again.
  const again = matched.length === 0 ? [] : [sql`case when ${join(matched, sql` and `)} then true else false end`]
  const conditions = [sql`t.id = any (array(select id from "Found"))`, onlyIf(mayLock(parts), lockConditions), ...again]
  const version = params.versions === null ? sql`` : sql`, t.xmin as "V"`
  const rows = sql`select t.*${version} from ${name(entity.table)} as t where ${join(conditions, sql` and `)}`
  return isDry ? rows : sql`${rows} order by t.id ${lock}`
}

function refusedRows({ params: { versions }, refused }: FilteredParts): Sql {
  if (versions === null) return refused
  return sql`${refused} union select l.id from "Locked" as l where not ${hasVersion(sql`l."V"`, sql`${versions}`)}`
}

function stateOf({ params, hasFewCopies }: FilteredParts): Sql {
  const found = sql`(select count(*) from "Found")`
  const locked = sql`(select count(*) from "Locked")`
  const refused = sql`(select "I" from "Refused" union all select id from "Found" where not "Is")`
  const isFirstUse = params.claim === null ? sql`true` : IS_FIRST
  const columns = sql`
    select ${isFirstUse} as "A", ${found} as "F", ${locked} as "L",
      (select count(*) from ${refused} as r) as "R", (select min("I") from ${refused} as r) as "I", ${hasFewCopies} as "W"`
  const isDone = sql`"A" and "F" = "L" and "F" <= ${params.rowsMax}::bigint and "R" = 0 and "W"`
  return sql`select s.*, ${isDone} as "D" from (${columns} offset 0) as s`
}

function storedAnswer({ answer }: FilteredParts, [key, request]: ClaimParams): Sql {
  const values = sql`select ${key}::uuid, ${request}::uuid, coalesce(${answer}, '{}')`
  return sql`"Stored" as (
    insert into idempotency_key (id, request, answer) ${values} from "Effect" having (select "D" from "State")
  )`
}
