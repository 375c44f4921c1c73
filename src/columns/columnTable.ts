import type { Entity, Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import type { Filter, Seek, Sort } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { setsBefore } from './beside.ts'
import type { ClusteredRows } from './clusteredRows.ts'
import { type ClusterOptions, Clusters } from './clusters.ts'
import { type Bounds, type Coded, type Condition, conditionsOf } from './conditions.ts'
import { readLine } from './copyText.ts'
import { type AskedList, FoundLists } from './foundLists.ts'
import { FoundPage } from './foundPage.ts'
import type { Kernel } from './kernel.ts'
import { type PageKey, pageKeysOf } from './pageKeys.ts'
import { RankTable } from './rankTable.ts'
import { RowCodes } from './rowCodes.ts'
import { rowTestOf } from './rowTest.ts'
import { Slots } from './slots.ts'
import type { Texts } from './textPieces.ts'

/** So many rows that lie beside the columns are looked at for a list; with more of them codes cannot tell. */
const OTHERS_MAX = 1_000
/** What a list asks of codes, and its order. */
interface Asked extends AskedList {
  readonly keys: readonly PageKey[]
}

/** About what a map, an array and its texts take. */
const ODD_ROW_BYTES = 1_024

/**
 * The rows of a table as columns of codes in memory. Says how many rows match filters, and the ids of any page of them, without
 * PostgreSQL. A method that throws `KernelFull` leaves it of no use but for `release`.
 */
export class ColumnTable {
  private readonly coded: Coded & { readonly ranks: (RankTable | null)[] }
  private readonly rowCodes: RowCodes
  private readonly slots: Slots
  /** The same rows in other orders. */
  readonly clusters: Clusters
  /** Rows of which a value has no code. */
  private readonly odd = new Map<string, Row>()
  private readonly lists: FoundLists

  /** `kernel`: whose memory it lies in; `release` gives it back. */
  constructor(
    private readonly entity: Entity,
    private readonly kernel: Kernel,
    options?: ClusterOptions,
  ) {
    this.rowCodes = new RowCodes(entity)
    const hasTexts = entity.properties.map(({ kind }) => isText(kind.name))
    this.slots = new Slots(kernel, hasTexts)
    this.clusters = new Clusters(kernel, hasTexts, this.slots, options)
    this.lists = new FoundLists(kernel, this.clusters)
    this.coded = { entity, rowCodes: this.rowCodes, ranks: entity.properties.map(() => null) }
  }

  /** Rows that there are. */
  get rows(): number {
    return this.slots.rows + this.odd.size
  }

  /** Of the kernel's memory and of the program's own. */
  get bytes(): number {
    const ranks = this.coded.ranks.reduce((sum, table) => sum + (table?.bytes ?? 0), 0)
    return this.slots.bytes + this.clusters.bytes + this.rowCodes.bytes + ranks + this.odd.size * ODD_ROW_BYTES
  }

  /** A row of the load, of which ids ascend: `bytes[from, to)` is its line of COPY, without the end. @throws KernelFull */
  addLine(bytes: Uint8Array, from: number, to: number): void {
    this.forgetLists()
    if (this.rowCodes.codeLine(bytes, from, to)) this.addCodes()
    else this.add(readLine(bytes, from, to))
  }

  /** A row that is not there. @throws KernelFull */
  add(row: Row): void {
    this.forgetLists()
    if (this.rowCodes.code(row)) this.addCodes()
    else this.odd.set(row[0] as string, row)
  }

  /** The row as it is now, whatever it was. @throws KernelFull */
  put(row: Row): void {
    this.write(row[0] as string, row)
  }

  /** The row of this id is there no more. */
  remove(id: string): void {
    this.write(id, null)
  }

  /**
   * The total, and the rows [offset, offset + size) in the order of `order(entity, sorts)`; null: codes cannot tell,
   * or a row without codes matches.
   */
  page(
    filters: readonly Filter[],
    sorts: readonly Sort[],
    offset: number,
    size: number,
    bounds?: Bounds,
  ): FoundPage | null {
    const asked = this.asked(filters, sorts, bounds)
    return asked && this.found(asked, offset, size)
  }

  /** The same of the `size` rows beside a position, and of one more at their far end where there is one. */
  pageBeside(
    filters: readonly Filter[],
    sorts: readonly Sort[],
    { side, position }: Seek,
    size: number,
    bounds?: Bounds,
  ): FoundPage | null {
    const asked = this.asked(filters, sorts, bounds)
    const sets = asked && setsBefore(asked.keys, this.rowCodes, position)
    if (asked === null || sets === null) return null
    const counts = sets.map((conditions) => this.lists.countAlso(asked, conditions))
    const behind = counts.reduce((sum, count) => sum + count, 0)
    if (side === 'behind') return this.found(asked, behind, size + 1)
    const end = behind - (counts.at(-1) as number)
    const from = Math.max(0, end - size - 1)
    return this.found(asked, from, end - from)
  }

  private found(asked: Asked, offset: number, size: number): FoundPage {
    const { total, slots, rows } = this.lists.page(asked, asked.keys, offset, size)
    return new FoundPage(total, slots, rows, this.rowCodes)
  }

  /** What a list asks of codes; null: codes cannot tell, or a row without codes may match. */
  private asked(filters: readonly Filter[], sorts: readonly Sort[], bounds: Bounds | undefined): Asked | null {
    const keys = pageKeysOf(this.coded, sorts)
    const conditions = conditionsOf(this.coded, filters, bounds)
    if (keys === null || conditions === null || this.mayMatchOthers(filters, conditions)) return null
    return { filters, conditions, bounds, keys }
  }

  /** Whether a row without codes may match. */
  private mayMatchOthers(filters: readonly Filter[], conditions: readonly Condition[]): boolean {
    if (this.odd.size === 0) return false
    const test = this.odd.size > OTHERS_MAX ? null : rowTestOf(this.coded, filters, conditions)
    return test === null || this.odd.values().some((row) => test(row) !== false)
  }

  /** A row has changed, or the order of a text: nothing that was found of lists holds any more. */
  private forgetLists() {
    this.lists.forget()
  }

  useRanks(property: Property, ranks: Int32Array | null): void {
    this.forgetLists()
    const place = this.entity.properties.indexOf(property)
    this.coded.ranks[place]?.release()
    this.coded.ranks[place] = null
    if (ranks) this.coded.ranks[place] = new RankTable(this.kernel, ranks)
  }

  textsOf(property: Property): Texts {
    const dictionary = this.rowCodes.dictionaries[this.entity.properties.indexOf(property)]
    if (!dictionary) throw new Error(`${property.name} has no texts`)
    return dictionary
  }

  /** Takes over so many slots into rows that the clusters have begun. False: there is nothing more to be done. */
  takeOver(rows: ClusteredRows, slots: number): boolean {
    this.clusters.orGiveUp(rows, () => rows.takeOver(slots))
    // What is kept of lists was found among other rows.
    if (rows.isWhole) this.forgetLists()
    return !rows.isWhole && !rows.isReleased
  }

  /** Gives back what only makes lists quicker. */
  giveUpClusters(): void {
    this.forgetLists()
    this.clusters.release()
  }

  release(): void {
    this.slots.release()
    this.clusters.release()
    for (const ranks of this.coded.ranks) ranks?.release()
  }

  private write(id: string, row: Row | null) {
    this.forgetLists()
    const slot = this.slots.find(Number(id))
    const hasCodes = row !== null && this.rowCodes.code(row)
    if (slot >= 0 && !hasCodes) this.clear(slot, Number(id))
    if (row !== null && !hasCodes) this.odd.set(id, row)
    else this.odd.delete(id)
    if (!hasCodes) return
    if (slot < 0) return this.addCodes()
    this.slots.replace(slot, this.rowCodes.codes)
    this.clusters.put(slot, this.rowCodes.codes)
  }

  private addCodes() {
    this.clusters.put(this.slots.add(this.rowCodes.codes), this.rowCodes.codes)
  }

  private clear(slot: number, id: number) {
    this.slots.remove(slot, id)
    this.clusters.drop(slot)
  }
}
