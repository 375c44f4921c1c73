// Changes all rows that match filters, by one statement: all of them, or none. D113
import type { BatchableStatement } from '../model/batch.ts'
import { copiedProperties, type ReferringColumn, referringColumns, writableSourcesOf } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { join, name, type Sql, sql, toStatement, typeName } from '../model/sql.ts'
import { commaList, type Operand } from './batch.ts'
import {
  type FilteredParts,
  type FilteredWrite,
  filteredParams,
  filteredShape,
  filteredStatement,
  filteredWrite,
  onlyIf,
  orderedParams,
} from './filteredRows.ts'
import {
  admittedConditions,
  checkedGuard,
  conditionsOf,
  type GuardParts,
  guardParts,
  guardShape,
  guardValues,
  newValue,
  readableColumn,
  storedValue,
} from './guard.ts'
import { answerOf } from './idempotency.ts'
import { allTrue, changedProperties, columns, operandsOf, paramsOf, shapeCache, valuesOfChanged } from './parts.ts'
import { assignments, copiedValue, type ReferencedRow, referencedRows } from './references.ts'
import { hasFewCopies, rulesWithStored } from './update.ts'

const compiledShape = shapeCache<string>(500)

/**
 * Compiles an update of all rows that match. The update sets at least one property. `copying`: columns by which rows copy from
 * the updated rows. If more than `COPIES_MAX` rows copy by one of these columns, nothing is updated. If `copying` is null, there
 * is no such maximum.
 */
export function compileUpdateFiltered(
  entity: Entity,
  write: FilteredWrite,
  values: Assignments,
  copying: readonly ReferringColumn[] | null,
): BatchableStatement {
  const checked = checkedGuard(entity, write.guard, [values])
  // A dry run returns no rows, so the statement need not tell which rows the key may read.
  const guard = checked !== null && write.isDry ? { ...checked, readable: [] } : checked
  const changed = changedProperties(entity, values)
  const names = changed.map(({ column }) => ` ${column}`).join('')
  const shape = `${copying === null ? '' : 'few '}${filteredShape(entity, write)}|${names}${guardShape(guard)}`
  const text = compiledShape(shape, () => {
    const operands = operandsOf(changed)
    const params = filteredParams(write)
    const guarded = guardParts(guard, changed)
    const update = { entity, changed, operands, guard: guarded, isDry: write.isDry }
    const statement = filteredWrite({ ...partsOf(update, copying), params })
    return toStatement(statement, orderedParams(paramsOf(operands), params, guarded)).text
  })
  return filteredStatement(text, valuesOfChanged(changed, values), write, guardValues(guard, changed))
}

interface Update {
  readonly entity: Entity
  readonly changed: readonly Property[]
  readonly operands: readonly Operand[]
  readonly guard: GuardParts
  readonly isDry: boolean
}

function partsOf(update: Update, copying: readonly ReferringColumn[] | null): Omit<FilteredParts, 'params'> {
  const { entity, changed, operands, guard, isDry } = update
  const referenced = referencedRows(changed, operands, guard)
  const renamed = isDry ? null : lockRowsRenamedByFound(update)
  const areThere = onlyIf(
    sql`(select bool_and("Is") from "Found")`,
    referenced.map((row) => isThere(row, isDry)),
  )
  // First locks the rows that a rename changes, as a rename of one row does.
  const lockParts = [
    ...(renamed === null ? [] : [sql`"Renamed" as materialized (${renamed})`]),
    ...(referenced.length === 0 ? [] : [sql`"Referred" as materialized (select ${areThere} as "Is")`]),
  ]
  return {
    entity,
    guard,
    isDry,
    lock: sql`for no key update`,
    lockParts,
    lockConditions: [
      ...(renamed === null ? [] : [sql`(select count(*) from "Renamed") is not null`]),
      ...(referenced.length === 0 ? [] : [sql`(select count(*) from "Referred") is not null`]),
    ],
    refused: refusedRows(update, referenced.length > 0),
    hasFewCopies:
      copying === null
        ? sql`true`
        : allTrue(copying.map((column) => hasFewCopies(column, sql`any (array(select id from "Locked"))`))),
    effect: (condition) => (isDry ? nothingOf(operands) : updateLocked(update, condition)),
    answer: sql`array_agg(${answerOf(entity)} order by "C1")`,
  }
}

