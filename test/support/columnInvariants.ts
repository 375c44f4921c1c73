import type { Checkpoints } from '../../src/columns/checkpoints.ts'
import type { CodeSet } from '../../src/columns/codeSet.ts'
import { type Code, compareCodes } from '../../src/columns/codes.ts'
import { compareTargets, type Target } from '../../src/columns/columnOrder.ts'
import type { ColumnStore } from '../../src/columns/columnStore.ts'
import type { ColumnTable } from '../../src/columns/columnTable.ts'
import type { ColumnCondition } from '../../src/columns/conditions.ts'
import { LEAF_SLOTS, type SortedIndex } from '../../src/columns/sortedIndex.ts'
import type { TableTexts } from '../../src/columns/tableTexts.ts'

/** Private parts of a table. They are read directly, because a fault in a part would show only in lists that need this part. */
interface Inside {
  readonly store: ColumnStore
  readonly texts: TableTexts
  readonly indexes: {
    readonly ids: SortedIndex
    readonly entries: readonly ({
      readonly index: SortedIndex | null
      readonly isReady: boolean
      readonly pending: ReadonlySet<number>
    } | null)[]
  }
  readonly bitmaps: {
    readonly kept: ReadonlyMap<string, Kept>
  }
}

interface KeptLeaf {
  readonly condition: Omit<ColumnCondition, 'among'>
  readonly among: CodeSet | null
}

interface Kept {
  readonly alternatives: readonly (readonly KeptLeaf[])[]
  readonly bits: number
  readonly count: number
}

/** Numbers of indexes, checkpoints and bitmaps that a table keeps in addition to its rows. */
export interface Held {
  readonly indexes: number
  readonly checkpoints: number
  readonly bitmaps: number
}

export function heldBy(table: ColumnTable): Held {
  const { indexes, bitmaps } = table as unknown as Inside
  const built = [indexes.ids, ...indexes.entries.flatMap((entry) => entry?.index ?? [])]
  return {
    indexes: built.length - 1,
    checkpoints: built.reduce((sum, { checkpoints }) => sum + checkpoints.all.length, 0),
    bitmaps: bitmaps.kept.size,
  }
}

/** Returns the rows between each two checkpoints of the index of ids, divided by the average number of rows. */
export function stretchesOfIds(table: ColumnTable): number[] {
  const { ids } = (table as unknown as Inside).indexes
  const rows = ids.checkpoints.all.map((checkpoint) => checkpoint.rows)
  const behind = ids.size - rows.reduce((sum, one) => sum + one, 0)
  return [...rows, behind].map((one) => (one * (rows.length + 1)) / ids.size)
}

/** Compares indexes, checkpoints and kept bitmaps with the codes of all rows, and returns each difference in words. */
export function faultsOf(table: ColumnTable): string[] {
  const { store, texts, indexes, bitmaps } = table as unknown as Inside
  const faults: string[] = []
  const live = Array.from({ length: store.slots }, (_, slot) => slot).filter((slot) => store.isLive(slot))
  if (live.length !== store.rows || table.rows !== store.rows) faults.push(`${live.length} slots have rows, not ${store.rows}`)
  faults.push(...faultsOfIndex(store, texts, indexes.ids, live))
  for (const entry of indexes.entries) {
    if (!entry?.index) continue
    const { index, pending } = entry
    if (entry.isReady && index.order.ranks === null && pending.size > 0) faults.push(`rows wait for index ${index.order.column}`)
    // An index that is being built has all rows but those that wait.
    const entered = live.filter((slot) => !pending.has(slot))
    faults.push(...faultsOfIndex(store, texts, index, entered))
  }
  for (const [key, kept] of bitmaps.kept) {
    const { bits, count } = kept
    const alternatives = kept.alternatives.map((leaves) => leaves.map((leaf) => testOf(store, texts, leaf)))
    const expected = live.filter((slot) => alternatives.some((tests) => tests.every((test) => test(slot))))
    const wanted = noBits(store)
    for (const slot of expected) addBit(wanted, slot)
    const fault = faultOfBits(store, bits, wanted)
    if (fault) faults.push(`the bitmap of ${key} ${fault}`)
    if (count !== expected.length) faults.push(`the bitmap of ${key} counts ${count}, not ${expected.length}`)
  }
  return faults
}

