// One table as columns of codes in memory: stores rows, and finds totals, pages and groups without PostgreSQL.
import type { Entity, Property, RelatedPath } from '../model/entity.ts'
import type { Caller } from '../model/key.ts'
import type { Row } from '../model/sql.ts'
import type { SummaryQuery } from '../model/summary.ts'
import { ColumnStore, ID } from './columnStore.ts'
import { ConditionBitmaps } from './conditionBitmaps.ts'
import type { Coded, Reason } from './conditions.ts'
import type { GroupedTable } from './groupedColumn.ts'
import { Grouping } from './grouping.ts'
import { groupingParts } from './groupingParts.ts'
import { Indexes, IndexMissing, type Room } from './indexes.ts'
import { KERNEL_BYTES_MAX, Kernel, KernelFull, Reservations } from './kernel.ts'
import { ListSearch } from './listSearch.ts'
import { TableLookUp } from './relatedFields.ts'
import { RowCodes, type UncodedValues } from './rowCodes.ts'
import { TableChanges } from './tableChanges.ts'
import { TableConditions } from './tableConditions.ts'
import { NO_TABLES, type Tables } from './tables.ts'
import { type Prepared, TableTexts, type TextParts } from './tableTexts.ts'
import { prepareTexts } from './textParts.ts'

/** Estimated bytes of those values of a row that have no code. */
const UNCODED_ROW_BYTES = 1_024
/** Number of slots that a new table gets in addition to two for each row, if there is enough memory. */
const SLOTS_SPARE = 100_000
const SLOTS_UNIT = 512
/** Minimum number of slots for each row of a new table. With fewer slots, the table would soon have to be loaded again. */
const SLOTS_FACTOR_MIN = 1.2
/** Share of slots in use above which a table is loaded again. Until the load has ended, the old copy serves lists. */
const FULL_SHARE = 0.9
/**
 * Maximum bytes for each slot. `CODE_BYTES_MAX`: of the codes of one column. `COLUMN_BYTES`: of these codes, the column's two
 * indexes, and their checkpoints. `BITMAPS_BYTES`: of all bitmaps of the table.
 */
const CODE_BYTES_MAX = 8
const COLUMN_BYTES = CODE_BYTES_MAX + 2 * (5.4 + 4)
const BITMAPS_BYTES = 80 / 8
/** Bytes of a kernel for buffers of slots, marks of texts, and records of summaries. */
const OTHER_BYTES = 128 * 2 ** 20

/**
 * The rows of a table as codes. After a change has thrown, the caller must make no more changes. Lists and summaries that have
 * begun can still be completed.
 */
export class ColumnTable {
  readonly lists: ListSearch
  readonly texts: TableTexts
  readonly conditions: TableConditions
  /** Finds rows by their ids. */
  readonly lookUp: TableLookUp
  private readonly changes: TableChanges
  private readonly rowCodes: RowCodes
  private readonly coded: Coded & { readonly uncoded: Int32Array }
  private readonly grouped: GroupedTable
  private readonly store: ColumnStore
  private readonly indexes: Indexes
  private readonly bitmaps: ConditionBitmaps
  private readonly columns: number
  /** Values without a code, as PostgreSQL prints them, by id and column. */
  private readonly uncodedRows = new Map<number, UncodedValues>()
  /** Summaries that are being computed. Before a row changes, each of these summaries counts the row with its old values. */
  private readonly groupings = new Set<Grouping>()

  /** `rows`: estimated number of rows to load. @throws KernelFull */
  constructor(entity: Entity, rows: number, parts: TextParts, room: Room, hasVectors = true) {
    const columns = entity.properties.length
    const slots = slotsFor(rows, columns)
    const kernel = new Kernel(slots * (columns * COLUMN_BYTES + BITMAPS_BYTES) + OTHER_BYTES, hasVectors)
    const rowCodes = new RowCodes(entity)
    const store = new ColumnStore(kernel, columns, slots)
    const texts = new TableTexts(entity, rowCodes, parts, {
      onPlaced: (column) => {
        bitmaps.noteRanks(column)
        indexes.enterPlaced(column)
      },
      onSpread: (column) => {
        bitmaps.noteRanks(column)
        indexes.noteSpread(column)
      },
    })
    const ranksOf = (column: number) => texts.ranksOf(column)
    const textCodesEnd = (column: number) => rowCodes.dictionaries[column]?.size ?? null
    const indexes = new Indexes(store, columns, ranksOf, room)
    const bitmaps = new ConditionBitmaps(store, columns, indexes, ranksOf, textCodesEnd, room)
    this.columns = columns
    this.rowCodes = rowCodes
    this.coded = { entity, rowCodes, uncoded: new Int32Array(columns) }
    this.store = store
    this.texts = texts
    this.indexes = indexes
    this.bitmaps = bitmaps
    const { coded, uncodedRows } = this
    this.changes = new TableChanges(columns)
    const conditions = new TableConditions({ coded, store, indexes, bitmaps, texts, changes: this.changes })
    this.conditions = conditions
    const ranksToRead = (column: number) => {
      if (rowCodes.dictionaries[column] === null) return null
      const ranks = texts.ranksOf(column)
      return ranks === null || !texts.isOrdered(column) ? undefined : () => ranks.ranks
    }
    const grouped = { ...coded, store, ranksOf: ranksToRead }
    this.grouped = grouped
    const lookUp = new TableLookUp({ coded, store, indexes, bitmaps, conditions, uncodedRows, grouped })
    this.lookUp = lookUp
    this.lists = new ListSearch({
      coded,
      store,
      indexes,
      bitmaps,
      conditions,
      lookUp,
      texts,
      uncodedRows,
      withItself: (tables) => this.withItself(tables),
    })
  }

