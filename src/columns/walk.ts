import type { ClusteredRows } from './clusteredRows.ts'
import type { Condition } from './conditions.ts'
import type { Kernel } from './kernel.ts'
import { joined, type Matches, matchesAmong } from './matches.ts'
import type { PageKey } from './pageKeys.ts'
import type { Stretch } from './stretch.ts'

/** The rows [from, end) of those that meet the conditions, of which there are `total`, by a first key. */
export interface WantedRows {
  readonly conditions: readonly Condition[]
  readonly key: PageKey
  readonly total: number
  readonly from: number
  readonly end: number
}

/**
 * Where the wanted rows lie among those that lie by their first key: looks at segments from the end that is nearer, and at no
 * others. Null: those would be more than `segmentsMax`.
 */
export function stretchAlong(
  kernel: Kernel,
  rows: ClusteredRows,
  { conditions, key, total, from, end }: WantedRows,
  segmentsMax: number,
): Stretch | null {
  const isFromLast = total - end < from
  const [skipped, reach] = isFromLast ? [total - end, total - from] : [from, end]
  if ((reach / total) * rows.segments.length > segmentsMax) return null
  const found: Matches[] = []
  let [before, reached, looked] = [0, 0, 0]
  for (const numbers of rows.inOrder(key.isDescending !== isFromLast)) {
    if (reached >= reach) break
    looked += numbers.length
    // The rows that match lie further off than those of others.
    if (looked > segmentsMax) return null
    const matches = matchesAmong(kernel, rows, numbers, conditions)
    reached += matches.total
    if (reached > skipped) found.push(matches)
    else before += matches.total
  }
  const matches = joined(found)
  return { matches, before: isFromLast ? total - before - matches.total : before }
}
