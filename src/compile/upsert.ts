// Creates or changes several rows, which are matched by the value of one property: one statement that writes all of them or none.
// D115
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Property } from '../model/entity.ts'
import {
  integer,
  join,
  name,
  type Param,
  param,
  replaceParams,
  type Sql,
  type Statement,
  sql,
  toStatement,
  typeName,
} from '../model/sql.ts'
import { batchInput, columnOf, commaList, type Operand, setAuditKey } from './batch.ts'
import { copiedValues, insertParts } from './create.ts'
import { serialized, writableOf } from './createRows.ts'
import {
  bindFilters,
  type Condition,
  conditionsOf,
  type GuardParts,
  guardParts,
  guardShape,
  guardValues,
  readableColumn,
  storedValue,
} from './guard.ts'
import { type ClaimParams, claimParams, IS_FIRST, underClaimInOrder } from './idempotency.ts'
import {
  allTrue,
  columns,
  operandsOf,
  paramsOf,
  shapeCache,
  shapeOf,
  uniqueConditions,
  valuesOf,
  writeStatement,
} from './parts.ts'
import { allFound } from './references.ts'
import { COPIES_MAX } from './update.ts'
import {
  changesOf,
  hasReadable,
  IS_BEGUN,
  IS_RIGHT,
  lockedReferences,
  lockedRows,
  shownNames,
  Updates,
  type UpsertShape,
  unchangedOutcomes,
  updated,
} from './upsertChanges.ts'

const OUTCOMES = ['created', 'updated', 'unchanged'] as const
/** Outcome of a write for one row of the body. */
export type UpsertOutcome = (typeof OUTCOMES)[number]

export function isUpsertOutcome(text: string | null): text is UpsertOutcome {
  return OUTCOMES.includes(text as UpsertOutcome)
}

/** Values of an upsert as array literals of PostgreSQL. */
export interface UpsertValues {
  /** Values of new rows: an array for each property of `writableOf`, and an array of the rows' indexes in the body. */
  readonly created: readonly string[]
  /** Values of stored rows: ids, values of the matched property, indexes, masks, and an array for each property of `changed`. */
  readonly updated: readonly string[]
  /** Values of the matched property: first of the new rows, then of the stored rows. */
  readonly matched: string
  /** Ids of the view's rows that had one of the values of `matched` when the body was divided into new and stored rows. */
  readonly known: string
}

const textOfShape = shapeCache<string>(500)

/**
 * Compiles an upsert. The statement returns the rows in the order of the body, each with its transaction, its index and its
 * outcome. It returns no rows in these cases:
 * - A row has changed since the body was divided into new and stored rows.
 * - A guard does not admit a row, or a rule would be broken.
 * - A referenced row is missing, or a unique value is taken.
 * - The Idempotency-Key of `claim` is known or in use.
 * - More than `COPIES_MAX` rows copy from the renamed rows by one of the columns `copying`.
 */
export function compileUpsert(
  shape: UpsertShape,
  values: UpsertValues,
  claim: IdempotencyClaim | null,
  keyId: string,
): BatchableStatement {
  const { entity, ofCreate, ofUpdate, changed, hasCreates, hasUpdates } = shape
  const text = textOfShape(nameOf(shape, claim), () => {
    const creates = new Creates(shape)
    const updates = new Updates(shape)
    const claimed = claim ? claimParams() : null
    const fresh = { matched: param(null), known: param(null), shown: bindFilters(shape.shown) }
    const key = param(null)
    const effect = upsert(shape, creates, updates, fresh, key, claimed)
    const params = [
      ...(hasCreates ? [...paramsOf(creates.operands), fresh.matched, fresh.known, ...paramsOfConditions(fresh.shown)] : []),
      ...(hasUpdates ? [...paramsOf(updates.operands), ...paramsOfConditions(updates.shown)] : []),
      ...(claimed ?? []),
      ...(hasCreates ? creates.guard.params : []),
      ...(hasUpdates ? updates.guard.params : []),
    ]
    return toStatement(effect, [...params, key]).text
  })
  const ofView = valuesOf(shape.shown)
  const own = [
    ...(hasCreates ? [...values.created, values.matched, values.known, ...ofView] : []),
    ...(hasUpdates ? [...values.updated, ...ofView] : []),
  ]
  const ofGuards = [
    ...(hasCreates ? guardValues(ofCreate, writableOf(entity)) : []),
    ...(hasUpdates ? guardValues(ofUpdate, changed) : []),
  ]
  return writeStatement({ text, batch: null }, own, { claim, keyId }, ofGuards)
}

/**
 * Compiles a check of the stored rows of an upsert, which locks and writes nothing. The statement returns for each row its index,
 * whether it may be updated, and whether its values differ; the last two are `t` or `f`.
 */
