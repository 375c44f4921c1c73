import { copiedProperties, copyingColumns, ownCopiesOf, type ReferringColumn } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'

/** The copies that rows of any entity have of one entity's rows. */
export class RowCopies {
  private readonly copied: readonly Property[]
  readonly copying: readonly ReferringColumn[]
  /**
   * True if renames may be part of a batch: what is copied is what clients write, and no text that is computed; and no row of
   * the batch gets a copy of another one, behind the statement that has returned it with its version.
   */
  readonly areBatched: boolean
  /** References of a row to rows of its own table, what is copied from those, and what that is a copy of. */
  private readonly own: readonly { reference: number; copy: number; source: number }[]

  constructor(entity: Entity, entities: readonly Entity[]) {
    this.copied = copiedProperties(entity, entities)
    this.copying = copyingColumns(entity, entities)
    this.own = ownCopiesOf(entity)
    this.areBatched = this.own.length === 0 && this.copied.every(({ writable }) => writable)
  }

  /** Returns whether the assignments may reach rows that copy from this one. */
  reachedBy(assignments: Assignments): boolean {
    const isChanged = (column: string) => [...assignments.keys()].some((property) => property.column === column)
    return this.copied.some((property) => (property.writable ? assignments.has(property) : property.computedFrom.some(isChanged)))
  }

  /** A row that refers to itself gets its copies behind the statement that has returned it: of what it has now. */
  withOwn(row: Row): Row {
    let whole = row
    for (const { reference, copy, source } of this.own)
      if (row[reference] === row[0]) whole = whole.with(copy, row[source] as string | null)
    return whole
  }
}
