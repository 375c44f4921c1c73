// Questions about rows on which the rights of a person depend: her own row, and whether a list has any row.
import type { Entity } from './entity.ts'
import type { Filter } from './query.ts'
import type { Row } from './sql.ts'

/**
 * Answers questions about rows. The answers are as fresh as the rows of any read. An answer that is found in memory is returned
 * without a promise.
 */
export interface RowQuestions {
  /**
   * Returns the values of the only row that matches, in the order of the entity's properties; null if no row matches, or several
   * do.
   */
  only(entity: Entity, filters: readonly Filter[]): Row | null | Promise<Row | null>
  /** Returns whether a row matches. */
  some(entity: Entity, filters: readonly Filter[]): boolean | Promise<boolean>
}