  get rows(): number {
    return this.store.rows
  }

  /** Bytes in use, in the kernel's memory and on the heap. */
  get bytes(): number {
    const { store, rowCodes, indexes, bitmaps, texts } = this
    let bytes = store.bytes + rowCodes.bytes + indexes.bytes + bitmaps.bytes + texts.bytes
    for (const grouping of this.groupings) bytes += grouping.bytes
    return bytes + this.uncodedRows.size * UNCODED_ROW_BYTES
  }

  /** True if the table should be loaded again, because few slots are left, or because most slots are free. */
  get isWorn(): boolean {
    const { slots, slotsMax, freeSlots } = this.store
    return slots - freeSlots > FULL_SHARE * slotsMax || (slots > SLOTS_SPARE && 2 * freeSlots > slots)
  }

  /**
   * Adds a row while the table is loaded. `bytes[from, to)`: the row's line of COPY, without the newline. Ids must ascend.
   * @throws as `put`
   */
  addLine(bytes: Uint8Array, from: number, to: number): void {
    this.noteUncoded(this.rowCodes.codeLine(bytes, from, to))
    const slot = this.store.takeSlot()
    this.setAll(slot)
    this.indexes.ids.insert(slot)
  }

  /** Adds or replaces a row. @throws KernelFull; TextsCollide; an error if the id has no code */
  put(row: Row): void {
    this.noteUncoded(this.rowCodes.code(row))
    const { lows, highs } = this.rowCodes
    const slot = this.indexes.slotOf(highs[ID] * 2 ** 32 + (lows[ID] >>> 0))
    if (slot >= 0) this.change(slot)
    else this.insert()
  }

  /** Removes the row with this id, if it exists. */
  remove(id: string): void {
    this.forgetUncoded(Number(id))
    const slot = this.indexes.slotOf(Number(id))
    if (slot < 0) return
    this.changes.noteRow()
    for (const grouping of this.groupings) grouping.countRow(slot)
    // Removes the row from the indexes in the reverse order of `insert`: the index of ids comes last.
    for (let column = this.columns - 1; column >= 0; column--) this.indexes.leave(slot, column)
    this.bitmaps.noteRemoval(slot)
    this.store.releaseSlot(slot)
  }

  /**
   * Prepares the texts of a list, as `TableTexts.prepare` does, in this table and in all tables to which the paths of the list
   * lead.
   */
  prepare(query: Prepared, caller: Caller, tables: Tables = NO_TABLES): Promise<void> | null {
    return prepareTexts(this, query, [], this.withItself(tables), caller)
  }

  /** Prepares the texts of a summary, as `prepare` does for a list. */
  prepareGroups({ filters, keys, figures }: SummaryQuery, caller: Caller, tables: Tables = NO_TABLES): Promise<void> | null {
    const compared = figures.flatMap(({ name, property }) => (name === 'minimum' || name === 'maximum' ? [property] : []))
    const ordered = [...keys.map(({ property }) => property), ...compared]
    return prepareTexts(this, { filters, sorts: [] }, ordered, this.withItself(tables), caller)
  }

  /** Frees the bitmaps, checkpoints or indexes that no list has used for `unusedMs`. Lists can be found without them. */
  freeUnused(part: 'bitmaps' | 'checkpoints' | 'indexes', unusedMs: number): void {
    const beforeMs = performance.now() - unusedMs
    if (part === 'bitmaps') this.bitmaps.freeUnused(beforeMs)
    else this.indexes.freeUnused(part, beforeMs)
  }

  /** Maximum number of bytes that `freeUnused` can free. */
  get partsBytes(): number {
    return this.bitmaps.partsBytes + this.indexes.partsBytes
  }

