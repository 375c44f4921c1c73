// Rows in memory for tests. They answer the questions that the rights of persons depend on.
import type { Entity } from '../../src/model/entity.ts'
import type { Filter } from '../../src/model/query.ts'
import type { RowQuestions } from '../../src/model/rowQuestions.ts'
import type { Row } from '../../src/model/sql.ts'
import { entities } from './entities.ts'
import { compilePredicate } from './predicate.ts'

/** A row by the names of its properties, as PostgreSQL prints the values. Properties that are not named have no value. */
export type NamedCells = Readonly<Record<string, string | null>>

/** Answers questions from rows that a test can change. `isLate`: answers are promises, like those of the database. */
export class RoleRows implements RowQuestions {
  /** Number of questions so far. */
  asked = 0

  constructor(
    readonly rows: Record<string, NamedCells[]>,
    readonly isLate = false,
  ) {}

  only(entity: Entity, filters: readonly Filter[]): Row | null | Promise<Row | null> {
    const found = this.find(entity, filters)
    const row = found.length === 1 ? (found[0] as Row) : null
    return this.isLate ? Promise.resolve(row) : row
  }

  some(entity: Entity, filters: readonly Filter[]): boolean | Promise<boolean> {
    const isFound = this.find(entity, filters).length > 0
    return this.isLate ? Promise.resolve(isFound) : isFound
  }

  private find(entity: Entity, filters: readonly Filter[]): Row[] {
    this.asked++
    const matches = compilePredicate(entity, filters)
    if (matches === null) throw new Error('only PostgreSQL can tell which rows match')
    const rows = (this.rows[entity.plural] ?? []).map((cells): Row => entity.properties.map(({ name }) => cells[name] ?? null))
    return rows.filter(matches)
  }
}

export function entityNamed(plural: string): Entity {
  const found = entities.find((entity) => entity.plural === plural)
  if (!found) throw new Error(`there is no ${plural}`)
  return found
}
