// Questions about rows on which the rights of a person depend: her own row, and whether a list has any.
import type { Entity } from './entity.ts'
import type { Filter } from './query.ts'
import type { Row } from './sql.ts'

/** Answers questions about rows that are as fresh as those of any read. It returns no promise if memory has the answer. */
export interface RowQuestions {
  /** Returns the values of the only row that matches, in the order of the entity's properties; null: none matches, or several. */
  only(entity: Entity, filters: readonly Filter[]): Row | null | Promise<Row | null>
  /** Returns whether a row matches. */
  some(entity: Entity, filters: readonly Filter[]): boolean | Promise<boolean>
}