/**
 * Condition that a reference is null, or that the row which it names exists. The row is locked, so that it stays until the end of
 * the write; a dry run locks nothing.
 */
function isThere({ table, id }: ReferencedRow, isDry: boolean): Sql {
  const lock = isDry ? sql`` : sql` for key share`
  return sql`(${id}::bigint is null or (select true from ${table} where id = ${id}${lock}))`
}

/**
 * Selects the locked rows that the guard does not admit, and those whose update would name a missing row, break a rule, or make a
 * unique value occur twice.
 */
function refusedRows({ entity, changed, operands, guard }: Update, isReferring: boolean): Sql {
  const stored = storedValue(sql`l.`)
  const conditions = [
    ...(isReferring ? [sql`(select "Is" from "Referred")`] : []),
    ...admittedConditions(guard, stored, newValue(changed, operands, stored)),
    ...rulesWithStored(entity, changed, operands, sql`l.`),
    ...changed.flatMap((property, index) => {
      if (property.unique === null) return []
      const value = sql`${(operands[index] as Operand).param}::${typeName(property.kind.columnType)}`
      return isFree(entity, property, value)
    }),
  ]
  return sql`select l.id as "I" from "Locked" as l where not ${allTrue(conditions)}`
}

/** Condition that a unique value is null, or that it is free and "Locked" has only one row to get it. */
function isFree({ table }: Entity, { column }: Property, value: Sql): Sql {
  const taken = sql`select from ${name(table)} as taken where taken.${name(column)} = ${value} and taken.id <> l.id`
  return sql`(${value} is null or ((select count(*) from "Locked") = 1 and not exists (${taken})))`
}

function updateLocked({ entity, changed, operands, guard }: Update, condition: Sql): Sql {
  const set = commaList(
    assignments(changed, operands, guard, copiedValue).map(({ column, value }) => sql`${name(column)} = ${value}`),
  )
  return sql`
    update ${name(entity.table)} as t set ${set} from "Locked" as l where t.id = l.id and ${condition}
    returning ${columns(entity, sql`t`)}, t.xmin::text${readableColumn(entity, guard, sql`t.`)}`
}

/** Selects no row. The query contains the new values only because PostgreSQL must know the type of each parameter. */
function nothingOf(operands: readonly Operand[]): Sql {
  const nulls = operands.map(({ param, type }) => sql`${param}::${typeName(type)} is null`)
  return sql`select null::text where false and (${join(nulls, sql` or `)})`
}

/**
 * Selects and locks all rows of the table that a rename changes, in the order of their ids, so that concurrent renames queue
 * instead of deadlocking. Returns null if the update sets no property that rows of the table copy from each other.
 */
function lockRowsRenamedByFound({ entity, changed, operands, guard }: Update): Sql | null {
  const copying = referringColumns(entity, [entity]).filter(({ isCopying }) => isCopying)
  const sources = copiedProperties(entity, [entity]).flatMap((property) => writableSourcesOf(entity, property))
  if (!changed.some(({ column }) => sources.includes(column))) return null
  const found = sql`any (array(select id from "Found"))`
  const referring = copying.map(({ column }) => sql`${name(column)} = ${found}`)
  const others = changed.flatMap((property, index) => {
    if (property.reference?.table !== entity.table) return []
    const { param } = operands[index] as Operand
    const admitted = conditionsOf(guard.references.get(property) ?? [], storedValue(sql``))
    return sql`(${join([sql`id = ${param}::bigint`, ...admitted], sql` and `)})`
  })
  const rows = join([sql`id = ${found}`, ...referring, ...others], sql` or `)
  const isReached = sql`(select bool_and("Is") from "Found")`
  return sql`select id from ${name(entity.table)} where ${isReached} and (${rows}) order by id for update`
}
