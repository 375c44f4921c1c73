// The sorted indexes of a table: builds them while rows change, and frees them when memory is short.
import { setImmediate } from 'node:timers/promises'
import { ColumnOrder, NOT_PLACED, type Ranks, type Target } from './columnOrder.ts'
import { type ColumnStore, ID } from './columnStore.ts'
import { Building, buildIndex } from './indexBuild.ts'
import { KernelFull } from './kernel.ts'
import { SortedIndex } from './sortedIndex.ts'

/** Time for steps in one turn of the event loop. */
const SLICE_MS = 4
/** Pause before another attempt to build an index, or checkpoints, for which there was no memory. */
const RETRY_MS = 60_000
/** Number of rows that one step adds. */
const STEP_ROWS = 500
/** Maximum number of rows that are added to an index at once after their texts have got ranks. More rows are added in steps. */
const ENTERED_MAX = 2_000
/** Estimated bytes of a row in an index whose leaves are three quarters full. */
const ROW_BYTES = 5.4

/** Thrown if rows cannot be found because an index is missing. The index is being built, unless there is no memory for it. */
export class IndexMissing extends Error {}

/** Order of an index: by codes, or by ranks if texts must be in the order of their collation. */
export type IndexedBy = 'codes' | 'ranks'

interface Entry {
  readonly number: number
  readonly order: ColumnOrder
  /** The index; null while it is being sorted. */
  index: SortedIndex | null
  /** Records changed rows while the index is sorted; null before the sort begins and after it has ended. */
  building: Building | null
  /** Rows that must still be added to the index: those that changed during the sort, and those whose text has no rank. */
  readonly pending: Set<number>
  isReady: boolean
  /** True if the result of the running sort must be discarded. */
  isVoid: boolean
}

/**
 * Says whether there is room for an optional part with this many bytes, such as an index. To make room, other optional parts and
 * other tables are dropped if possible.
 */
export interface Room {
  has(bytes: number): boolean
}

export class Indexes {
  /** Index of ids, which always exists. */
  readonly ids: SortedIndex
  private readonly entries: (Entry | null)[]
  /** Times at which memory was last refused: first for each index, then for the checkpoints of each index. */
  private readonly refusedMs: Float64Array
  private readonly jobs: Generator<void, void>[] = []
  private isRunning = false
  private isEnded = false

  /** `ranksOf`: returns the ranks of a column's texts; null if the column has no texts. */
  constructor(
    private readonly store: ColumnStore,
    private readonly columns: number,
    private readonly ranksOf: (column: number) => Ranks | null,
    private readonly room: Room,
  ) {
    this.ids = new SortedIndex(new ColumnOrder(store, ID, null))
    this.entries = new Array(2 * columns).fill(null)
    this.refusedMs = new Float64Array(4 * columns).fill(Number.NEGATIVE_INFINITY)
  }

  /**
   * Bytes of all indexes. Indexes that are being built count with their expected size, so that there is room for all of them when
   * they are done.
   */
  get bytes(): number {
    const bytesOf = (entry: Entry | null) => (entry === null ? 0 : (entry.index?.bytes ?? this.bytesWanted))
    return this.entries.reduce((sum, entry) => sum + bytesOf(entry), this.ids.bytes)
  }

  /** Estimated bytes of an index. */
  private get bytesWanted(): number {
    return ROW_BYTES * this.store.rows
  }

  /**
   * Bytes that can be freed: those of all indexes and their checkpoints. Of the index of ids, only the checkpoints can be freed.
   */
  get partsBytes(): number {
    return this.bytes - this.ids.bytes + this.ids.checkpoints.bytes
  }

  /**
   * Returns the index of a column if it is complete. Else returns null, and builds the index in the background if there is
   * memory.
   */
  want(column: number, by: IndexedBy): SortedIndex | null {
    const number = this.numberOf(column, by)
    const entry = this.entries[number]
    if (entry === null && column !== ID) this.beginBuilding(number, column, by)
    const index = column === ID ? this.ids : indexOf(entry)
    if (index === null) return null
    index.lastUsedMs = performance.now()
    if (index.checkpoints.areMissing) this.beginBuildingCheckpoints(number, index)
    return index
  }

