// A parsed roles file: how persons are found, the roles with the condition for each, and what roles and keys may do.
import type { Right } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import type { NamedView } from '../model/namedView.ts'
import type { Filter } from '../model/query.ts'
import type { Variable } from '../rights/openFilter.ts'

export interface RolesFile {
  /** List that finds the person's own row; null if the file does not look for a row. */
  readonly me: RowList | null
  readonly views: readonly NamedView[]
  readonly roles: readonly Role[]
  readonly keys: readonly KeyBlock[]
}

/** Rows of an entity that match filters. Some of the filters may have variables. */
export interface RowList {
  readonly entity: Entity
  readonly filters: readonly Filter[]
  /** The list's address, in canonical form. */
  readonly text: string
}

export interface Role {
  readonly name: string
  readonly line: number
  /** Condition that a person must meet to have the role; null if everybody has it. */
  readonly when: Condition | null
  readonly rights: readonly RightInFile[]
}

export type Condition = HasCondition | ListCondition

/** Condition that a claim, or a property of the person's own row, has a value, or is a list with this value. */
interface HasCondition {
  readonly kind: 'has'
  readonly variable: Variable
  readonly value: string
}

/** Condition that a list has at least one row. */
export interface ListCondition {
  readonly kind: 'list'
  readonly list: RowList
}

/** Returns a condition as text, as a roles file writes it. */
export function printCondition(when: Condition): string {
  return when.kind === 'list' ? when.list.text : `{${when.variable.name}} has ${when.value}`
}

export interface KeyBlock {
  readonly name: string
  readonly line: number
  readonly rights: readonly RightInFile[]
}

/** A right with its line. The right can have open filters: the operand of an open filter is a variable. */
export interface RightInFile {
  readonly right: Right
  readonly line: number
}
