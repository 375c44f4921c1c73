// Writes of all rows that match filters: one statement finds the rows, locks them, checks each, and writes all or none. D113
import type { Guard } from '../model/access.ts'
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Filter } from '../model/query.ts'
import { integer, join, name, type Param, param, type Row, type Sql, sql } from '../model/sql.ts'
import { commaList, setAuditKey } from './batch.ts'
import { bindFilters, type Condition, conditionsOf, type GuardParts, reachConditions, storedValue } from './guard.ts'
import { type ClaimParams, claimParams, IS_FIRST, isFirst } from './idempotency.ts'
import { matching, rowsOf } from './matching.ts'
import { shapeOf, valuesOf, writtenNames } from './parts.ts'
import { hasVersion } from './update.ts'

/** Maximum rows of one write by filters. It bounds its time, and what its answer holds in memory. */
export const FILTERED_ROWS_MAX = 1_000

/** A write of all rows that match filters. */
export interface FilteredWrite {
  /** Filters of the request and of the view of its key, as a list has them. */
  readonly filters: readonly Filter[]
  /** Maximum rows to write: if more match, nothing is written. */
  readonly rowsMax: number
  /** Versions of which each row must have one, as an array literal of PostgreSQL; null: any. */
  readonly versions: string | null
  /** True: everything is checked, no row is locked, and nothing is written. */
  readonly isDry: boolean
  readonly claim: IdempotencyClaim | null
  readonly keyId: string
  readonly guard: Guard | null
}

/** Outcome of a statement of a write by filters: what it has found, and whether it has written. */
export interface FilteredState {
  /** False if the Idempotency-Key is known or in use. */
  readonly isFirst: boolean
  /** Rows that matched when the statement began, up to one more than `FILTERED_ROWS_MAX`. */
  readonly found: number
  /** Number of those that still matched once they were locked. */
  readonly locked: number
  /** Number of rows that a check refuses, and the least id among them; null: none. */
  readonly refused: number
  readonly refusedId: string | null
  /** False if other rows copy from these, and they are too many. */
  readonly hasFewCopies: boolean
  /** True if all rows were written; in a dry run, if they would be. */
  readonly isDone: boolean
}

/** Number of columns of the state, which stand before those of each row. */
const STATE_WIDTH = 7

/** Splits what a statement of a write by filters has returned into its state and the written rows, in the order of their ids. */
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

