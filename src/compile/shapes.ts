import type { Batch } from '../model/batch.ts'
import { LruCache } from '../model/lruCache.ts'
import type { Filter, Sort } from '../model/query.ts'

/** A statement without its values. */
export interface Compiled {
  readonly text: string
  readonly batch: Batch | null
}

/** Statements by their shape, at most `sizeMax`, so that clients cannot fill the memory. */
export class ShapeCache {
  private readonly compiled: LruCache<Compiled>

  constructor(sizeMax: number) {
    this.compiled = new LruCache(sizeMax, () => 1)
  }

  get(shape: string, make: () => Compiled): Compiled {
    const known = this.compiled.get(shape)
    if (known) return known
    const compiled = make()
    this.compiled.set(shape, compiled)
    return compiled
  }
}

/** Key of filters that compile to the same text: all but the values. */
export function shapeOfFilters(filters: readonly Filter[]): string {
  let shape = ''
  for (const { property, operator, value, anyOf } of filters)
    shape += ` ${property.column}${operator.sign}${value === null ? '' : '?'}${anyOf?.includes(null) ? '-' : ''}`
  return shape
}

export function shapeOfSorts(sorts: readonly Sort[]): string {
  let shape = ''
  for (const { property, direction } of sorts) shape += ` ${property.column} ${direction}`
  return shape
}
