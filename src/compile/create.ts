// Creates one row: by a statement of its own, under an Idempotency-Key, or in a batch.
import type { Batch, BatchableStatement, WritePlan } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { join, name, type Param, param, replaceParams, type Sql, sql, toStatement } from '../model/sql.ts'
import { columnOf, commaList, compileBatchWrite, type Operand, setAuditKey } from './batch.ts'
import {
  admittedConditions,
  type GuardParts,
  guardParts,
  guardShape,
  guardValues,
  newValue,
  readableColumn,
  withoutEstimate,
} from './guard.ts'
import { claimParams, claimValues, IS_FIRST, underClaim } from './idempotency.ts'
import {
  changedProperties,
  columns,
  compiledWrite,
  hasUnique,
  operandsOf,
  paramsOf,
  valuesOfChanged,
  where,
  writtenNames,
} from './parts.ts'
import { allFound, assignments, lookUp, type ReferencedRow, referencedRows } from './references.ts'

/**
 * Compiles the insert of a row. Returns the row and its transaction; no row if its guard does not admit it, a reference names
 * none, a unique value is taken, or the Idempotency-Key is known or in use.
 */
export function compileCreate(entity: Entity, { values, claim, keyId, guard }: WritePlan): BatchableStatement {
  const changed = changedProperties(entity, values)
  const { text, batch } = compiledWrite(`create${claim ? ' claim' : ''}${guardShape(guard)}`, entity, changed, () => {
    const operands = operandsOf(changed)
    const guarded = guardParts(guard, changed)
    const parts = insertParts(entity, changed, operands, guarded)
    const single = hasUnique(changed) ? skippingTaken(parts) : parts
    const key = param(null)
    if (claim) {
      const claimed = claimParams()
      const write = underClaim(entity, claimed, insertOne(single, sql`${setAuditKey(key)} and ${IS_FIRST}`), 'row')
      return { text: toStatement(write, [...paramsOf(operands), ...claimed, ...guarded.params, key]).text, batch: null }
    }
    const { text } = toStatement(insertOne(single, setAuditKey(key)), [...paramsOf(operands), ...guarded.params, key])
    const isChecked = parts.admitted.length > 0
    const batch = isChecked ? insertAdmitted(entity, parts, operands, guarded, key) : insertMany(parts, operands, guarded, key)
    return { text, batch }
  })
  const ofGuard = guardValues(guard, changed)
  return { text, values: [...valuesOfChanged(changed, values), ...claimValues(claim), ...ofGuard, keyId], batch, claim, keyId }
}

/** The parts of an insert. `values` reads copied values from a row `b`. `insert` and `returning` take no operands. */
export interface InsertParts {
  readonly insert: Sql
  readonly values: Sql
  readonly returning: Sql
  readonly referenced: readonly ReferencedRow[]
  /** Conditions on the new values. */
  readonly admitted: readonly Sql[]
  /** Columns that match a returned row to its run: the references. */
  readonly keyColumns: NonNullable<Batch['keyColumns']>
}

/** Compiles the parts of an insert of a row that sets these properties. */
export function insertParts(
  entity: Entity,
  changed: readonly Property[],
  operands: readonly Operand[],
  guard: GuardParts,
): InsertParts {
  const assigned = assignments(changed, operands, guard, ({ alias }) => sql`b.${alias}`)
  const targets = commaList(assigned.map(({ column }) => name(column)))
  const written = newValue(changed, operands, ({ name }) => {
    throw new Error(`a guard has a condition on ${name}, which no create sets`)
  })
  return {
    insert: sql`insert into ${name(entity.table)} (${targets})`,
    values: commaList(assigned.map(({ value }) => value)),
    returning: sql`returning ${columns(entity)}, xmin::text${readableColumn(entity, guard, sql``)}`,
    referenced: referencedRows(changed, operands, guard),
    admitted: admittedConditions(guard, written, written),
    keyColumns: changed.flatMap((property, value) =>
      property.reference ? [{ value, column: entity.properties.indexOf(property) }] : [],
    ),
  }
}

