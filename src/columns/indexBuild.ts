// Builds an index in short steps, while rows change, by a radix sort of copied keys.
import type { IndexPosition } from './checkpoints.ts'
import { AFTER_IDS, type ColumnOrder, NOT_PLACED } from './columnOrder.ts'
import { SortedIndex } from './sortedIndex.ts'

/** Number of slots that one step reads in some milliseconds. */
const STEP_SLOTS = 65_536
/** Bits of a digit. With more bits, the counts of digits would not fit into the processor's cache. */
const DIGIT_BITS = 11
/** Number of different digits. */
const DIGITS = 1 << DIGIT_BITS

/** Keys of rows as unsigned halves, and slots of these rows, in the same order. `highs`: empty if keys have 32 bits. */
interface Keys {
  readonly highs: Uint32Array
  readonly lows: Uint32Array
  readonly slots: Uint32Array
}

/** State of a slot whose row has changed since the building began. */
const CHANGED = 1
/** State of a slot that is in the index. */
const APPENDED = 2

/** Records which rows change while an index is built. */
export class Building {
  /** State of each slot; 0 if its row has neither changed since the building began nor been added to the index. */
  private readonly states: Uint8Array
  private index: SortedIndex | null = null

  /** `pending`: receives the rows that the caller must add afterwards. */
  constructor(
    slotsMax: number,
    private readonly pending: Set<number>,
  ) {
    this.states = new Uint8Array(slotsMax)
  }

  /** Notes that a row is removed, or that its code is about to change. */
  leave(slot: number): void {
    if (this.states[slot] === APPENDED) this.index?.remove(slot)
    this.states[slot] = CHANGED
    this.pending.delete(slot)
  }

  /** Notes that a row is new, or that its code has changed. */
  enter(slot: number): void {
    this.states[slot] = CHANGED
    this.pending.add(slot)
  }

  /** Notes that the texts of the index have new ranks, but are still in the same order as before. */
  noteSpread(): void {
    this.index?.noteSpread()
  }

  isChanged(slot: number): boolean {
    return this.states[slot] === CHANGED
  }

  /**
   * Appends those of the slots `[from, to)` whose rows have not changed. All of them must come after the slots that the index
   * has. @throws KernelFull
   */
  append(index: SortedIndex, slots: Uint32Array, from: number, to: number): void {
    this.index = index
    let end = from
    for (let at = from; at < to; at++) {
      const slot = slots[at]
      if (this.isChanged(slot)) continue
      slots[end++] = slot
      this.states[slot] = APPENDED
    }
    index.append(slots, from, end)
  }
}

/**
 * Builds an index of all rows, except rows that change meanwhile, and rows whose text has no rank yet. `building` collects these,
 * and the caller adds them. Rows are read in the order of their ids, so a stable sort by the code gives the whole order. Returns
 * null if codes become wider or ranks change meanwhile, because the keys that were read before cannot be compared with later
 * ones. @throws KernelFull
 */
export function* buildIndex(
  order: ColumnOrder,
  ids: SortedIndex,
  building: Building,
  isVoid: () => boolean,
): Generator<void, SortedIndex | null> {
  let keys = yield* copyKeys(order, ids, building, isVoid)
  if (keys === null) return null
  const { length } = keys.slots
  let other = makeKeys(order, length)
  for (const half of ['lows', 'highs'] as const)
    for (let shift = 0; shift < 32 && keys[half].length > 0; shift += DIGIT_BITS) {
      const ends = yield* countDigits(keys[half], shift)
      if (ends === null) continue
      for (let from = 0; from < length; from += STEP_SLOTS) {
        scatter(keys, half, shift, ends, other, from, Math.min(from + STEP_SLOTS, length))
        yield
      }
      ;[keys, other] = [other, keys]
    }
  const index = new SortedIndex(order)
  try {
    for (let from = 0; from < length; from += STEP_SLOTS) {
      building.append(index, keys.slots, from, Math.min(from + STEP_SLOTS, length))
      yield
    }
  } catch (error) {
    index.release()
    throw error
  }
  return index
}

function makeKeys({ isWide }: ColumnOrder, count: number): Keys {
  return { highs: new Uint32Array(isWide ? count : 0), lows: new Uint32Array(count), slots: new Uint32Array(count) }
}

/** Returns the keys of the rows that have not changed, in the order of their ids; null if these keys cannot be compared. */
function* copyKeys(
  order: ColumnOrder,
  ids: SortedIndex,
  building: Building,
  isVoid: () => boolean,
): Generator<void, Keys | null> {
  const { highs, lows, slots } = makeKeys(order, ids.size)
  const isWide = highs.length > 0
  let count = 0
  let last: number | null = null
  for (;;) {
    // Rows may have been added and removed since the last step, so the position is searched again.
    const position: IndexPosition = last === null ? { leaf: 0, at: 0 } : ids.find(ids.order.targetAt(last, AFTER_IDS))
    const passed = ids.slotsFrom(position, STEP_SLOTS)
    if (passed.length === 0) break
    for (const slot of passed) {
      if (building.isChanged(slot)) continue
      const low = order.lowKey(slot)
      if (low === NOT_PLACED && order.ranks !== null) {
        building.enter(slot)
        continue
      }
      slots[count] = slot
      lows[count] = low
      if (isWide) highs[count] = order.highKey(slot)
      count++
    }
    last = order.store.idAt(passed[passed.length - 1])
    yield
    if (isVoid()) return null
  }
  return { highs: highs.subarray(0, isWide ? count : 0), lows: lows.subarray(0, count), slots: slots.subarray(0, count) }
}

/** Returns where the keys with each digit begin; null if all keys have the same digit. */
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
    const index = ends[(own[at] >>> shift) & (DIGITS - 1)]++
    to.lows[index] = lows[at]
    to.slots[index] = slots[at]
    if (isWide) to.highs[index] = highs[at]
  }
}