/** Parameters of a write by filters, in the order of `filteredValues`. */
export interface FilteredParams {
  readonly conditions: readonly Condition[]
  readonly rowsMax: Param
  /** Null: rows may have any version. */
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

/** Returns the parameters in the order of their values: `own`, filters, maximum, versions, claim, guard, and the API key. */
export function orderedParams(own: readonly Param[], parts: FilteredParams, guard: GuardParts): Param[] {
  const { conditions, rowsMax, versions, claim, key } = parts
  const operands = conditions.flatMap((condition) => condition.operands)
  const before = [...own, ...operands, rowsMax, ...(versions ? [versions] : [])]
  return [...before, ...(claim ?? []), ...guard.params, ...(key ? [key] : [])]
}

/** Returns a write by filters with its values. */
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

/** Key of a write by filters in the cache of statements. */
export function filteredShape(entity: Entity, { filters, versions, claim, isDry }: FilteredWrite): string {
  return `${entity.table}${isDry ? ' dry' : ''}${versions === null ? '' : ' if'}${claim ? ' claim' : ''}${shapeOf(filters)}`
}

/** Parts of a write by filters that depend on whether it updates or deletes. */
export interface FilteredParts {
  readonly entity: Entity
  readonly params: FilteredParams
  readonly guard: GuardParts
  readonly isDry: boolean
  /** Lock of the rows. */
  readonly lock: Sql
  /** Parts of the `with` clause between the rows that were found and those that are locked: other locks. */
  readonly before: readonly Sql[]
  /** Conditions that always hold: other locks, which are taken before those of the rows. */
  readonly first: readonly Sql[]
  /** Part "Refused" of the `with` clause, with a column "I": ids of the rows of "Locked" that a check refuses. */
  readonly refused: Sql
  /** Condition that other rows copy few values from the rows of "Locked". */
  readonly hasFewCopies: Sql
  /** Writes the rows of "Locked" if a condition holds, and returns them; in a dry run, selects no row, with one column. */
  effect(condition: Sql): Sql
  /** Answer that an Idempotency-Key stores: an aggregate of all rows of "Effect". */
  readonly answer: Sql
}

/**
 * Compiles a write by filters.
 * - "Found" has the rows that match as of the snapshot of the statement, one more than may be written at most.
 * - "Locked" has those of them that match in their newest version: PostgreSQL checks the conditions again after it has waited for
 *   the lock of a row. If these are not all, a row was changed meanwhile, and nothing is written: the caller sends the statement
 *   again. So the rows that are written are those that matched at one moment, and each matches when it is written.
 * - "State" says what was found, and whether the rows are written.
 */
export function filteredWrite(parts: FilteredParts): Sql {
  const { entity, params, before, isDry } = parts
  const { claim } = params
  const written = parts.effect(sql`(select "D" from "State")`)
  const names = isDry ? sql`"C1"` : writtenNames(entity)
  const withs = [
    ...(claim === null ? [] : [sql`"First" as materialized (select ${isFirst(sql`${claim[0]}::uuid`)} as "Is")`]),
    sql`"Found" as materialized (${foundRows(parts)})`,
    ...before,
    sql`"Locked" as materialized (${lockedRows(parts)})`,
    sql`"Refused" as materialized (${refusedRows(parts)})`,
    sql`"State" as materialized (${stateOf(parts)})`,
    sql`"Effect" (${names}) as (${written})`,
    ...(claim === null ? [] : [storedAnswer(parts, claim)]),
  ]
  return sql`with ${commaList(withs)} select "State".*, "Effect".* from "State" left join "Effect" on true order by "C1"`
}

/** The rows that match, with whether the guard of the write reaches them. The limit keeps the statement short. */
function foundRows({ entity, params, guard }: FilteredParts): Sql {
  const { conditions, claim, key } = params
  const operands = conditions.flatMap((condition) => condition.operands)
  const rows = matching(
    entity,
    conditions.map(({ filter }) => filter),
    operands,
  )
  const isReached = allOf(reachConditions(guard, storedValue(sql`${rows.table}.`)))
  const settings = [...(key === null ? [] : [setAuditKey(key)]), ...(claim === null ? [] : [IS_FIRST])]
  const all = { ...rows, conditions: [...settings, ...rows.conditions] }
  return sql`select ${rows.table}.id, ${isReached} as "Is" from ${rowsOf(all)} limit ${integer(FILTERED_ROWS_MAX + 1)}`
}

/** Condition that the rows may be locked: they are few enough, and the write may reach all of them. */
function mayLock({ params: { rowsMax } }: FilteredParts): Sql {
  return sql`(select count(*) between 1 and ${rowsMax}::bigint and bool_and("Is") from "Found")`
}

/** Joins conditions by a `case`, so that the others lock and compare nothing unless the first one holds. */
export function onlyIf(condition: Sql, others: readonly Sql[]): Sql {
  return others.length === 0 ? condition : sql`case when ${condition} then ${join(others, sql` and `)} else false end`
}

function lockedRows(parts: FilteredParts): Sql {
  const { entity, params, lock, first, isDry } = parts
  const matched = conditionsOf(params.conditions, storedValue(sql`t.`))
  // A `case` keeps PostgreSQL from turning subqueries into joins, whose other side it would not read again after a wait.
  const again = matched.length === 0 ? [] : [sql`case when ${join(matched, sql` and `)} then true else false end`]
  const conditions = [sql`t.id = any (array(select id from "Found"))`, onlyIf(mayLock(parts), first), ...again]
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

/** Joins conditions to one that is true or false, and never null. */
export function allOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`true` : sql`(${join(conditions, sql` and `)}) is true`
}
