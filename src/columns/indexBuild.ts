// Building of an index in short steps, while rows change: a radix sort of keys that were copied before.
import { type ColumnOrder, NOT_PLACED } from './columnOrder.ts'
import { SortedIndex } from './sortedIndex.ts'

/** Slots that one step looks at: some milliseconds. */
const STEP_SLOTS = 65_536
/** Bits of a digit, and how many digits there are. More would leave the processor's cache. */
const DIGIT_BITS = 11
const DIGITS = 1 << DIGIT_BITS

/** Keys of rows as unsigned halves, and their slots, all in one order. `highs`: empty where keys have 32 bits. */
interface Keys {
  readonly highs: Uint32Array
  readonly lows: Uint32Array
  readonly slots: Uint32Array
}

/**
 * Returns the index of these slots, which are in the order of their ids, so that a stable sort by the code is the whole
 * order. Rows that change meanwhile, and those whose text has no rank, are marked by their slots: they are left out, and the
 * caller adds them afterwards. Null: the column's codes have become wider meanwhile, or its ranks are others, so that keys of
 * before and after do not compare.
 *
 * @throws KernelFull
 */
export function* buildIndex(
  order: ColumnOrder,
  slots: Uint32Array,
  marks: Uint8Array,
  isVoid: () => boolean,
): Generator<void, SortedIndex | null> {
  let keys = makeKeys(order, slots.length)
  keys.slots.set(slots)
  for (let from = 0; from < slots.length; from += STEP_SLOTS) {
    copyKeys(order, keys, marks, from, Math.min(from + STEP_SLOTS, slots.length))
    yield
    if (isVoid()) return null
  }
  let other = makeKeys(order, slots.length)
  for (const half of ['lows', 'highs'] as const)
    for (let shift = 0; shift < 32 && keys[half].length > 0; shift += DIGIT_BITS) {
      const ends = yield* countDigits(keys[half], shift)
      if (ends === null) continue
      for (let from = 0; from < slots.length; from += STEP_SLOTS) {
        scatter(keys, half, shift, ends, other, from, Math.min(from + STEP_SLOTS, slots.length))
        yield
      }
      ;[keys, other] = [other, keys]
    }
  if (isVoid()) return null
  const index = new SortedIndex(order)
  const sorted = keys.slots
  let count = 0
  for (let at = 0; at < sorted.length; at++) if (marks[sorted[at]] === 0) sorted[count++] = sorted[at]
  try {
    index.append(sorted, 0, count)
  } catch (error) {
    index.release()
    throw error
  }
  return index
}

function makeKeys({ isWide }: ColumnOrder, count: number): Keys {
  return { highs: new Uint32Array(isWide ? count : 0), lows: new Uint32Array(count), slots: new Uint32Array(count) }
}

function copyKeys(order: ColumnOrder, { highs, lows, slots }: Keys, marks: Uint8Array, from: number, to: number) {
  for (let at = from; at < to; at++) {
    const key = order.lowKey(slots[at])
    lows[at] = key
    if (key === NOT_PLACED && order.ranks !== null) marks[slots[at]] = 1
  }
  if (highs.length > 0) for (let at = from; at < to; at++) highs[at] = order.highKey(slots[at])
}

/** Returns where the keys of each digit begin; null: all have the same digit. */
function* countDigits(keys: Uint32Array, shift: number): Generator<void, Uint32Array | null> {
  const counts = new Uint32Array(DIGITS)
  for (let from = 0; from < keys.length; from += STEP_SLOTS) {
    const to = Math.min(from + STEP_SLOTS, keys.length)
    for (let at = from; at < to; at++) counts[(keys[at] >>> shift) & (DIGITS - 1)]++
    yield
  }
  if (keys.length === 0 || counts[(keys[0] >>> shift) & (DIGITS - 1)] === keys.length) return null
  let begin = 0
  for (let digit = 0; digit < DIGITS; digit++) {
    const count = counts[digit]
    counts[digit] = begin
    begin += count
  }
  return counts
}

function scatter(keys: Keys, half: 'lows' | 'highs', shift: number, ends: Uint32Array, to: Keys, from: number, end: number) {
  const { highs, lows, slots } = keys
  const own = keys[half]
  const isWide = highs.length > 0
  for (let at = from; at < end; at++) {
    const place = ends[(own[at] >>> shift) & (DIGITS - 1)]++
    to.lows[place] = lows[at]
    to.slots[place] = slots[at]
    if (isWide) to.highs[place] = highs[at]
  }
}
