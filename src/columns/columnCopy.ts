// Copies of a column, indexed by the ids of its rows. Other tables look up codes in these copies by their references.

import type { Rows } from './bitmapWriter.ts'
import { HIGH_NONE, LOW_NONE, NO_CODE } from './codes.ts'
import type { ColumnStore } from './columnStore.ts'
import type { IdRange } from './idSet.ts'
import type { CodesById } from './relatedColumns.ts'

/** Copies the codes of a column for the rows of a bitmap. */
export function copyColumn(store: ColumnStore, rows: Rows, range: IdRange, column: number): CodesById {
  const isWide = store.isWide(column)
  const words = noCodes(range, isWide)
  const { words: own } = store.kernel
  const address = store.addressOf(column) >>> 2
  const { base } = range
  for (let at = 0; at < store.bitmapBytes / 4; at++) {
    for (let left = own[(rows.bits >>> 2) + at]; left !== 0; left &= left - 1) {
      const slot = 32 * at + 31 - Math.clz32(left & -left)
      const index = store.idAt(slot) - base
      if (!isWide) words[index] = own[address + slot]
      else {
        words[2 * index] = own[address + 2 * slot]
        words[2 * index + 1] = own[address + 2 * slot + 1]
      }
    }
  }
  return { range, isWide, words }
}

/** Copies a code for each row of a bitmap: the code that `related` has for the row to which the reference leads. */
export function copyRelatedCodes(
  store: ColumnStore,
  rows: Rows,
  range: IdRange,
  reference: number,
  related: CodesById,
): CodesById {
  const { isWide, range: other, words: codes } = related
  const words = noCodes(range, isWide)
  const { words: own } = store.kernel
  for (let at = 0; at < store.bitmapBytes / 4; at++) {
    for (let left = own[(rows.bits >>> 2) + at]; left !== 0; left &= left - 1) {
      const slot = 32 * at + 31 - Math.clz32(left & -left)
      const to = Number(store.codeAt(slot, reference)) - other.base
      if (!(to >= 0 && to < other.bits)) continue
      const index = store.idAt(slot) - range.base
      if (!isWide) words[index] = codes[to]
      else {
        words[2 * index] = codes[2 * to]
        words[2 * index + 1] = codes[2 * to + 1]
      }
    }
  }
  return { range, isWide, words }
}

/**
 * Returns an array in which each id has the code of no value. The array has one more such entry at its end, for references that
 * lead to no row.
 */
function noCodes({ bits }: IdRange, isWide: boolean): Int32Array {
  if (!isWide) return new Int32Array(bits + 1).fill(NO_CODE)
  const words = new Int32Array(2 * (bits + 1))
  for (let at = 0; at < words.length; at += 2) {
    words[at] = LOW_NONE
    words[at + 1] = HIGH_NONE
  }
  return words
}