export function compileUpsertCheck(whole: UpsertShape, values: readonly string[]): Statement {
  // The check returns no rows, so it need not tell which rows the key may read.
  const shape = { ...whole, ofUpdate: whole.ofUpdate && { ...whole.ofUpdate, readable: [] } }
  const text = textOfShape(`check ${nameOf(shape, null)}`, () => {
    const updates = new Updates(shape)
    const parts = [
      sql`"Begun" as (select true as "Is")`,
      ...lockedReferences(shape, updates, sql``),
      lockedRows(shape, updates, sql``),
      changesOf(shape, updates),
    ]
    const index = columnOf(updates.operands)(updates.index.param)
    const check = sql`with ${commaList(parts)} select ${index}::text, "Ok", "Differs" from "Changes" as b order by ${index}`
    return toStatement(check, [...paramsOf(updates.operands), ...paramsOfConditions(updates.shown), ...updates.guard.params]).text
  })
  return { text, values: [...values, ...valuesOf(shape.shown), ...guardValues(shape.ofUpdate, shape.changed)] }
}

function nameOf(shape: UpsertShape, claim: IdempotencyClaim | null): string {
  const { entity, matched, hasCreates, hasUpdates, changed, isUniform, hidden, renaming, copying, ofCreate, ofUpdate } = shape
  const columnsOf = (properties: readonly Property[]) => properties.map(({ column }) => column).join()
  const creates = hasCreates ? ` create${guardShape(ofCreate)}` : ''
  const updates = ` update ${columnsOf(changed)} ${isUniform} ${columnsOf(hidden)} ${columnsOf(renaming)} ${copying?.length}`
  const view = shapeOf(shape.shown)
  return `${claim ? 'claim ' : ''}${entity.table} ${matched.column}${view}${creates}${hasUpdates ? updates + guardShape(ofUpdate) : ''}`
}

/** Operands of the new rows, and the guard of the right to create them. */
class Creates {
  readonly changed: readonly Property[]
  readonly own: readonly Operand[]
  readonly index: Operand = { param: param(null), type: 'bigint' }
  readonly operands: readonly Operand[]
  readonly guard: GuardParts

  constructor({ entity, ofCreate }: UpsertShape) {
    this.changed = writableOf(entity)
    this.own = operandsOf(this.changed)
    this.operands = [...this.own, this.index]
    this.guard = guardParts(ofCreate, this.changed)
  }
}

/** Parameters of the search for rows that other requests have written in the meantime. */
interface Fresh {
  readonly matched: Param
  readonly known: Param
  /** Conditions of the view. */
  readonly shown: readonly Condition[]
}

function paramsOfConditions(conditions: readonly Condition[]): Param[] {
  return conditions.flatMap(({ operands }) => operands)
}

function upsert(
  shape: UpsertShape,
  creates: Creates,
  updates: Updates,
  fresh: Fresh,
  keyId: Param,
  claimed: ClaimParams | null,
): Sql {
  const { entity, hasCreates, hasUpdates, changed } = shape
  const isFresh = hasCreates ? isStillNew(shape, fresh) : sql`true`
  const begun = sql`select ${setAuditKey(keyId)} and ${claimed ? sql`case when ${IS_FIRST} then ${isFresh} else false end` : isFresh} as "Is"`
  const parts = [
    ...(hasCreates ? [serialized(entity)] : []),
    sql`"Begun" as materialized (${begun})`,
    ...(hasUpdates ? lockedReferences(shape, updates) : []),
    ...(hasUpdates ? [lockedRows(shape, updates), changesOf(shape, updates)] : []),
    ...(hasCreates ? [newRows(shape, creates)] : []),
    sql`"All" as materialized (select ${areAllRight(shape)} as "Is")`,
    ...(hasUpdates && changed.length > 0 ? [updated(shape, updates)] : []),
    ...(hasCreates ? [inserted(shape, creates)] : []),
  ]
  const isShown = hasReadable(creates.guard, updates.guard)
  const outcomes = [
    ...(hasCreates ? [createdOutcomes(shape, creates)] : []),
    ...(hasUpdates && changed.length > 0 ? [sql`select *, 'updated'::text from "Updated"`] : []),
    ...(hasUpdates ? [unchangedOutcomes(shape, updates)] : []),
  ]
  const effect = sql`(${shownNames(shape, isShown)}, "At", "Outcome") as (${join(outcomes, sql` union all `)})`
  const list = commaList(parts)
  return claimed
    ? underClaimInOrder(entity, claimed, list, effect)
    : sql`with ${list}, "Effect" ${effect} select * from "Effect" order by "At"`
}

/**
 * Condition that no row has got one of the values of `matched` since the body was divided into new and stored rows. Upserts and
 * bulk creates of a table that take the lock of "Serialized" run one after the other. The function `found_now` sees what earlier
 * upserts and bulk creates have committed, which the snapshot of the statement does not. So two requests with the same new value
 * create one row, even if the property is not unique.
 * - In the snapshot: each row of the view that has one of the values is in `known`.
 * - After the snapshot: no row of the table has got or lost one of the values. Rows outside of the view can be many, so only the
 *   number of rows and a checksum of their ids are compared.
 */
