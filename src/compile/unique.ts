import type { Entity, Property } from '../model/entity.ts'
import { name, type Sql, sql } from '../model/sql.ts'
import type { Operand } from './batch.ts'
import type { Compiled } from './shapes.ts'

/** A row with a value that another one has is left out, also where that is written at the same time: nothing has to fail. */
export function unlessTaken(changed: readonly Property[]): Sql {
  return changed.some(({ unique }) => unique !== null) ? sql`on conflict do nothing ` : sql``
}

/**
 * Writes of unique values are not batched: what of a batch was left out could not be told from what was written, and two
 * updates of one batch, neither of which sees the other, would leave it to the constraint to refuse them. D65
 */
export function aloneIfUnique(changed: readonly Property[], compiled: Compiled): Compiled {
  return changed.some(({ unique }) => unique !== null) ? { ...compiled, batch: null } : compiled
}

/** That no row has a unique value of a new one; of those that are under way at the same time the constraint refuses one. */
export function freeOfNew(entity: Entity, changed: readonly Property[], operands: readonly Operand[]): Sql[] {
  return changed.flatMap(({ column, unique }, index) => {
    if (unique === null) return []
    const value = sql`taken.${name(column)} = ${(operands[index] as Operand).param}`
    return [sql`not exists (select from ${name(entity.table)} as taken where ${value})`]
  })
}

/** That no other row has a unique value that is changed; of two updates at the same time the constraint refuses one. */
export function freeOf(entity: Entity, changed: readonly Property[], operands: readonly Operand[]): Sql[] {
  const id = (operands.at(-1) as Operand).param
  return changed.flatMap(({ column, unique }, index) => {
    if (unique === null) return []
    const value = sql`taken.${name(column)} = ${(operands[index] as Operand).param}`
    return [sql`not exists (select from ${name(entity.table)} as taken where ${value} and taken.id <> ${id})`]
  })
}
