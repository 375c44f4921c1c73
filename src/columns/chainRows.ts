// Rows below a row: those whose references of their own entity lead to it, at any depth. Each is visited once: there are loops.
import { BEFORE_IDS } from './columnOrder.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import { type IdRange, IdSet } from './idSet.ts'
import type { SortedIndex } from './sortedIndex.ts'

/** Cost of finding the rows below one row by the index, in slots that a pass takes. */
const PASSED_SLOTS = 32
/** Rows that are found by the index whatever the table's size. */
const FEW_ROWS = 256

/** State of a row, by its id. */
const UNKNOWN = 0
const BELOW = 1
const ELSEWHERE = 2
/** It is on the chain that is being followed. */
const FOLLOWED = 3

/** A chain: references of a table's own entity, and the rows through which it leads. */
interface Chain {
  readonly store: ColumnStore
  /** The column of the reference. */
  readonly column: number
  /** Range of the ids of all rows, with the one at which the chain ends. */
  readonly range: IdRange
  /** Address of the bitmap of the rows through which the chain leads; null: all rows. */
  readonly visible: number | null
}

export class ChainSearch {
  constructor(private readonly chain: Chain) {}

  /** The ids of a row and of all rows below it. `index`: of the reference; null: it is missing. */
  find(top: number, index: SortedIndex | null): IdSet {
    const most = Math.max(FEW_ROWS, this.chain.store.slots / PASSED_SLOTS)
    return (index && this.findByLevels(top, index, most)) ?? this.findByPass(top)
  }

  /** Looks the rows below each row up in the index; null: there are more than `most`. */
  private findByLevels(top: number, index: SortedIndex, most: number): IdSet | null {
    const { store, column, range } = this.chain
    const { words } = store.kernel
    const found = IdSet.empty(range)
    const ids = [top]
    found.add(top)
    // The array grows while it is read.
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

  /** Follows the chain of each row upwards, until it reaches one whose state is known. */
  private findByPass(top: number): IdSet {
    const { range } = this.chain
    const { base } = range
    const { states, above } = this.rowsById()
    states[top - base] = BELOW
    for (let row = 0; row < states.length; row++) {
      if (states[row] !== UNKNOWN) continue
      let last = row
      for (; last >= 0 && states[last] === UNKNOWN; last = above[last]) states[last] = FOLLOWED
      // A chain that comes back to itself leads nowhere else.
      const state = last >= 0 && states[last] === BELOW ? BELOW : ELSEWHERE
      for (let at = row; at >= 0 && states[at] === FOLLOWED; at = above[at]) states[at] = state
    }
    const found = IdSet.empty(range)
    for (let row = 0; row < states.length; row++) if (states[row] === BELOW) found.add(base + row)
    return found
  }

  /** The states of rows by their ids less the base, and the row that each refers to; -1: none. */
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
      // No value, the least integer, is less than each base.
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
