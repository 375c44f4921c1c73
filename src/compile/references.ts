// References in writes: finds, locks and copies from the rows that a written row refers to.
import type { Property } from '../model/entity.ts'
import { integer, join, name, type Param, type Sql, sql } from '../model/sql.ts'
import type { Operand } from './batch.ts'

/** A row that a written row refers to: if it is missing, nothing is written. */
export interface ReferencedRow {
  readonly table: Sql
  readonly id: Param
  /** Value that is copied from the row; for a reference without a copy, any value that is never null. */
  readonly copied: Sql
  /** Alias of the row, or of what is copied from it. */
  readonly alias: Sql
}

/** The rows that the changed references name. */
export function referencedRows(changed: readonly Property[], operands: readonly Operand[]): ReferencedRow[] {
  return changed.flatMap(({ reference }, index) => {
    if (!reference) return []
    return {
      table: name(reference.table),
      id: (operands[index] as Operand).param,
      copied: reference.copy ? name(reference.copy.sourceColumn) : sql`true`,
      alias: sql`"K${integer(index + 1)}"`,
    }
  })
}

/**
 * The columns that a write sets, with their values. A reference brings along the copy that its foreign key checks, which
 * `copiedFrom` finds.
 */
export function assignments(
  changed: readonly Property[],
  operands: readonly Operand[],
  copiedFrom: (row: ReferencedRow) => Sql,
): { readonly column: string; readonly value: Sql }[] {
  const referenced = referencedRows(changed, operands)
  return changed.flatMap(({ column, reference }, index) => {
    const { param } = operands[index] as Operand
    const own = { column, value: sql`${param}` }
    const row = referenced.find(({ id }) => id === param)
    if (!row || !reference?.copy) return [own]
    return [own, { column: reference.copy.keyColumn, value: copiedFrom(row) }]
  })
}

/**
 * Selects what is copied from a row, under the lock that the foreign key takes anyway: it waits for a rename in progress, and
 * sees the new name.
 */
export function lookUp({ table, id, copied }: ReferencedRow): Sql {
  return sql`(select ${copied} from ${table} where id = ${id} for key share)`
}

/** Condition that the rows which `b` refers to exist; `b` has what `lookUp` found under their aliases. */
export function allFound(rows: readonly ReferencedRow[]): Sql {
  const isFound = ({ id, alias }: ReferencedRow) => sql`(${id}::bigint is null or b.${alias} is not null)`
  return join(rows.map(isFound), sql` and `)
}
