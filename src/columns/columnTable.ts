// One table as columns of codes in memory: takes rows in, and finds totals, pages and groups without PostgreSQL.
import type { Entity, Property } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import type { Filter, Seek, Sort } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { SummaryQuery } from '../model/summary.ts'
import { type Coded, type Condition, conditionsOf, inOrderOfCost, type TextBounds } from './conditions.ts'
import { type FoundPage, FoundRows } from './foundPage.ts'
import { Grouping } from './grouping.ts'
import { groupingParts } from './groupingParts.ts'
import { type Kernel, Reservations } from './kernel.ts'
import { type Counts, candidatesOf, type Matches, matchesOf } from './matches.ts'
import { type PageKey, pageKeysOf, setsBefore } from './pageKeys.ts'
import { pageRangeOf } from './pageRange.ts'
import { PageSearch } from './pageSearch.ts'
import { RankTable } from './rankTable.ts'
import { RowCodes, type UncodedValues } from './rowCodes.ts'
import { ID, RowStore } from './rowStore.ts'
import type { Texts } from './textOrder.ts'

/** Maximum lists whose counts are kept: each takes some 30 KB for a table of 10,000,000 rows. */
const LISTS_MAX = 64
/** Estimated bytes of a row's values without codes. */
const UNCODED_ROW_BYTES = 1_024

/** The rows of a table. After a method has thrown `KernelFull` or `TextsCollide`, the table cannot be used any more. */
export class ColumnTable {
  private readonly coded: Coded & { readonly ranks: (RankTable | null)[]; readonly uncoded: Int32Array }
  private readonly rowCodes: RowCodes
  private readonly store: RowStore
  /** By id and column, values without a code, as PostgreSQL prints them. */
  private readonly uncodedRows = new Map<number, UncodedValues>()
  /** Counts of the lists that were found last; null: a row has changed since. */
  private kept: LruCache<Counts> | null = null

  /** `kernel`: has the rows in its memory, and those of no other table. `orderedBy`: the column by whose values the rows lie. */
  constructor(
    private readonly entity: Entity,
    private readonly kernel: Kernel,
    readonly orderedBy: number = ID,
    segmentRows?: number,
  ) {
    const { properties } = entity
    this.rowCodes = new RowCodes(entity)
    this.store = new RowStore(kernel, properties.length, orderedBy, segmentRows)
    const uncoded = new Int32Array(properties.length)
    this.coded = { entity, rowCodes: this.rowCodes, ranks: properties.map(() => null), uncoded }
  }

  get rows(): number {
    return this.store.rows
  }

  /** Bytes of the kernel's memory and of the program's own. */
  get bytes(): number {
    const ranks = this.coded.ranks.reduce((sum, table) => sum + (table?.bytes ?? 0), 0)
    return this.store.bytes + this.rowCodes.bytes + ranks + this.uncodedRows.size * UNCODED_ROW_BYTES
  }

  /** Prepares a load of about so many rows, by the values that some of them have of the property by which they lie. */
  prepare(rows: number, values: readonly (string | null)[]): void {
    const codes = values.map((value) => this.rowCodes.find(this.orderedBy, value) ?? Number.NaN)
    this.store.prepare(rows, Float64Array.from(codes))
  }

  /** Adds a row of the load: `bytes[from, to)` is its line of COPY, without the end. @throws as `put` */
  addLine(bytes: Uint8Array, from: number, to: number): void {
    this.noteChange(this.rowCodes.codeLine(bytes, from, to))
    this.store.add(this.rowCodes.codes)
  }

  /** Adds or replaces a row. @throws KernelFull, and an error if the id has no code */
  put(row: Row): void {
    this.noteChange(this.rowCodes.code(row))
    this.store.put(this.rowCodes.codes)
  }

  private noteChange(uncoded: UncodedValues | null) {
    this.kept = null
    if (uncoded?.has(ID)) throw new Error(`the id ${uncoded.get(ID)} is greater than 2^53`)
    const id = this.rowCodes.codes[ID]
    if (this.uncodedRows.size > 0) this.forgetUncoded(id)
    if (uncoded === null) return
    this.uncodedRows.set(id, uncoded)
    for (const column of uncoded.keys()) this.coded.uncoded[column]++
  }