/**
 * Skips a row whose unique value another row has, even one of a concurrent write, instead of an error. Never for several rows: of
 * these all or none are written, so the constraint has to undo the statement.
 */
function skippingTaken(parts: InsertParts): InsertParts {
  return { ...parts, returning: sql`on conflict do nothing ${parts.returning}` }
}

/** Inserts a row, unless it is not admitted, or a row that it refers to is missing. `condition`: that of the statement. */
function insertOne({ insert, values, returning, referenced, admitted }: InsertParts, condition: Sql): Sql {
  const conditions = join([condition, ...admitted], sql` and `)
  if (referenced.length === 0) return sql`${insert} select ${values} where ${conditions} ${returning}`
  // `offset 0` keeps the planner from looking up twice, for the condition and for the value.
  return sql`
    ${insert}
    select ${values}
    from (select ${lookUps(referenced)} offset 0) as b
    where ${conditions} and ${allFound(referenced)}
    ${returning}`
}

/**
 * Inserts a row for each run, unless a row that it refers to is missing. Ids are assigned in the order of the runs.
 */
function insertMany(parts: InsertParts, operands: readonly Operand[], guard: GuardParts, keyId: Param): Batch {
  const { insert, returning, referenced, keyColumns } = parts
  const value = columnOf(operands)
  const values = replaceParams(parts.values, value)
  const text = compileBatchWrite(operands, guard.params, keyId, ({ from }, settings) => {
    const runs = sql`${from} where ${settings}`
    if (referenced.length === 0) return sql`${insert} select ${values} from ${runs} order by b."N" ${returning}`
    return sql`
      ${insert}
      select ${values}
      from (select b.*, ${replaceParams(lookUps(referenced), value)} from ${runs} offset 0) as b
      where ${replaceParams(allFound(referenced), value)}
      order by b."N"
      ${returning}`
  })
  return { text, matchBy: 'position', distinct: null, shared: guard.params.length + 1, keyColumns }
}

/**
 * As `insertMany`, for runs that a guard may refuse: it returns the number of each run, since a trigger may have changed the
 * values by which a row could be told from others.
 */
function insertAdmitted(
  entity: Entity,
  parts: InsertParts,
  operands: readonly Operand[],
  guard: GuardParts,
  keyId: Param,
): Batch {
  const { insert, returning, referenced } = parts
  const value = columnOf(operands)
  const ofRuns = (piece: Sql) => replaceParams(piece, value)
  const admitted = withoutEstimate(parts.admitted.map(ofRuns))
  const found = referenced.length === 0 ? [] : [ofRuns(allFound(referenced))]
  const lookedUp = referenced.length === 0 ? sql`b.*` : sql`b.*, ${ofRuns(lookUps(referenced))}`
  const behind = guard.readable.length === 0 ? [sql`"X"`] : [sql`"X"`, sql`"R"`]
  const names = commaList([writtenNames(entity), ...behind])
  const text = compileBatchWrite(operands, guard.params, keyId, ({ from }, settings) => {
    const runs = sql`select ${lookedUp} from ${from} where ${join([settings, ...admitted], sql` and `)} offset 0`
    const chosen = sql`select b.*, row_number() over (order by b."N") as "P" from (${runs}) as b${where(found)}`
    const made = sql`${insert} select ${ofRuns(parts.values)} from "Chosen" as b order by b."N" ${returning}`
    return sql`
      with "Chosen" as materialized (${chosen}), "Made" (${names}) as (${made})
      select ${names}, "N"
      from (select *, row_number() over (order by "C1") as "P" from "Made") as made join "Chosen" using ("P")
      order by "N"`
  })
  return { text, matchBy: 'number', distinct: null, shared: guard.params.length + 1 }
}

/** Selects the copied value of each referenced row, under its alias. */
export function lookUps(referenced: readonly ReferencedRow[]): Sql {
  return commaList(referenced.map((row) => sql`${lookUp(row)} as ${row.alias}`))
}
