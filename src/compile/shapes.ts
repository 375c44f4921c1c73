import type { Batch } from '../model/batch.ts'
import type { Filter, Sort } from '../model/query.ts'

/** A statement without its values. */
export interface Compiled {
  readonly text: string
  readonly batch: Batch | null
}

/**
 * Statements by their shape, at most `sizeMax`, so that clients cannot fill the memory. What is used is in the recent
 * half; when that is full, it takes the older one's place. So a statement stays while fewer than `sizeMax / 2` others
 * are used after it. A Map in order of use would take out and put in again each time, at twenty times the cost.
 */
export class ShapeCache {
  private recent = new Map<string, Compiled>()
  private older = new Map<string, Compiled>()

  constructor(private readonly sizeMax: number) {}

  get(shape: string, make: () => Compiled): Compiled {
    const recent = this.recent.get(shape)
    if (recent) return recent
    const compiled = this.older.get(shape) ?? make()
    if (this.recent.size >= this.sizeMax / 2) {
      this.older = this.recent
      this.recent = new Map()
    }
    this.recent.set(shape, compiled)
    return compiled
  }
}

/** What the filters of two queries must have in common to be one text: all but the values. */
export function shapeOfFilters(filters: readonly Filter[]): string {
  let shape = ''
  for (const { property, operator, value } of filters)
    shape += ` ${property.column}${operator.prefix}${value === null ? '' : '?'}`
  return shape
}

export function shapeOfSorts(sorts: readonly Sort[]): string {
  let shape = ''
  for (const { property, direction } of sorts) shape += ` ${property.column} ${direction}`
  return shape
}
