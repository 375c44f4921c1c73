// Finds the rows below a row, at any depth, in a table whose rows refer to rows of the same table. Visits each row once, so that
// the search ends even if chains have loops.
import { BEFORE_IDS } from './columnOrder.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import { type IdRange, IdSet } from './idSet.ts'
import type { SortedIndex } from './sortedIndex.ts'

/** Cost of reading from the index the rows that refer to one row. Unit: the cost of reading one slot in a pass over all slots. */
const PASSED_SLOTS = 32
/** Maximum number of found rows for which the index is used, even if a pass over all slots of a small table would cost less. */
const FEW_ROWS = 256

/** State of a row whose chain was not followed yet. */
const UNKNOWN = 0
/** State of the top row, and of the rows below it. */
const BELOW = 1
/** State of a row that is not below the top row. */
const ELSEWHERE = 2
/** State of the rows on the chain that is being followed. */
const FOLLOWED = 3

/** A column of references from a table to itself, and the rows through which chains of these references may lead. */
interface Chain {
  readonly store: ColumnStore
  /** Number of the reference's column. */
  readonly column: number
  /** Range that includes the ids of all rows, and the id of the row at which chains end. */
  readonly range: IdRange
  /** Address of the bitmap of the rows through which chains may lead; null: all rows. */
  readonly visible: number | null
}

export class ChainSearch {
  constructor(private readonly chain: Chain) {}

  /** Returns the ids of a row and of all rows below it. `index`: the index of the reference; null if it is missing. */
  find(top: number, index: SortedIndex | null): IdSet {
    const most = Math.max(FEW_ROWS, this.chain.store.slots / PASSED_SLOTS)
    return (index && this.findByLevels(top, index, most)) ?? this.findByPass(top)
  }

  /**
   * Finds rows level by level: the rows that refer to the top row, then the rows that refer to these rows, and so on. Reads each
   * level from the index. Returns null if there are more than `most` rows.
   */
  private findByLevels(top: number, index: SortedIndex, most: number): IdSet | null {
    const { store, column, range } = this.chain
    const { words } = store.kernel
    const found = IdSet.empty(range)
    const ids = [top]
    found.add(top)
    // The loop also visits the ids that it adds to the array.
    for (const id of ids) {
      let { leaf, at } = index.find(index.order.targetAt(id, BEFORE_IDS))
      for (; leaf < index.leaves.length; leaf++, at = 0) {
        const { address, size } = index.leaves[leaf]
        for (; at < size; at++) {
          const slot = words[(address >>> 2) + at]
          if (store.codeAt(slot, column) !== id) break
          const below = store.idAt(slot)
          if (this.isVisible(slot) && found.add(below)) ids.push(below)
        }
        if (at < size) break
      }
      if (ids.length > most) return null
    }
    return found
  }

  /** Follows the chain of each row upwards, until it reaches a row whose state is known. */
  private findByPass(top: number): IdSet {
    const { range } = this.chain
    const { base } = range
    const { states, above } = this.rowsById()
    states[top - base] = BELOW
    for (let row = 0; row < states.length; row++) {
      if (states[row] !== UNKNOWN) continue
      let last = row
      for (; last >= 0 && states[last] === UNKNOWN; last = above[last]) states[last] = FOLLOWED
      // A chain that returns to itself does not lead to the top.
      const state = last >= 0 && states[last] === BELOW ? BELOW : ELSEWHERE
      for (let at = row; at >= 0 && states[at] === FOLLOWED; at = above[at]) states[at] = state
    }
    const found = IdSet.empty(range)
    for (let row = 0; row < states.length; row++) if (states[row] === BELOW) found.add(base + row)
    return found
  }

  /**
   * Returns two arrays, in which a row's index is its id minus the base of the range. `states`: the state of each row. `above`:
   * for each row, the index of the row to which it refers; -1 if it refers to no row.
   */
  private rowsById() {
    const { store, column, range, visible } = this.chain
    const { base, bits } = range
    const { words } = store.kernel
    const states = new Uint8Array(bits).fill(ELSEWHERE)
    const above = new Int32Array(bits).fill(-1)
    const live = (visible ?? store.liveBits) >>> 2
    const ids = store.addressOf(ID) >>> 2
    const references = store.addressOf(column) >>> 2
    const isNarrow = !store.isWide(ID) && !store.isWide(column)
    for (let slot = 0; slot < store.slots; slot++) {
      if (((words[live + (slot >> 5)] >>> (slot & 31)) & 1) === 0) continue
      const row = (isNarrow ? words[ids + slot] : store.idAt(slot)) - base
      // The code of a row without a reference is the least integer. This code is less than the base of every range, so `next`
      // becomes negative.
      const next = (isNarrow ? words[references + slot] : Number(store.codeAt(slot, column))) - base
      states[row] = UNKNOWN
      if (next >= 0 && next < bits) above[row] = next
    }
    return { states, above }
  }

  private isVisible(slot: number): boolean {
    const { store, visible } = this.chain
    return visible === null || ((store.kernel.words[(visible >>> 2) + (slot >> 5)] >>> (slot & 31)) & 1) === 1
  }
}
