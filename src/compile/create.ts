// Creates one row: by a statement of its own, under an Idempotency-Key, or in a batch.
import type { Batch, BatchableStatement, WritePlan } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import { join, name, type Param, param, replaceParams, type Sql, sql, toStatement } from '../model/sql.ts'
import { columnOf, commaList, compileBatchWrite, type Operand, setAuditKey } from './batch.ts'
import {
  admittedConditions,
  checkedGuard,
  type GuardParts,
  guardParts,
  guardShape,
  guardValues,
  newValue,
  readableColumn,
  withoutEstimate,
} from './guard.ts'
import { claimParams, IS_FIRST, underClaim } from './idempotency.ts'
import {
  changedProperties,
  columns,
  compiledWrite,
  hasUnique,
  operandsOf,
  paramsOf,
  valuesOfChanged,
  writeStatement,
} from './parts.ts'
import { allFound, assignments, copiedValue, type ReferencedRow, referencedRows } from './references.ts'

/**
 * Compiles the insert of a row. The statement returns the row and its transaction. It returns no row if the guard does not admit
 * the row, a referenced row is missing, a unique value is taken, or the Idempotency-Key is known or in use.
 */
export function compileCreate(entity: Entity, plan: WritePlan): BatchableStatement {
  const { values, claim } = plan
  const guard = checkedGuard(entity, plan.guard, [values])
  const changed = changedProperties(entity, values)
  const compiled = compiledWrite(`create${claim ? ' claim' : ''}${guardShape(guard)}`, entity, changed, () => {
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
    const isChecked = parts.valueConditions.length > 0
    const batch = isChecked ? insertAdmitted(parts, operands, guarded, key) : insertMany(parts, operands, guarded, key)
    return { text, batch }
  })
  return writeStatement(compiled, valuesOfChanged(changed, values), plan, guardValues(guard, changed))
}

/** Parts of an insert. `values` reads copied values from a row `b`. `insert` and `returning` have no operands. */
export interface InsertParts {
  readonly insert: Sql
  readonly values: Sql
  readonly returning: Sql
  readonly referenced: readonly ReferencedRow[]
  /** Conditions on the new values. */
  readonly valueConditions: readonly Sql[]
  /** Columns of the references, by which a returned row is matched to its run. */
  readonly keyColumns: NonNullable<Batch['keyColumns']>
}

/** Compiles the parts of an insert. `changed`: the properties that the insert sets. */
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
    valueConditions: admittedConditions(guard, written, written),
    keyColumns: changed.flatMap((property, value) =>
      property.reference ? [{ value, column: entity.properties.indexOf(property) }] : [],
    ),
  }
}

/**
 * Adds a clause that skips a row whose unique value is taken, even by a concurrent write, instead of failing. Writes of several
 * rows do not use this clause: they write all rows or none, so the constraint has to undo the whole statement.
 */
function skippingTaken(parts: InsertParts): InsertParts {
  return { ...parts, returning: sql`on conflict do nothing ${parts.returning}` }
}

/** Inserts a row if the guard admits it, the rows that it refers to exist, and `condition` holds. */
function insertOne({ insert, values, returning, referenced, valueConditions }: InsertParts, condition: Sql): Sql {
  const conditions = join([condition, ...valueConditions], sql` and `)
  if (referenced.length === 0) return sql`${insert} select ${values} where ${conditions} ${returning}`
  // `offset 0` keeps the planner from looking each row up twice, for the condition and for the value.
  return sql`
    ${insert}
    select ${values}
    from (select ${copiedValues(referenced)} offset 0) as b
    where ${conditions} and ${allFound(referenced)}
    ${returning}`
}

/** Inserts a row for each run if the rows that it refers to exist. Ids are assigned in the order of the runs. */
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
      from (select b.*, ${replaceParams(copiedValues(referenced), value)} from ${runs} offset 0) as b
      where ${replaceParams(allFound(referenced), value)}
      order by b."N"
      ${returning}`
  })
  return { text, matchBy: 'position', distinct: null, shared: guard.params.length + 1, keyColumns }
}

/**
 * Like `insertMany`, for runs that the guard may refuse. Each returned row lists the numbers of all runs that were inserted: a
 * row cannot be matched to its run by its values, because a trigger may have changed these.
 */
function insertAdmitted(parts: InsertParts, operands: readonly Operand[], guard: GuardParts, keyId: Param): Batch {
  const { insert, returning, referenced } = parts
  const value = columnOf(operands)
  const ofRuns = (part: Sql) => replaceParams(part, value)
  const admitted = withoutEstimate(parts.valueConditions.map(ofRuns))
  const text = compileBatchWrite(operands, guard.params, keyId, ({ from }, settings) => {
    const conditions = join([settings, ...admitted], sql` and `)
    const runs =
      referenced.length === 0
        ? sql`select b.* from ${from} where ${conditions}`
        : sql`
          select b.* from (select b.*, ${ofRuns(copiedValues(referenced))} from ${from} where ${conditions} offset 0) as b
          where ${ofRuns(allFound(referenced))}`
    return sql`
      with "Chosen" as materialized (${runs})
      ${insert}
      select ${ofRuns(parts.values)} from "Chosen" as b order by b."N"
      ${returning}, (select array_agg("N" order by "N") from "Chosen")::text`
  })
  return { text, matchBy: 'numbers', distinct: null, shared: guard.params.length + 1 }
}

/** Selects for each referenced row the value that is copied from it, under the row's alias. */
export function copiedValues(referenced: readonly ReferencedRow[]): Sql {
  return commaList(referenced.map((row) => sql`${copiedValue(row)} as ${row.alias}`))
}
