import type { Change } from '../changes/change.ts'
import type { Position } from '../model/order.ts'
import type { Ordering, Selection } from './selection.ts'

/** A position in an order, and how many rows lie up to it, itself included if it is still there. */
export interface Anchor {
  readonly position: Position
  readonly rows: number
}

/**
 * One anchor in every `step` rows of a selection in one order: a sparse position index. A row that comes or goes shifts all that
 * lie behind it: it is counted in the one segment that it falls into, whose sums are made anew on the next use.
 */
export class PositionIndex {
  /** Rows behind the anchor before, up to this anchor. */
  private readonly segments: Float64Array
  /** Rows up to each anchor. */
  private readonly sums: Float64Array
  private isSummed = false

  constructor(
    private readonly selection: Selection,
    private readonly ordering: Ordering,
    private readonly anchors: readonly Position[],
    step: number,
  ) {
    this.segments = new Float64Array(anchors.length).fill(step)
    this.sums = new Float64Array(anchors.length)
  }

  /** Takes in changes that the anchors have not seen; false: TypeScript cannot decide what they do to the order. */
  take(changes: readonly Change[]): boolean {
    return changes.every((change) => this.takeOne(change))
  }

  /** The last anchor with at most `rows` rows up to it; null: there is none. */
  before(rows: number): Anchor | null {
    this.sum()
    const index = firstWhere(this.sums.length, (at) => (this.sums[at] as number) > rows) - 1
    return index < 0 ? null : { position: this.anchors[index] as Position, rows: this.sums[index] as number }
  }

  private takeOne(change: Change): boolean {
    const move = moveOf(this.selection, this.ordering, change)
    if (move === null) return false
    if (move.left !== null) this.count(move.left, -1)
    if (move.came !== null) this.count(move.came, 1)
    return true
  }

  private count(position: Position, by: number) {
    const { anchors, ordering } = this
    const index = firstWhere(anchors.length, (at) => compareBy(ordering, anchors[at] as Position, position) >= 0)
    if (index === anchors.length) return
    this.segments[index] = (this.segments[index] as number) + by
    this.isSummed = false
  }

  private sum() {
    if (this.isSummed) return
    let sum = 0
    for (let index = 0; index < this.segments.length; index++) this.sums[index] = sum += this.segments[index] as number
    this.isSummed = true
  }
}

/** How many rows more lie up to the position by these changes; null: it cannot be known. */
export function shiftOf(
  selection: Selection,
  ordering: Ordering,
  position: Position,
  changes: readonly Change[],
): number | null {
  const isUpTo = (other: Position | null) => other !== null && compareBy(ordering, other, position) <= 0
  let shift = 0
  for (const change of changes) {
    const move = moveOf(selection, ordering, change)
    if (move === null) return null
    shift += Number(isUpTo(move.came)) - Number(isUpTo(move.left))
  }
  return shift
}

/** The position that a row has left, and the one that it has come to. */
interface Move {
  readonly left: Position | null
  readonly came: Position | null
}

const STAYS: Move = { left: null, came: null }

/** What a change does to an order of the selection; null: TypeScript cannot decide. */
function moveOf({ matches }: Selection, { positionOf, compare }: Ordering, { before, after }: Change): Move | null {
  if (matches === null) return null
  const left = before !== null && matches(before) ? positionOf(before) : null
  const came = after !== null && matches(after) ? positionOf(after) : null
  if (left === came || (left && came && isSame(left, came))) return STAYS
  return compare === null ? null : { left, came }
}

function compareBy({ compare }: Ordering, one: Position, other: Position): number {
  if (compare === null) throw new Error('positions in an order that only PostgreSQL knows')
  return compare(one, other)
}

function isSame(one: Position, other: Position): boolean {
  return one.every((value, index) => value === other[index])
}

/** The first index at which a test holds that holds for all behind it; `length`: for none. */
function firstWhere(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
