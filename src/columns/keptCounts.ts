import { LruCache } from '../model/lruCache.ts'
import type { Filter } from '../model/query.ts'
import type { Counts } from './matches.ts'

/** Maximum lists: each takes some 30 KB for a table of 10,000,000 rows. */
const LISTS_MAX = 64

/** How many rows of a list are in which segments, of the lists found last; until a row changes. */
export class KeptCounts {
  private lists: LruCache<Counts> | null = null

  get(filters: readonly Filter[]): Counts | null {
    return this.lists?.get(keyOf(filters)) ?? null
  }

  set(filters: readonly Filter[], { segments, counts, total }: Counts): void {
    this.lists ??= new LruCache(LISTS_MAX, () => 1)
    this.lists.set(keyOf(filters), { segments, counts, total })
  }

  forget(): void {
    this.lists = null
  }
}

function keyOf(filters: readonly Filter[]): string {
  return (
    filters
      // No value is another operand than the text "null".
      .map(({ property, operator, value }) => `${property.column}${operator.prefix}${value === null ? '\0' : value}`)
      .join('\0')
  )
}
