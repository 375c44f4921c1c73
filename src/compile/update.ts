// Changes one row: by a statement of its own, under an Idempotency-Key, or in a batch. A rename is never part of a batch.
import type { Batch, BatchableStatement, WritePlan } from '../model/batch.ts'
import { copiedProperties, type ReferringColumn, referringColumns, writableSourcesOf } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import { integer, join, name, type Param, param, replaceParams, type Sql, sql, toStatement } from '../model/sql.ts'
import { type BatchInput, columnOf, commaList, compileBatchWrite, type Operand, setAuditKey } from './batch.ts'
import {
  admittedConditions,
  type Condition,
  checkedGuard,
  conditionsOf,
  type GuardParts,
  guardParts,
  guardShape,
  guardValues,
  newValue,
  reachConditions,
  readableColumn,
  remainingConditions,
  storedValue,
  withoutEstimate,
} from './guard.ts'
import { claimParams, IS_FIRST, underClaim } from './idempotency.ts'
import {
  changedProperties,
  columns,
  compiledWrite,
  operandsOf,
  paramsOf,
  uniqueConditions,
  valuesOfChanged,
  writeStatement,
} from './parts.ts'
import { assignments, copiedValue, type ReferencedRow, referencedRows } from './references.ts'

/** Maximum number of rows that an update may change in each copying column within the deadline of an ordinary statement. */
export const COPIES_MAX = 1_000

/**
 * Compiles an update of one row that sets at least one property. The statement returns the row and the transaction. It returns no
 * row in these cases:
 * - The guard does not admit the update, or a rule would be broken.
 * - A referenced row is missing, or a unique value is taken.
 * - The row has none of the plan's versions.
 * - The Idempotency-Key of the plan's claim is known or in use.
 * - More than `COPIES_MAX` rows copy from the row by one of the columns in `copying`.
 *
 * The statement can have a batch form only if `copying` is null. A rename must not run in a batch, so the caller must pass an
 * array for it, which may be empty. Only for a long write, which never runs in a batch, the caller may pass null for a rename,
 * too.
 */
export function compileUpdate(
  entity: Entity,
  plan: WritePlan,
  copying: readonly ReferringColumn[] | null = null,
): BatchableStatement {
  const { id, values, versions, claim } = plan
  const guard = checkedGuard(entity, plan.guard, [values])
  const changed = changedProperties(entity, values)
  const bounded = copying !== null && copying.length > 0
  const verb = `update${bounded ? ' few' : ''}${versions === null ? '' : ' if'}${claim ? ' claim' : ''}${guardShape(guard)}`
  const compiled = compiledWrite(verb, entity, changed, () => {
    const versionsParam = versions === null ? null : param(null)
    const idParam = param(null)
    const operands = [
      ...operandsOf(changed),
      ...(versionsParam === null ? [] : [{ param: versionsParam, type: 'text' }]),
      { param: idParam, type: entity.id.kind.columnType },
    ]
    const guarded = guardParts(guard, changed)
    const parts: UpdateParts = {
      entity,
      changed,
      operands,
      id: idParam,
      versions: versionsParam,
      guard: guarded,
      copying: copying ?? [],
    }
    const key = param(null)
    if (claim) {
      const claimed = claimParams()
      const write = underClaim(entity, claimed, updateOne(parts, key, IS_FIRST), 'row')
      return { text: toStatement(write, [...paramsOf(operands), ...claimed, ...guarded.params, key]).text, batch: null }
    }
    const { text } = toStatement(updateOne(parts, key), [...paramsOf(operands), ...guarded.params, key])
    return { text, batch: updateMany(parts, key) }
  })
  const own = [...valuesOfChanged(changed, values), ...(versions === null ? [] : [versions]), id]
  // A rename has no batch: it can change rows that other runs return, and the number of rows that it changes is not known in
  // advance.
  const batch = copying === null ? compiled.batch : null
  return writeStatement({ text: compiled.text, batch }, own, plan, guardValues(guard, changed))
}

interface UpdateParts {
  readonly entity: Entity
  readonly changed: readonly Property[]
  /** The changed values, the versions if the plan has some, and the id, in the order of the parameters. */
  readonly operands: readonly Operand[]
  readonly id: Param
  /** PostgreSQL array of the versions that the row may have; null: it may have any version. */
  readonly versions: Param | null
  readonly guard: GuardParts
  readonly copying: readonly ReferringColumn[]
}