function faultsOfIndex(store: ColumnStore, texts: TableTexts, index: SortedIndex, live: readonly number[]): string[] {
  const { column, ranks } = index.order
  const name = `the index of ${column}${ranks === null ? '' : ' by ranks'}`
  const faults: string[] = []
  const slots: number[] = []
  for (const { address, size } of index.leaves) {
    if ((size < 1 && index.leaves.length > 1) || size > LEAF_SLOTS) faults.push(`${name} has a leaf of ${size}`)
    for (let at = 0; at < size; at++) slots.push(store.kernel.words[(address >>> 2) + at] as number)
  }
  if (index.size !== slots.length) faults.push(`${name} says ${index.size} rows, and has ${slots.length}`)
  const wrong = firstMisplaced(slots, live, store, (slot) => keyOf(store, texts, column, ranks !== null, slot))
  if (wrong >= 0 || slots.length !== live.length)
    faults.push(`${name} has ${slots.length} rows of ${live.length}, and at ${wrong} another one`)
  faults.push(...faultsOfCheckpoints(store, name, index.checkpoints, slots, index))
  return faults
}

/**
 * Returns the place of the first slot that is not in use, or whose row must not follow the row before it; -1 if there is none. If
 * the slots are as many as the slots in use, they are then the right ones in the right order. This check is far cheaper than
 * sorting.
 */
function firstMisplaced(
  slots: readonly number[],
  live: readonly number[],
  store: ColumnStore,
  keyOfSlot: (slot: number) => Code,
): number {
  const isUsed = new Uint8Array(store.slots)
  for (const slot of live) isUsed[slot] = 1
  let keyBefore: Code = 0
  let idBefore = 0
  return slots.findIndex((slot, at) => {
    const key = keyOfSlot(slot)
    const id = store.idAt(slot)
    const isBehind = at === 0 || (compareCodes(keyBefore, key) || idBefore - id) < 0
    keyBefore = key
    idBefore = id
    return isUsed[slot] !== 1 || !isBehind
  })
}

function faultsOfCheckpoints(
  store: ColumnStore,
  name: string,
  { all }: Checkpoints,
  slots: readonly number[],
  { order }: SortedIndex,
): string[] {
  const faults: string[] = []
  let last: Target | null = null
  let before = 0
  const expected = noBits(store)
  for (const [number, { target, bits, rows }] of all.entries()) {
    if (last !== null && compareTargets(last, target) >= 0)
      faults.push(`checkpoint ${number} of ${name} is not behind the last one`)
    let end = before
    for (; end < slots.length && compareTargets(order.targetOf(slots[end] as number), target) < 0; end++)
      addBit(expected, slots[end] as number)
    const fault = faultOfBits(store, bits, expected)
    if (fault) faults.push(`checkpoint ${number} of ${name} ${fault}`)
    if (rows !== end - before) faults.push(`checkpoint ${number} of ${name} counts ${rows}, not ${end - before}`)
    before = end
    last = target
  }
  return faults
}

function noBits({ bitmapBytes }: ColumnStore): Int32Array {
  return new Int32Array(bitmapBytes / 4)
}

function addBit(bits: Int32Array, slot: number): void {
  bits[slot >> 5] = (bits[slot >> 5] as number) | (1 << (slot & 31))
}

/** Returns how a bitmap differs from the expected bitmap; null if both are equal. */
function faultOfBits({ kernel: { words } }: ColumnStore, bits: number, expected: Int32Array): string | null {
  const wrong = expected.findIndex((word, at) => words[(bits >>> 2) + at] !== word)
  return wrong < 0 ? null : `differs in the slots from ${32 * wrong} on`
}

function keyOf(store: ColumnStore, texts: TableTexts, column: number, byRank: boolean, slot: number): Code {
  const code = store.codeAt(slot, column)
  return byRank && !Number.isNaN(code as number) ? (texts.ranksOf(column)?.ranks[Number(code)] as number) : code
}

function testOf(store: ColumnStore, texts: TableTexts, { condition, among }: KeptLeaf): (slot: number) => boolean {
  const { column, by, least, greatest, isComplement } = condition
  return (slot) => {
    const key = keyOf(store, texts, column, by === 'ranks', slot)
    if (among !== null) return among.has(key) !== isComplement
    return (!Number.isNaN(key as number) && key >= least && key <= greatest) !== isComplement
  }
}
