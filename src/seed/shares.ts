import { referredFirst } from '../model/copies.ts'
import type { Entity } from '../model/entity.ts'

/** So many more rows has what refers to others than those: companies, five times as many employees, 25 times as many absences. */
const EACH = 5
/** Longer chains make no entity larger. */
const STEPS_MAX = 3

export interface Share {
  readonly entity: Entity
  readonly rows: number
}

/** How many of `rows` each entity gets, at least one; those referred to come first. */
export function sharesOf(entities: readonly Entity[], rows: number): Share[] {
  const steps = new Map<string, number>()
  const ordered = referredFirst(entities)
  for (const { table, properties } of ordered) {
    const below = properties.flatMap(({ reference }) => {
      const known = reference && reference.table !== table ? steps.get(reference.table) : undefined
      return known === undefined ? [] : [known + 1]
    })
    steps.set(table, Math.min(STEPS_MAX, Math.max(0, ...below)))
  }
  const weights = ordered.map(({ table }) => EACH ** (steps.get(table) ?? 0))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const shares = weights.map((weight) => Math.max(1, Math.floor((rows * weight) / sum)))
  // What is left over goes to the largest.
  const largest = weights.lastIndexOf(Math.max(...weights))
  const left = rows - shares.reduce((total, share) => total + share, 0)
  return ordered.map((entity, index) => ({
    entity,
    rows: Math.max(1, (shares[index] as number) + (index === largest ? left : 0)),
  }))
}