  /** Returns the slot of the row with an id; -1 if there is no such row. */
  slotOf(id: number): number {
    const { ids, store } = this
    const slot = ids.slotAt(ids.find(ids.order.targetAt(id, id)))
    return slot >= 0 && store.idAt(slot) === id ? slot : -1
  }

  /** Adds a new row to the indexes of a column. @throws KernelFull */
  enter(slot: number, column: number): void {
    if (column === ID) this.ids.insert(slot)
    else for (const entry of this.entriesOf(column)) this.enterOne(entry, slot, null)
  }

  /** Removes a row from the indexes of a column. */
  leave(slot: number, column: number): void {
    if (column === ID) this.ids.remove(slot)
    else
      for (const entry of this.entriesOf(column)) {
        if (entry.index === null) entry.building?.leave(slot)
        else if (!entry.pending.delete(slot)) entry.index.remove(slot)
      }
  }

  /**
   * Moves a row in the indexes of a column, which must not be that of ids. `setCode` sets the row's new code. @throws KernelFull
   */
  move(slot: number, column: number, setCode: () => void): void {
    const entries = this.entriesOf(column)
    const positions = entries.map((entry) => detachFrom(entry, slot))
    setCode()
    for (const [at, entry] of entries.entries()) this.enterOne(entry, slot, positions[at])
  }

  private enterOne(entry: Entry, slot: number, from: Target | null) {
    if (entry.index === null) entry.building?.enter(slot)
    else if (entry.isReady && isPlaced(entry, slot)) this.insert(entry, entry.index, slot, from)
    else {
      entry.pending.add(slot)
      if (from !== null) entry.index.checkpoints.note(slot, from, null)
    }
  }

  /**
   * Adds pending rows to the index of a column, if their texts have ranks now. If these rows are many, they are added in steps.
   */
  enterPlaced(column: number): void {
    const entry = this.entries[this.numberOf(column, 'ranks')]
    if (!entry?.isReady || entry.index === null) return
    let entered = 0
    for (const slot of entry.pending) {
      if (!isPlaced(entry, slot)) continue
      if (entered++ === ENTERED_MAX) {
        entry.isReady = false
        this.enqueue(this.enterLater(entry, entry.index))
        return
      }
      entry.pending.delete(slot)
      if (!this.insert(entry, entry.index, slot, null)) return
    }
  }

  /** Notes that the texts of a column have new ranks, but are still in the same order as before. */
  noteSpread(column: number): void {
    const entry = this.entries[this.numberOf(column, 'ranks')]
    if (entry === null) return
    entry.isVoid = true
    // The rows keep their positions in the index.
    entry.building?.noteSpread()
    entry.index?.noteSpread()
  }

  /** Frees checkpoints, or whole indexes, that no list has used since `beforeMs`. */
  freeUnused(part: 'checkpoints' | 'indexes', beforeMs: number): void {
    if (part === 'checkpoints' && this.ids.lastUsedMs < beforeMs) this.ids.checkpoints.release()
    for (const entry of this.entries) {
      // An index that waits for the ranks of texts can be freed, too.
      if (!entry?.isReady || entry.index === null || entry.index.lastUsedMs > beforeMs) continue
      if (part === 'checkpoints') entry.index.checkpoints.release()
      else this.drop(entry)
    }
  }

  /** Resolves when no index is being built. */
  async built(): Promise<void> {
    while (this.isRunning) await setImmediate()
  }

  /** Stops building indexes. */
  end(): void {
    this.isEnded = true
  }

  private numberOf(column: number, by: IndexedBy): number {
    return by === 'codes' ? column : this.columns + column
  }

  private entriesOf(column: number): Entry[] {
    const found: Entry[] = []
    for (const number of [column, this.columns + column]) {
      const entry = this.entries[number]
      if (entry !== null) found.push(entry)
    }
    return found
  }

  /** Adds a row to an index. Returns false if there was no memory; then the index was dropped. */
  private insert(entry: Entry, index: SortedIndex, slot: number, from: Target | null): boolean {
    try {
      index.insert(slot, from)
      return true
    } catch (error) {
      if (!(error instanceof KernelFull)) throw error
      this.refuse(entry)
      return false
    }
  }

  private drop(entry: Entry) {
    entry.index?.release()
    this.entries[entry.number] = null
  }

  /** Drops an index for which the kernel has no memory. It is not built again before a pause. */
  private refuse(entry: Entry) {
    this.drop(entry)
    this.refusedMs[entry.number] = performance.now()
  }

