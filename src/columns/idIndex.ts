/** Rows of a leaf. */
const LEAF_ROWS = 4_096

/** Ids in ascending order, and the slot of each. */
interface Leaf {
  readonly ids: Float64Array
  readonly slots: Int32Array
  rows: number
}

/** The slots of rows by their ids, in ascending order: the leaves of a B-tree. */
export class IdIndex {
  private readonly leaves: Leaf[] = []

  get bytes(): number {
    return this.leaves.length * LEAF_ROWS * (Float64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT)
  }

  /** The slot of a row; -1: there is none. */
  get(id: number): number {
    const leaf = this.leafOf(id)
    const at = leaf ? positionOf(leaf, id) : 0
    return leaf && leaf.ids[at] === id && at < leaf.rows ? (leaf.slots[at] as number) : -1
  }

  /** Adds a row, or says where it is now. */
  set(id: number, slot: number): void {
    const leaf = this.leafOf(id) ?? this.open(0)
    const at = positionOf(leaf, id)
    if (at < leaf.rows && leaf.ids[at] === id) leaf.slots[at] = slot
    else if (leaf.rows < LEAF_ROWS) insert(leaf, at, id, slot)
    else {
      this.split(leaf, at)
      this.set(id, slot)
    }
  }

  delete(id: number): void {
    const leaf = this.leafOf(id)
    if (!leaf) return
    const at = positionOf(leaf, id)
    if (at === leaf.rows || leaf.ids[at] !== id) return
    leaf.ids.copyWithin(at, at + 1, leaf.rows)
    leaf.slots.copyWithin(at, at + 1, leaf.rows)
    leaf.rows--
    if (leaf.rows === 0) this.leaves.splice(this.leaves.indexOf(leaf), 1)
  }

  /**
   * Returns the slots of the wanted rows from the index `from` up to, not including, `end`, in the order of ids. Null: it would
   * look at more than `rowsMax` rows. `isWanted`: null for all rows.
   */
  take(
    isWanted: ((slot: number) => boolean) | null,
    { from, end, isDescending }: { from: number; end: number; isDescending: boolean },
    rowsMax: number,
  ): number[] | null {
    const found: number[] = []
    let [passed, looked] = [0, 0]
    for (let number = 0; number < this.leaves.length && looked < rowsMax; number++) {
      const { slots, rows } = this.leaves[isDescending ? this.leaves.length - 1 - number : number] as Leaf
      if (isWanted === null && passed + rows <= from) {
        passed += rows
        continue
      }
      looked += rows
      for (let at = 0; at < rows; at++) {
        const slot = slots[isDescending ? rows - 1 - at : at] as number
        if ((isWanted !== null && !isWanted(slot)) || passed++ < from) continue
        found.push(slot)
        if (passed === end) return found
      }
    }
    return null
  }

  private leafOf(id: number): Leaf | undefined {
    const { leaves } = this
    // The first leaf has all lesser ids.
    let [low, high] = [1, leaves.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (((leaves[middle] as Leaf).ids[0] as number) <= id) low = middle + 1
      else high = middle
    }
    return leaves[low - 1]
  }

  private open(at: number): Leaf {
    const leaf = { ids: new Float64Array(LEAF_ROWS), slots: new Int32Array(LEAF_ROWS), rows: 0 }
    this.leaves.splice(at, 0, leaf)
    return leaf
  }

  /** Moves the upper half of a leaf to a new one; of the last leaf, only what comes behind the row that is added. */
  private split(leaf: Leaf, at: number) {
    const number = this.leaves.indexOf(leaf)
    const middle = number === this.leaves.length - 1 && at === LEAF_ROWS ? LEAF_ROWS - 1 : LEAF_ROWS / 2
    const other = this.open(number + 1)
    other.ids.set(leaf.ids.subarray(middle))
    other.slots.set(leaf.slots.subarray(middle))
    other.rows = LEAF_ROWS - middle
    leaf.rows = middle
  }
}

function insert(leaf: Leaf, at: number, id: number, slot: number) {
  leaf.ids.copyWithin(at + 1, at, leaf.rows)
  leaf.slots.copyWithin(at + 1, at, leaf.rows)
  leaf.ids[at] = id
  leaf.slots[at] = slot
  leaf.rows++
}

/** The index of the first id in a leaf that is not less. */
function positionOf({ ids, rows }: Leaf, id: number): number {
  if (rows > 0 && (ids[rows - 1] as number) < id) return rows
  let [low, high] = [0, rows]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] as number) < id) low = middle + 1
    else high = middle
  }
  return low
}
