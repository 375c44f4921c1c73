import type { Matches } from './matches.ts'
import type { PageKey } from './pageKeys.ts'
import type { Segment } from './segment.ts'
import type { SegmentedRows } from './segmentedRows.ts'

/** Rows that lie next to each other in the order of a page, and how many come before them. */
export interface Stretch {
  readonly matches: Matches
  readonly before: number
}

/** Segments, by their place among those of the matches, whose codes may lie between each other's. */
interface Group {
  readonly least: number
  greatest: number
  readonly members: number[]
  rows: number
}

/**
 * The segments that have the rows [from, end) of a page, by the least and the greatest code that each one has of the page's first
 * key: where rows lie near to others by it, those are a few, and no code of the others is looked at.
 */
export function stretchOf(rows: SegmentedRows, matches: Matches, key: PageKey, from: number, end: number): Stretch {
  if (key.ranks || matches.segments.length < 2) return { matches, before: 0 }
  const groups = groupsOf(rows, matches, key.place)
  if (key.isDescending) groups.reverse()
  const members: number[] = []
  let before = 0
  let reached = 0
  for (const group of groups) {
    if (reached >= end) break
    if (reached + group.rows > from) members.push(...group.members)
    else before += group.rows
    reached += group.rows
  }
  return { matches: some(matches, members), before }
}

/** In ascending order. A row without a value comes behind all others, wherever it lies. */
function groupsOf(rows: SegmentedRows, { segments, counts }: Matches, place: number): Group[] {
  const groups = segments.map((number, member): Group => {
    const segment = rows.segments[number] as Segment
    const greatest = segment.hasNone[place] ? Number.POSITIVE_INFINITY : segment.greatestOf(place)
    return { least: segment.leastOf(place), greatest, members: [member], rows: counts[member] as number }
  })
  groups.sort((one, other) => (one.least < other.least ? -1 : Number(one.least > other.least)))
  const apart: Group[] = []
  for (const group of groups) {
    const last = apart.at(-1)
    if (last === undefined || last.greatest < group.least) apart.push(group)
    else {
      last.greatest = Math.max(last.greatest, group.greatest)
      last.members.push(...group.members)
      last.rows += group.rows
    }
  }
  return apart
}

/** In the order of the segments. */
function some({ segments, bits, counts }: Matches, members: number[]): Matches {
  members.sort((one, other) => one - other)
  const of = (numbers: readonly number[]) => members.map((member) => numbers[member] as number)
  const own = of(counts)
  return { segments: of(segments), bits: of(bits), counts: own, total: own.reduce((sum, count) => sum + count, 0) }
}