  private beginBuilding(number: number, column: number, by: IndexedBy) {
    if (!this.hasRoom(number, this.bytesWanted)) return
    const entry: Entry = {
      number,
      order: new ColumnOrder(this.store, column, by === 'ranks' ? this.ranksOf(column) : null),
      index: null,
      building: null,
      pending: new Set(),
      isReady: false,
      isVoid: false,
    }
    this.entries[number] = entry
    this.enqueue(this.build(entry))
  }

  private beginBuildingCheckpoints(number: number, index: SortedIndex) {
    const own = this.entries.length + number
    if (index.checkpoints.isBeingBuilt || !this.hasRoom(own, index.checkpoints.bytesWanted)) return
    index.checkpoints.isBeingBuilt = true
    this.enqueue(this.buildCheckpoints(own, index))
  }

  private *buildCheckpoints(number: number, index: SortedIndex): Generator<void, void> {
    try {
      yield* index.checkpoints.build()
    } catch (error) {
      if (!(error instanceof KernelFull)) throw error
      this.refusedMs[number] = performance.now()
    }
  }

  private hasRoom(number: number, bytes: number): boolean {
    if (this.isEnded || performance.now() - this.refusedMs[number] < RETRY_MS) return false
    if (this.room.has(bytes)) return true
    this.refusedMs[number] = performance.now()
    return false
  }

  private enqueue(job: Generator<void, void>) {
    this.jobs.push(job)
    if (!this.isRunning) this.runQueued()
  }

  /** Runs jobs one after the other, in slices. The pauses between slices are about as long as the slices. */
  private async runQueued() {
    this.isRunning = true
    try {
      for (let job = this.jobs.shift(); job !== undefined && !this.isEnded; job = this.jobs.shift()) await runInSlices(job)
    } finally {
      this.isRunning = false
    }
  }

  private *build(entry: Entry): Generator<void, void> {
    try {
      yield* this.sort(entry)
    } catch (error) {
      if (!(error instanceof KernelFull)) throw error
      this.refuse(entry)
      return
    }
    yield* this.enterLater(entry, entry.index as SortedIndex)
  }

  private *enterLater(entry: Entry, index: SortedIndex): Generator<void, void> {
    try {
      yield* this.addPending(entry, index)
    } catch (error) {
      if (!(error instanceof KernelFull)) throw error
      this.refuse(entry)
    }
  }

  private *sort(entry: Entry): Generator<void, void> {
    const { order, pending } = entry
    while (entry.index === null) {
      pending.clear()
      entry.isVoid = false
      entry.building = new Building(this.store.slotsMax, pending)
      const { isWide } = order
      entry.index = yield* buildIndex(order, this.ids, entry.building, () => entry.isVoid || order.isWide !== isWide)
    }
    entry.building = null
  }

  private *addPending(entry: Entry, index: SortedIndex): Generator<void, void> {
    let count = 0
    for (const slot of entry.pending) {
      if (!isPlaced(entry, slot)) continue
      entry.pending.delete(slot)
      index.insert(slot)
      if (++count % STEP_ROWS === 0) yield
    }
    entry.isReady = true
    index.lastUsedMs = performance.now()
    // Some texts may have got ranks after the loop had passed their rows.
    this.enterPlaced(entry.order.column)
  }
}

async function runInSlices(job: Generator<void, void>): Promise<void> {
  for (;;) {
    // Yields twice, so that the waiting work can run, and also the work that it adds.
    await setImmediate()
    await setImmediate()
    const untilMs = performance.now() + SLICE_MS
    let step = job.next()
    while (!step.done && performance.now() < untilMs) step = job.next()
    if (step.done) return
  }
}

function indexOf(entry: Entry | null): SortedIndex | null {
  return entry?.isReady && entry.pending.size === 0 ? entry.index : null
}

/** Takes a row out of an index. Returns its position there; null if the row was not in the index. */
function detachFrom({ index, building, pending }: Entry, slot: number): Target | null {
  if (index !== null) return pending.delete(slot) ? null : index.detach(slot)
  building?.leave(slot)
  return null
}

function isPlaced({ order }: Entry, slot: number): boolean {
  return order.ranks === null || order.lowKey(slot) !== NOT_PLACED
}
