// Segments that can hold a page: rules out the others by the least and the greatest code of the first sort key.
import type { Counts } from './matches.ts'
import type { PageKey } from './pageKeys.ts'
import type { Segment } from './segment.ts'

/** Segments whose codes overlap. */
interface Group {
  readonly least: number
  greatest: number
  readonly segments: Segment[]
  rows: number
}

/** The segments that have the rows [from, end) of a list, few if they lie by the first key; and the rows `before` these. */
export function pageRangeOf(list: Counts, key: PageKey, from: number, end: number) {
  if (key.ranks || list.segments.length < 2) return { segments: list.segments, before: 0 }
  const groups = groupsOf(list, key.column)
  if (key.isDescending) groups.reverse()
  const segments: Segment[] = []
  let before = 0
  let reached = 0
  for (const group of groups) {
    if (reached >= end) break
    if (reached + group.rows > from) segments.push(...group.segments)
    else before += group.rows
    reached += group.rows
  }
  return { segments, before }
}

/** In ascending order. A row without a value comes behind all others. */
function groupsOf({ segments, counts }: Counts, column: number): Group[] {
  const groups = segments.map((segment, index): Group => {
    const greatest = segment.hasNone[column] ? Number.POSITIVE_INFINITY : segment.greatestOf(column)
    return { least: segment.leastOf(column), greatest, segments: [segment], rows: counts[index] }
  })
  groups.sort((one, other) => (one.least < other.least ? -1 : Number(one.least > other.least)))
  const apart: Group[] = []
  for (const group of groups) {
    const last = apart.at(-1)
    if (last === undefined || last.greatest < group.least) apart.push(group)
    else {
      last.greatest = Math.max(last.greatest, group.greatest)
      last.segments.push(...group.segments)
      last.rows += group.rows
    }
  }
  return apart
}