/**
 * Updates one row. One statement checks, locks and updates the row, so that no other write can change it in between. To avoid
 * deadlocks, rows that the row refers to are locked first. A rename also locks a referenced row before the rows that refer to it.
 * `isAllowed`: condition of the write; if it is false, no referenced row is locked.
 */
function updateOne(parts: UpdateParts, keyId: Param, isAllowed: Sql | null = null): Sql {
  const { entity, changed, operands, id, versions, guard, copying } = parts
  const table = name(entity.table)
  const referenced = referencedRows(changed, operands, guard)
  const stored = storedValue(sql``)
  const lockRow = (row: ReferencedRow) =>
    sql`(${row.id}::bigint is null or (select true from ${row.table} where id = ${row.id} for key share))`
  const lockAll = lockRenamedRows(parts)
  const locks = [...(lockAll === null ? [] : [sql`${lockAll} is not null`]), ...referenced.map(lockRow)]
  const conditions = join(
    [
      sql`id = ${id}`,
      setAuditKey(keyId),
      ...(isAllowed === null ? locks : [lockedIf(isAllowed, locks)]),
      ...(versions === null ? [] : [hasVersion(sql`xmin`, sql`${versions}`)]),
      ...admittedConditions(guard, stored, newValue(changed, operands, stored)),
      ...rulesWithStored(entity, changed, operands, sql``),
      ...uniqueConditions(entity, changed, operands, id),
      ...copying.map((column) => hasFewCopies(column, sql`${id}`)),
    ],
    sql` and `,
  )
  return sql`
    update ${table} as t set ${setsOf(parts, copiedValue)}
    from (select id from ${table} where ${conditions} for no key update) as before
    where t.id = before.id
    ${returningOf(parts)}`
}

/** Joins the locks to a condition by a `case`, so that a write that is not allowed locks nothing. */
function lockedIf(isAllowed: Sql, locks: readonly Sql[]): Sql {
  return locks.length === 0 ? isAllowed : sql`case when ${isAllowed} then ${join(locks, sql` and `)} else false end`
}

/**
 * Updates a row for each run; no two runs have the same id. A row that fails a condition is not changed. To avoid deadlocks, all
 * referenced rows are locked before the updated rows, both in the order of their ids, as in a rename.
 */
function updateMany(parts: UpdateParts, keyId: Param): Batch {
  const { entity, changed, operands, id, versions, guard } = parts
  const value = columnOf(operands)
  const table = name(entity.table)
  const referenced = referencedRows(changed, operands, guard)
  const locked = storedValue(sql`before.`)
  const rules = [
    ...withoutEstimate(remainingConditions(guard, locked, newValue(changed, operands, locked))),
    ...rulesWithStored(entity, changed, operands, sql`before.`),
    ...uniqueConditions(entity, changed, operands, id),
  ]
  const conditionsOfRun = [
    ...referenced.map((row) => sql`(${value(row.id)} is null or ${row.alias}.id is not null)`),
    ...rules.map((rule) => replaceParams(rule, value)),
  ]
  const text = compileBatchWrite(operands, guard.params, keyId, ({ from, arrays }: BatchInput, settings) => {
    const arrayOf = (param: Param) => arrays[operands.findIndex((operand) => operand.param === param)] as Sql
    const ids = arrayOf(id)
    const lockReferenced = referenced.map(
      (row) => sql`${row.alias} as materialized (
        select id, ${row.copied} as "K" from ${row.table} where id = any (${arrayOf(row.id)}) and ${settings}
        order by id for key share
      )`,
    )
    const conditionsOfRow = [
      sql`id = any (${ids})`,
      settings,
      ...referenced.map(({ alias }) => sql`(select count(*) from ${alias}) is not null`),
      ...(versions === null ? [] : [hasVersion(sql`own.xmin`, sql`(${arrayOf(versions)})[array_position(${ids}, own.id)]`)]),
      ...withoutEstimate(reachConditions(guard, storedValue(sql`own.`))),
    ]
    const joins = referenced.map((row) => sql`left join ${row.alias} on ${row.alias}.id = ${value(row.id)}`)
    return sql`
      ${lockReferenced.length === 0 ? sql`` : sql`with ${commaList(lockReferenced)}`}
      update ${table} as t set ${replaceParams(
        setsOf(parts, ({ alias }) => sql`${alias}."K"`),
        value,
      )}
      from ${from}
      join (
        select * from ${table} as own where ${join(conditionsOfRow, sql` and `)} order by id for no key update
      ) as before on before.id = ${value(id)}
      ${join(joins, sql` `)}
      where ${join([sql`t.id = before.id`, ...conditionsOfRun], sql` and `)}
      ${returningOf(parts)}, b."N"`
  })
  return { text, matchBy: 'number', distinct: operands.length - 1, shared: guard.params.length + 1 }
}

