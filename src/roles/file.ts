// A parsed roles file: who is who, which roles there are and whom they are for, and what they may do.
import type { Right } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { NamedView } from '../model/namedView.ts'
import type { Filter } from '../model/query.ts'
import type { Variable } from '../rights/openFilter.ts'

export interface RolesFile {
  /** Finds the person's own row; null: persons need none. */
  readonly me: RowList | null
  readonly views: readonly NamedView[]
  readonly roles: readonly Role[]
  readonly keys: readonly KeyBlock[]
}

/** Rows of an entity that match filters, of which some may have variables. */
export interface RowList {
  readonly entity: Entity
  readonly filters: readonly Filter[]
  /** The address as it is printed. */
  readonly text: string
}

export interface Role {
  readonly name: string
  readonly line: number
  /** Condition for those whom the role is for; null: everybody. */
  readonly when: Condition | null
  readonly rights: readonly PlacedRight[]
}

export type Condition = HasCondition | ListCondition

/** A claim, or a property of the own row, has a value: it is the whole text, or an element of the list. */
interface HasCondition {
  readonly kind: 'has'
  readonly variable: Variable
  readonly value: string
}

/** A list has a row. */
export interface ListCondition {
  readonly kind: 'list'
  readonly list: RowList
}

/** Prints a condition as it is written. */
export function printCondition(when: Condition): string {
  return when.kind === 'list' ? when.list.text : `{${when.variable.name}} has ${when.value}`
}

export interface KeyBlock {
  readonly name: string
  readonly line: number
  readonly rights: readonly PlacedRight[]
}

/** A right with its line. Its filters may be open. */
export interface PlacedRight {
  readonly right: Right
  readonly line: number
}
