// Deletes all rows that match filters, by one statement: all of them, or none. D113
import type { BatchableStatement } from '../model/batch.ts'
import type { ReferringColumn } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'
import { join, name, type Sql, sql, toStatement } from '../model/sql.ts'
import {
  type FilteredWrite,
  filteredParams,
  filteredShape,
  filteredStatement,
  filteredWrite,
  orderedParams,
} from './filteredRows.ts'
import { guardParts, guardShape, guardValues, reachConditions, storedValue } from './guard.ts'
import { allTrue, columns, shapeCache } from './parts.ts'

const compiledShape = shapeCache<string>(500)

/**
 * Compiles the deletion of all rows that match. If a remaining row refers to one of them, none is deleted. References are looked
 * up after the rows are locked, with a snapshot of that time. `referring` must be the same for all rows of an entity. A stored
 * answer has only the ids, because personal data must not outlive its deletion.
 */
export function compileRemoveFiltered(
  entity: Entity,
  write: FilteredWrite,
  referring: readonly ReferringColumn[],
): BatchableStatement {
  const { guard, isDry } = write
  const text = compiledShape(`${filteredShape(entity, write)}${guardShape(guard)}`, () => {
    const params = filteredParams(write)
    const guarded = guardParts(guard, null)
    const statement = filteredWrite({
      entity,
      params,
      guard: guarded,
      isDry,
      lock: sql`for update`,
      lockParts: [],
      lockConditions: [],
      refused: refusedRows(entity, referring, allTrue(reachConditions(guarded, storedValue(sql`l.`)))),
      hasFewCopies: sql`true`,
      effect: (condition) => (isDry ? sql`select null::text where false` : deleteLocked(entity, condition)),
      answer: sql`array_agg("C1"::text order by "C1")`,
    })
    return toStatement(statement, orderedParams([], params, guarded)).text
  })
  return filteredStatement(text, [], write, guardValues(guard, null))
}

/** Selects the locked rows that the guard does not admit, and those that a remaining row refers to. */
function refusedRows(entity: Entity, referring: readonly ReferringColumn[], isReached: Sql): Sql {
  const unreached = sql`select l.id as "I" from "Locked" as l where not ${isReached}`
  if (referring.length === 0) return unreached
  const exists = referring.map(({ table, column }) => {
    // References from rows that are deleted by the same statement do not count.
    const isOther = table === entity.table ? sql` and referring.id <> all ($1)` : sql``
    // A range instead of an equality keeps PostgreSQL from reading the whole table if most rows refer to a few ids.
    const isReferring = sql`referring.${name(column)} between own.id and own.id${isOther}`
    return sql`exists (select from ${name(table)} as referring where ${isReferring})`
  })
  const query = sql`select array(select id from unnest($1) as own(id) where ${join(exists, sql` or `)} order by id)`
  return sql`${unreached} union select unnest(found_now('${query}', array(select id from "Locked"))) as "I"`
}

function deleteLocked(entity: Entity, condition: Sql): Sql {
  return sql`
    delete from ${name(entity.table)} as t using "Locked" as l where t.id = l.id and ${condition}
    returning ${columns(entity, sql`t`)}, t.xmax::text`
}
