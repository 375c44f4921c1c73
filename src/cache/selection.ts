import type { Change } from '../changes/change.ts'
import type { Entity } from '../model/entity.ts'
import { compilePredicate } from '../model/predicate.ts'
import type { Filter } from '../model/query.ts'
import type { Row } from '../model/sql.ts'

/** The rows of one table that match some filters, by a test that is equal to the SQL's. */
export interface Selection {
  readonly entity: Entity
  readonly filters: readonly Filter[]
  readonly table: string
  /** The bit of the table in the marks of writes. */
  readonly tableMask: number
  /** Two selections of the same rows may differ in it; two of different rows must. */
  readonly key: string
  /** Null: TypeScript cannot decide. */
  readonly matches: ((row: Row) => boolean) | null
}

/** The rows that match all filters, in whatever order these were written. */
export function selectionOf(entity: Entity, filters: readonly Filter[], tableMask: number): Selection {
  return new FilteredRows(entity, filters, tableMask)
}

/** Its key and its test are made where they are asked for: what columns count needs neither. */
class FilteredRows implements Selection {
  private ownKey: string | null = null
  private ownTest: Selection['matches'] | undefined = undefined

  constructor(
    readonly entity: Entity,
    readonly filters: readonly Filter[],
    readonly tableMask: number,
  ) {}

  get table(): string {
    return this.entity.table
  }

  get key(): string {
    this.ownKey ??= keyOf(this.entity, this.filters)
    return this.ownKey
  }

  get matches(): Selection['matches'] {
    if (this.ownTest === undefined) this.ownTest = compilePredicate(this.entity, this.filters)
    return this.ownTest
  }
}

function keyOf({ table }: Entity, filters: readonly Filter[]): string {
  const parts = filters.map(({ property, operator, value }) =>
    JSON.stringify([property.column, operator.prefix, value]),
  )
  return `${table} ${parts.sort().join()}`
}

/** Whether a change may have added a row to the selection, taken one away, or changed one. */
export function touches({ matches }: Selection, { before, after }: Change): boolean {
  if (matches === null) return true
  return (before !== null && matches(before)) || (after !== null && matches(after))
}

/** How many rows more the selection has by these changes; null: TypeScript cannot decide. */
export function sumOf({ matches }: Selection, changes: readonly Change[]): number | null {
  if (changes.length === 0) return 0
  if (matches === null) return null
  let sum = 0
  for (const { before, after } of changes)
    sum += Number(after !== null && matches(after)) - Number(before !== null && matches(before))
  return sum
}