  /** Resolves when no index is being built any more. */
  indexesBuilt(): Promise<void> {
    return this.indexes.built()
  }

  /** Stops building indexes. */
  end(): void {
    this.indexes.end()
  }

  /**
   * Begins a summary of the current rows; later changes have no effect on it. The `steps` of the result compute the groups.
   * Returns the reason if codes cannot decide the groups. `tables`: the tables to which paths of the summary lead.
   */
  group(query: SummaryQuery, tables: Tables = NO_TABLES): Grouping | Reason {
    try {
      return this.beginGrouping(query, this.withItself(tables))
    } catch (error) {
      if (error instanceof KernelFull || error instanceof IndexMissing) return 'index'
      throw error
    }
  }

  private beginGrouping(query: SummaryQuery, tables: Tables): Grouping | Reason {
    const { grouped, store, bitmaps } = this
    const conditions = this.conditions.of(query.filters, tables)
    if (typeof conditions === 'string') return conditions
    const rows = bitmaps.rowsOf(conditions)
    const memory = new Reservations(store.kernel)
    if (rows === null) return 'index'
    const bits = store.reserveBitmap()
    store.kernel.words.copyWithin(bits >>> 2, rows.bits >>> 2, (rows.bits + store.bitmapBytes) >>> 2)
    const copyRelated = ({ related }: Property) => {
      const { view, property } = related as RelatedPath
      return tables(view.table)?.lookUp.copyOf(property, view, tables) ?? 'related'
    }
    let parts: ReturnType<typeof groupingParts> = 'values'
    try {
      parts = groupingParts(grouped, memory, query, copyRelated)
    } finally {
      if (typeof parts === 'string') {
        store.freeBitmap(bits)
        memory.release()
      }
    }
    if (typeof parts === 'string') return parts
    const onCounted = () => this.groupings.delete(grouping)
    const grouping = new Grouping({ ...parts, memory, store, bits, sorts: query.sorts, onCounted })
    this.groupings.add(grouping)
    return grouping
  }

  /** Adds this table to the tables, because paths may lead back to it. */
  private withItself(tables: Tables): Tables {
    const { table } = this.coded.entity
    return (name) => (name === table ? this : tables(name))
  }

  private insert() {
    const { store, indexes } = this
    this.changes.noteRow()
    const slot = store.takeSlot()
    this.setAll(slot)
    for (let column = 0; column < this.columns; column++) indexes.enter(slot, column)
    for (let column = 0; column < this.columns; column++) this.bitmaps.noteChange(slot, column)
  }

  private change(slot: number) {
    const { lows, highs } = this.rowCodes
    const { store, indexes, bitmaps } = this
    const changed: number[] = []
    for (let column = 0; column < this.columns; column++)
      if (!store.hasCode(slot, column, highs[column], lows[column])) changed.push(column)
    if (changed.length === 0) return
    for (const grouping of this.groupings) grouping.countRow(slot)
    for (const column of changed) {
      this.changes.noteColumn(column)
      indexes.move(slot, column, () => store.set(slot, column, highs[column], lows[column]))
      bitmaps.noteChange(slot, column)
    }
  }

  private setAll(slot: number) {
    const { lows, highs } = this.rowCodes
    for (let column = 0; column < this.columns; column++) this.store.set(slot, column, highs[column], lows[column])
  }

  private noteUncoded(uncoded: UncodedValues | null) {
    const { lows, highs } = this.rowCodes
    if (uncoded?.has(ID)) throw new Error(`the id ${uncoded.get(ID)} is greater than 2^53`)
    const id = highs[ID] * 2 ** 32 + (lows[ID] >>> 0)
    if (this.uncodedRows.size > 0) this.forgetUncoded(id)
    if (uncoded === null) return
    this.uncodedRows.set(id, uncoded)
    for (const column of uncoded.keys()) this.coded.uncoded[column]++
  }

  private forgetUncoded(id: number) {
    const known = this.uncodedRows.get(id)
    if (known === undefined) return
    this.uncodedRows.delete(id)
    for (const column of known.keys()) this.coded.uncoded[column]--
  }
}

/**
 * Returns the number of slots of a table that is loaded with about `rows` rows. There are fewer spare slots if the codes would
 * otherwise leave no memory for indexes.
 */
function slotsFor(rows: number, columns: number): number {
  const most = KERNEL_BYTES_MAX / (2 * CODE_BYTES_MAX * columns)
  const slots = Math.max(SLOTS_FACTOR_MIN * rows, Math.min(2 * rows + SLOTS_SPARE, most))
  return Math.ceil(slots / SLOTS_UNIT) * SLOTS_UNIT
}
