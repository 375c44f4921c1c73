// References in writes: finds and locks the referenced rows, and copies their values.
import type { Property } from '../model/entity.ts'
import { integer, join, name, type Param, type Sql, sql } from '../model/sql.ts'
import type { Operand } from './batch.ts'
import { type GuardParts, referredRows } from './guard.ts'

/** A row that a written row refers to. If it is missing, nothing is written. */
export interface ReferencedRow {
  /** The table, or a query of those rows of the table that the write may refer to. */
  readonly table: Sql
  readonly id: Param
  /** Value to copy from the row. If the reference copies nothing, this is a constant that is not null. */
  readonly copied: Sql
  /** Alias of the row, or of its copied value. */
  readonly alias: Sql
}

/** Returns the rows that the changed references name. */
export function referencedRows(
  changed: readonly Property[],
  operands: readonly Operand[],
  { references }: GuardParts,
): ReferencedRow[] {
  return changed.flatMap((property, index) => {
    const { reference } = property
    if (!reference) return []
    return {
      table: referredRows(reference.table, references.get(property) ?? []),
      id: (operands[index] as Operand).param,
      copied: reference.copy ? name(reference.copy.sourceColumn) : sql`true`,
      alias: sql`"K${integer(index + 1)}"`,
    }
  })
}

/**
 * Returns the columns that a write sets, with their values. A reference also sets its copied value, because the foreign key
 * compares the id and the copied value. `copiedFrom`: returns the value to copy from a referenced row.
 */
export function assignments(
  changed: readonly Property[],
  operands: readonly Operand[],
  guard: GuardParts,
  copiedFrom: (row: ReferencedRow) => Sql,
): { readonly column: string; readonly value: Sql }[] {
  const referenced = referencedRows(changed, operands, guard)
  return changed.flatMap(({ column, reference }, index) => {
    const { param } = operands[index] as Operand
    const own = { column, value: sql`${param}` }
    const row = referenced.find(({ id }) => id === param)
    if (!row || !reference?.copy) return [own]
    return [own, { column: reference.copy.keyColumn, value: copiedFrom(row) }]
  })
}

/**
 * Selects a row's copied value. It takes the lock that the foreign key takes anyway, so that it waits for a concurrent rename,
 * and then sees the new name.
 */
export function copiedValue({ table, id, copied }: ReferencedRow): Sql {
  return sql`(select ${copied} from ${table} where id = ${id} for key share)`
}

/** Condition that the referenced rows exist. The row `b` has the results of `copiedValue` under their aliases. */
export function allFound(rows: readonly ReferencedRow[]): Sql {
  const isFound = ({ id, alias }: ReferencedRow) => sql`(${id}::bigint is null or b.${alias} is not null)`
  return join(rows.map(isFound), sql` and `)
}
