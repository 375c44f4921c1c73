import type { Entity, Property } from '../model/entity.ts'
import { integer, join, name, type Param, param, type Sql, sql } from '../model/sql.ts'
import type { InsertParts, Operand, Source } from './batch.ts'
import { columns } from './columns.ts'
import { type Publishing, written } from './written.ts'

// What statements that set properties have in common.

/** A value for each, which its statement gets later. */
export function operandsOf(changed: readonly Property[]): Operand[] {
  return changed.map(({ kind }) => ({ param: param(null), type: kind.columnType }))
}

/** A reference brings along the copy that its foreign key checks, which `copied` finds. */
export function assignments(
  changed: readonly Property[],
  operands: readonly Operand[],
  copied: (source: Source) => Sql,
) {
  const sources = sourcesOf(changed, operands)
  return changed.flatMap(({ column, reference }, index) => {
    const { param } = operands[index] as Operand
    const own = { column, value: sql`${param}` }
    const source = sources.find(({ id }) => id === param)
    return source && reference?.copy ? [own, { column: reference.copy.keyColumn, value: copied(source) }] : [own]
  })
}

/** The rows that the changed references name. */
export function sourcesOf(changed: readonly Property[], operands: readonly Operand[]): Source[] {
  return changed.flatMap(({ reference }, index) => {
    if (!reference) return []
    const copied = reference.copy ? name(reference.copy.sourceColumn) : sql`true`
    const as = sql`"K${integer(index + 1)}"`
    return [{ table: name(reference.table), id: (operands[index] as Operand).param, copied, as }]
  })
}

/** A new row that sets these properties. `values` are of a row `b`, which has what they copy. */
export function insertParts(
  entity: Entity,
  changed: readonly Property[],
  operands: readonly Operand[],
  publishing: Publishing,
): InsertParts {
  const assigned = assignments(changed, operands, ({ as }) => sql`b.${as}`)
  const targets = list(assigned.map(({ column }) => name(column)))
  return {
    insert: sql`insert into ${name(entity.table)} (${targets})`,
    values: list(assigned.map(({ value }) => value)),
    returning: sql`returning ${columns(entity)}, ${written(sql``, publishing)}`,
    sources: sourcesOf(changed, operands),
    matches: changed.flatMap((property, value) =>
      property.reference ? [{ value, column: entity.properties.indexOf(property) }] : [],
    ),
  }
}

export function paramsOf(operands: readonly Operand[]): Param[] {
  return operands.map((operand) => operand.param)
}

export function list(parts: readonly Sql[]): Sql {
  return join(parts, sql`, `)
}
