// Positions of the last row of each leaf of an index, in one array. A search for a leaf reads only this array, and no rows.
import type { Target } from './columnOrder.ts'

/** Number of fields of a position: the two halves of the key, and the id. */
const FIELDS = 3
const LEAVES_MIN = 64
/** Result of a guess if nothing is known. */
const UNKNOWN = 0.5

export class LeafEnds {
  private count = 0
  /** The fields `high`, `low` and `id` of each position, one position after the other. */
  private fields = new Float64Array(FIELDS * LEAVES_MIN)

  get bytes(): number {
    return this.fields.byteLength
  }

  /** Adds the end of a new leaf. The ends of later leaves move by one. */
  add(leaf: number, end: Target): void {
    if (FIELDS * this.count === this.fields.length) {
      const larger = new Float64Array(2 * this.fields.length)
      larger.set(this.fields)
      this.fields = larger
    }
    this.fields.copyWithin(FIELDS * (leaf + 1), FIELDS * leaf, FIELDS * this.count)
    this.count++
    this.set(leaf, end)
  }

  set(leaf: number, { high, low, id }: Target): void {
    const at = FIELDS * leaf
    this.fields[at] = high
    this.fields[at + 1] = low
    this.fields[at + 2] = id
  }

  remove(leaf: number): void {
    this.fields.copyWithin(FIELDS * leaf, FIELDS * (leaf + 1), FIELDS * this.count)
    this.count--
  }

  clear(): void {
    this.count = 0
  }

  /** Returns whether the last row of a leaf is before the target. */
  isBefore(leaf: number, { high, low, id }: Target): boolean {
    const { fields } = this
    const at = FIELDS * leaf
    if (fields[at] !== high) return fields[at] < high
    if (fields[at + 1] !== low) return fields[at + 1] < low
    return fields[at + 2] < id
  }

  /** Returns the first leaf whose last row is not before the target; the last leaf if all rows are before. */
  find(target: Target): number {
    let from = 0
    let to = this.count - 1
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.isBefore(middle, target)) from = middle + 1
      else to = middle
    }
    return from
  }

  /**
   * Returns the probable position of a target in a leaf, from 0, the start, to 1, the end. Interpolates between the end of the
   * previous leaf and the end of this leaf: the result is good if values are evenly distributed within the leaf.
   */
  guess(leaf: number, { high, low, id }: Target): number {
    const { fields } = this
    const at = FIELDS * leaf
    const before = at - FIELDS
    if (leaf === 0) return UNKNOWN
    if (fields[at] !== fields[before]) return share(fields[before], fields[at], high)
    if (fields[at + 1] !== fields[before + 1]) return share(fields[before + 1], fields[at + 1], low)
    return share(fields[before + 2], fields[at + 2], id)
  }
}

function share(from: number, to: number, value: number): number {
  const found = (value - from) / (to - from)
  return found >= 0 && found <= 1 ? found : UNKNOWN
}