  /** Removes the row of this id, if there is one. */
  remove(id: string): void {
    this.kept = null
    this.forgetUncoded(Number(id))
    this.store.remove(Number(id))
  }

  /** Total and `size` rows from an offset on, or beside a position, with one more at its far end. Null: codes cannot decide. */
  page(
    filters: readonly Filter[],
    sorts: readonly Sort[],
    place: number | Seek,
    size: number,
    bounds?: TextBounds,
  ): FoundPage | null {
    const { store } = this
    const keys = pageKeysOf(this.coded, sorts)
    const conditions = keys && conditionsOf(this.coded, filters, bounds)
    if (keys === null || conditions === null) return null
    const range = typeof place === 'number' ? [place, place + size] : this.rangeBeside(keys, conditions, place, size)
    if (range === null) return null
    // What the filters match is kept by their operands; how texts lie to an operand may change without them.
    const key = conditions.every(({ byRank }) => byRank === null) ? keyOf(filters) : null
    const known = (key !== null && this.kept?.get(key)) || null
    const list = known ?? this.matchesOf(conditions)
    if (known === null && key !== null) this.keep(key, list)
    const [from, end] = range.map((row) => Math.min(row, list.total)) as [number, number]
    let slots: readonly number[] = []
    if (from < end) {
      const { segments, before } = pageRangeOf(list, keys[0], from, end)
      const isAll = known === null && segments.length === list.segments.length
      const matches = isAll ? (list as Matches) : matchesOf(conditions, segments)
      slots = new PageSearch(store, keys, conditions, size).find(matches, from - before, end - before)
    }
    return { total: list.total, rows: new FoundRows(slots, store, this.rowCodes.printers, this.uncodedRows) }
  }

  private matchesOf(conditions: readonly Condition[]): Matches {
    return matchesOf(conditions, candidatesOf(this.store, conditions))
  }

  /** The numbers of the first row of a page, and of the one behind its last; null: codes cannot decide. */
  private rangeBeside(keys: PageKey[], conditions: Condition[], { side, position }: Seek, size: number): number[] | null {
    const sets = setsBefore(keys, this.rowCodes, position)
    if (sets === null) return null
    const counts = sets.map((set) => this.matchesOf(inOrderOfCost([...conditions, ...set])).total)
    const behind = counts.reduce((sum, count) => sum + count, 0)
    if (side === 'after') return [behind, behind + size + 1]
    const end = behind - (counts.at(-1) as number)
    return [Math.max(0, end - size - 1), end]
  }

  private keep(key: string, { segments, counts, total }: Counts) {
    this.kept ??= new LruCache(LISTS_MAX, () => 1)
    this.kept.set(key, { segments, counts, total })
  }

  /** Groups of rows, yet to be formed; null: codes cannot decide. Until it is closed, ranks that it has stay as they are. */
  group(query: SummaryQuery, bounds?: TextBounds): Grouping | null {
    const { store } = this
    const memory = new Reservations(this.kernel)
    const conditions = conditionsOf(this.coded, query.filters, bounds)
    const parts = conditions && groupingParts(this.coded, memory, store, query)
    if (!parts) return null
    const held = this.coded.ranks.filter((table) => table !== null)
    for (const table of held) table.hold()
    const onClose = () => {
      for (const table of held) table.release()
    }
    return new Grouping({ ...parts, memory, store, conditions, sorts: query.sorts, onClose })
  }

  private forgetUncoded(id: number) {
    const known = this.uncodedRows.get(id)
    if (known === undefined) return
    this.uncodedRows.delete(id)
    for (const column of known.keys()) this.coded.uncoded[column]--
  }

  useRanks(property: Property, ranks: Int32Array): void {
    const column = this.entity.properties.indexOf(property)
    this.coded.ranks[column]?.release()
    this.coded.ranks[column] = null
    this.coded.ranks[column] = new RankTable(this.kernel, ranks)
  }

  textsOf(property: Property): Texts {
    const dictionary = this.rowCodes.dictionaries[this.entity.properties.indexOf(property)]
    if (!dictionary) throw new Error(`${property.name} has no texts`)
    return dictionary
  }
}

function keyOf(filters: readonly Filter[]): string {
  // No value is another operand than the text "null".
  return filters.map(({ property, operator, value }) => `${property.column}${operator.sign}${value ?? '\0'}`).join('\0')
}
