// Order of a summary's groups: divides the groups into buckets by the first key, and sorts only the buckets that overlap the
// page.
import { GROUPS_MAX } from '../model/summary.ts'
import { compareCodes } from './codes.ts'

/** A value by which groups are sorted. */
export interface SortKey {
  readonly isDescending: boolean
  /** Returns the value of a group; NaN if it has none. NaN is greater than all values. */
  numberOf(group: number): number
}

/** Maximum number of groups that are sorted at once. More groups are first divided into buckets. */
const SORTED_MAX = 4_096
const BUCKETS = 1_024

/** Returns the groups `[from, to)` in the order of the keys. A step takes a few milliseconds for 250,000 groups. */
export function* groupsInOrder(
  groups: Int32Array,
  keys: readonly SortKey[],
  from: number,
  to: number,
): Generator<void, Int32Array> {
  if (from >= to) return new Int32Array(0)
  const [key, ...rest] = keys
  if (key === undefined) return groups.subarray(from, to)
  if (groups.length <= SORTED_MAX) {
    const columns = keys.map(({ numberOf }) => Float64Array.from(groups, numberOf))
    return sortBy(groups, keys, columns).subarray(from, to)
  }
  for (let at = 0; at < groups.length; at++) scratch[at] = key.numberOf(groups[at])
  if (!divide(groups.length, key.isDescending)) {
    yield
    return yield* groupsInOrder(groups, rest, from, to)
  }
  const { near, begin, ends } = nearBuckets(groups, from, to)
  yield
  const found = new Int32Array(to - from)
  let start = begin
  for (const end of ends) {
    const own = [Math.max(from - start, 0), Math.min(to, end) - start] as const
    const inBucket = near.subarray(start - begin, end - begin)
    found.set(yield* groupsInOrder(inBucket, keys, ...own), start + own[0] - from)
    yield
    start = end
  }
  return found
}

// All calls share these arrays, because the page faults of new arrays would cost more than writing to them. Each call uses them
// within one step.
const scratch = new Float64Array(GROUPS_MAX)
const buckets = new Int16Array(GROUPS_MAX)

/**
 * Finds the bucket of each of the first `count` values in `scratch`. Infinite values and NaN have their own buckets. Returns
 * false if all values are in the same bucket.
 */
function divide(count: number, isDescending: boolean): boolean {
  let [least, greatest] = [Infinity, -Infinity]
  for (let at = 0; at < count; at++) {
    const value = scratch[at]
    if (value < least && value !== -Infinity) least = value
    if (value > greatest && value !== Infinity) greatest = value
  }
  // The scale may be rounded, but a greater value never gets an earlier bucket than a lesser value.
  const scale = greatest > least ? (BUCKETS - 3) / (greatest - least) : 0
  let isDivided = false
  for (let at = 0; at < count; at++) {
    const value = scratch[at]
    let bucket = 1
    if (Number.isNaN(value)) bucket = BUCKETS
    else if (value === Infinity) bucket = BUCKETS - 1
    else if (value === -Infinity) bucket = 0
    else bucket += ((value - least) * scale) | 0
    buckets[at] = isDescending ? BUCKETS - bucket : bucket
    isDivided ||= buckets[at] !== buckets[0]
  }
  return isDivided
}

/**
 * Collects the groups of the buckets that overlap `[from, to)`, bucket by bucket. `begin`: position of the first of these groups
 * in the order of all groups. `ends`: position after the last group of each of these buckets.
 */
function nearBuckets(groups: Int32Array, from: number, to: number) {
  const counts = new Int32Array(BUCKETS + 1)
  for (let at = 0; at < groups.length; at++) counts[buckets[at]]++
  let [first, begin] = [0, 0]
  while (begin + counts[first] <= from) begin += counts[first++]
  const next = new Int32Array(BUCKETS + 1)
  const ends: number[] = []
  let end = begin
  let last = first
  for (; end < to; last++) {
    next[last] = end - begin
    end += counts[last]
    if (counts[last] !== 0) ends.push(end)
  }
  const near = new Int32Array(end - begin)
  for (let at = 0; at < groups.length; at++) {
    const bucket = buckets[at]
    if (bucket >= first && bucket < last) near[next[bucket]++] = groups[at]
  }
  return { near, begin, ends }
}

/** Sorts at most 65,536 groups by their values for each key. */
function sortBy(groups: Int32Array, keys: readonly SortKey[], values: readonly Float64Array[]): Int32Array {
  const order = new Uint16Array(groups.length)
  for (let at = 0; at < order.length; at++) order[at] = at
  order.sort((one, other) => {
    for (let level = 0; level < keys.length; level++) {
      const own = values[level]
      const difference = compareCodes(own[one], own[other])
      if (difference !== 0) return keys[level].isDescending ? -difference : difference
    }
    return 0
  })
  const sorted = new Int32Array(order.length)
  for (let at = 0; at < order.length; at++) sorted[at] = groups[order[at]]
  return sorted
}