function setsOf({ changed, operands, guard }: UpdateParts, copiedFrom: (row: ReferencedRow) => Sql): Sql {
  return commaList(assignments(changed, operands, guard, copiedFrom).map(({ column, value }) => sql`${name(column)} = ${value}`))
}

function returningOf({ entity, guard }: UpdateParts): Sql {
  return sql`returning ${columns(entity, sql`t`)}, t.xmin::text${readableColumn(entity, guard, sql`t.`)}`
}

/** Condition that a locked row has one of the versions. After a wait for the lock, PostgreSQL checks the condition again. */
export function hasVersion(xmin: Sql, versions: Sql): Sql {
  return sql`${xmin}::text = any (${versions}::text[])`
}

/**
 * Selects and locks all rows of the table that a rename changes, in the order of their ids, so that concurrent renames queue
 * instead of deadlocking. It locks nothing if the guard does not let the update reach the row. Returns null if the update sets no
 * property that rows of the table copy from each other.
 */
function lockRenamedRows({ entity, changed, operands, id, guard }: UpdateParts): Sql | null {
  const copying = referringColumns(entity, [entity]).filter(({ isCopying }) => isCopying)
  const sources = copiedProperties(entity, [entity]).flatMap((property) => writableSourcesOf(entity, property))
  if (!changed.some(({ column }) => sources.includes(column))) return null
  const others = changed.flatMap((property, index) => {
    if (property.reference?.table !== entity.table) return []
    return { param: (operands[index] as Operand).param, conditions: guard.references.get(property) ?? [] }
  })
  const open = others.filter(isOpen)
  const restricted = others.filter((other) => !isOpen(other))
  // Ids of the row itself, and of the rows to which it will refer by references that may name every row.
  const ids = commaList([id, ...open.map(({ param }) => param)].map((param) => sql`${param}::bigint`))
  // The write must not wait for a row that the key may not refer to: the wait would reveal that this row exists.
  const restrictedRows = restricted.map(({ param, conditions }) => {
    const admitted = conditionsOf(conditions, storedValue(sql``))
    return sql` or (${join([sql`id = ${param}::bigint`, ...admitted], sql` and `)})`
  })
  const referring = copying.map(({ column }) => sql` or ${name(column)} = ${id}`)
  const renamed = sql`id in (${ids})${join([...restrictedRows, ...referring], sql``)}`
  const reach = reachConditions(guard, storedValue(sql`own.`))
  const own = sql`select from ${name(entity.table)} as own where ${join([sql`own.id = ${id}`, ...reach], sql` and `)}`
  const conditions = reach.length === 0 ? renamed : sql`(${renamed}) and exists (${own})`
  const rows = sql`select from ${name(entity.table)} where ${conditions} order by id for update`
  return sql`(select count(*) from (${rows}) as locked)`
}

/** Returns whether a reference may name every row. */
function isOpen({ conditions }: { readonly conditions: readonly Condition[] }): boolean {
  return conditions.length === 0
}

/**
 * Returns the conditions of rules that compare a changed with an unchanged value. If both values of a rule are in the body, the
 * parser has compared them.
 */
export function rulesWithStored({ rules }: Entity, changed: readonly Property[], operands: readonly Operand[], row: Sql): Sql[] {
  return rules.flatMap(({ later, earlier }) => {
    const laterAt = changed.indexOf(later)
    const earlierAt = changed.indexOf(earlier)
    if (laterAt < 0 === earlierAt < 0) return []
    const side = (at: number, { column }: Property) =>
      at < 0 ? sql`${row}${name(column)}` : sql`${(operands[at] as Operand).param}`
    return [sql`(${side(laterAt, later)} >= ${side(earlierAt, earlier)}) is not false`]
  })
}

/** Condition that at most `COPIES_MAX` rows copy from a row in this column. `id`: the row's id, or `any (…)` of several. */
export function hasFewCopies({ table, column }: ReferringColumn, id: Sql): Sql {
  const some = sql`select from ${name(table)} as copying where copying.${name(column)} = ${id} limit ${integer(COPIES_MAX + 1)}`
  return sql`(select count(*) from (${some}) as copies) <= ${integer(COPIES_MAX)}`
}