function isStillNew({ entity, matched }: UpsertShape, { matched: values, known, shown }: Fresh): Sql {
  const type = typeName(matched.kind.columnType.replace(/\(.*?\)/, ''))
  // Uses a join: with an array that is unknown to the planner, PostgreSQL would compare each row of the table with each element.
  const rowsOf = (sent: Sql) =>
    sql`unnest(${sent}::${type}[]) as sent(value) join ${name(entity.table)} as t on t.${name(matched.column)} = sent.value`
  const summary = sql`array[count(*), coalesce(bit_xor(hashint8extended(t.id, 0)), 0)]`
  const now = sql`select ${summary} from ${rowsOf(sql`current_setting(''roster.matched'')`)} where $1 is not null`
  const then = sql`(select ${summary} from ${rowsOf(sql`${values}::text`)})`
  const isKnown = sql`exists (select from unnest(${known}::bigint[]) as known(id) where known.id = t.id)`
  const isOther = join([sql`not ${isKnown}`, ...conditionsOf(shown, storedValue(sql`t.`))], sql` and `)
  const others = sql`select from ${rowsOf(sql`${values}::text`)} where ${isOther}`
  const isSet = sql`set_config('roster.matched', ${values}::text, true) is not null`
  const isSame = sql`found_now('${now}', '{}') = ${then} and not exists (${others})`
  return sql`(select ${isSame} from "Serialized" where ${isSet})`
}

/** The rows to create, as "New". "Ok" says whether a row may be created. */
function newRows({ entity }: UpsertShape, { changed, own, operands, guard }: Creates): Sql {
  const { referenced, valueConditions } = insertParts(entity, changed, own, guard)
  const value = columnOf(operands)
  const { from } = batchInput(operands, paramsOf(operands))
  const conditions = [
    ...valueConditions,
    ...(referenced.length === 0 ? [] : [allFound(referenced)]),
    ...uniqueConditions(entity, changed, own, null),
  ]
  const lookedUp = referenced.length === 0 ? sql`b.*` : sql`b.*, ${replaceParams(copiedValues(referenced), value)}`
  return sql`"New" as materialized (
    select b.*, ${allTrue(conditions.map((condition) => replaceParams(condition, value)))} as "Ok"
    from (select ${lookedUp} from ${from} where ${IS_BEGUN} offset 0) as b
  )`
}

function inserted(shape: UpsertShape, creates: Creates): Sql {
  const { entity, hasUpdates, changed } = shape
  const { insert, values } = insertParts(entity, creates.changed, creates.own, creates.guard)
  const returning = sql`returning ${columns(entity)}, xmin::text${readableColumn(entity, creates.guard, sql``)}`
  // Rows are updated first. If a new row refers to a renamed row, PostgreSQL then renames the copy in the new row before it
  // checks the reference.
  const after = hasUpdates && changed.length > 0 ? sql` and (select count(*) from "Updated") is not null` : sql``
  return sql`"Inserted" (${shownNames(shape, hasReadable(creates.guard))}) as (
    ${insert}
    select ${replaceParams(values, columnOf(creates.operands))} from "New" as b where ${IS_RIGHT}${after} order by b."N"
    ${returning}
  )`
}

/** Selects the created rows. Ids are assigned in the order of "New", so the lowest id is that of the first new row. */
function createdOutcomes(shape: UpsertShape, { operands, index, guard }: Creates): Sql {
  const at = columnOf(operands)(index.param)
  const indexes = sql`array(select ${at} from "New" as b order by b."N")`
  return sql`
    select ${shownNames(shape, hasReadable(guard))}, (${indexes})[row_number() over (order by "C1")], 'created'::text
    from "Inserted"`
}

/** Condition that every row may be written. */
function areAllRight({ hasCreates, hasUpdates, copying }: UpsertShape): Sql {
  const areRight = (rows: Sql) => sql`(select coalesce(bool_and("Ok"), false) from ${rows})`
  return join(
    [
      ...(hasCreates ? [areRight(sql`"New"`)] : []),
      ...(hasUpdates ? [areRight(sql`"Changes"`)] : []),
      ...(hasUpdates ? (copying ?? []).map(renamesFewCopies) : []),
    ],
    sql` and `,
  )
}

/** Condition that at most `COPIES_MAX` rows of this column copy from the renamed rows. */
function renamesFewCopies({ table, column }: ReferringColumn): Sql {
  const max = integer(COPIES_MAX + 1)
  const ofRow = sql`select from ${name(table)} as copying where copying.${name(column)} = b."V1" limit ${max}`
  const some = sql`select from "Changes" as b cross join lateral (${ofRow}) as copies where b."Renames" limit ${max}`
  return sql`(select count(*) from (${some}) as copies) <= ${integer(COPIES_MAX)}`
}
