import type { Change } from '../changes/change.ts'
import type { Entity, Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import type { Filter, Sort } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { ClusteredRows } from './clusteredRows.ts'
import { type ClusterOptions, Clusters } from './clusters.ts'
import { type Bounds, type Coded, conditionsOf } from './conditions.ts'
import { readLine } from './copyText.ts'
import { type AskedList, FoundLists } from './foundLists.ts'
import { FoundPage } from './foundPage.ts'
import type { Kernel } from './kernel.ts'
import { pageKeysOf } from './pageKeys.ts'
import { RankTable } from './rankTable.ts'
import { RowCodes } from './rowCodes.ts'
import { rowTestOf } from './rowTest.ts'
import { Slots } from './slots.ts'
import type { Texts } from './textPieces.ts'
import { Waiting } from './waiting.ts'

/** So many rows that lie beside the columns are looked at for a list; with more of them codes cannot tell. */
const OTHERS_MAX = 1_000
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
  private readonly changes = new Waiting()
  private readonly lists: FoundLists
  private lastAsked: AskedList | null = null

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

  /** Rows with changes that wait for the one before them. */
  get waiting(): number {
    return this.changes.size
  }

  /** Of `performance.now()`: since when the change waits that has waited longest; null: none does. */
  get waitsSinceMs(): number | null {
    return this.changes.sinceMs
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

  /** Takes changes that the rows have not seen, each once, in whatever order they were published. @throws KernelFull */
  take(changes: readonly Change[]): void {
    for (const change of changes) {
      const id = (change.before ?? change.after)?.[0] as string
      this.changes.take(id, change, this.follow)
    }
  }

  /** Forgets the changes that wait; before the rows of a later snapshot are put. */
  forgetWaiting(): void {
    this.changes.forget()
  }

  /** How many rows match, those that wait included; null: codes cannot tell. */
  count(filters: readonly Filter[], bounds?: Bounds): number | null {
    const asked = this.asked(filters, bounds)
    if (asked === null) return null
    const others = this.countOthers(asked)
    return others === null ? null : this.lists.count(asked) + others
  }

  /** What these filters ask of codes, made once for a list's total and its page; null: codes cannot tell. */
  private asked(filters: readonly Filter[], bounds: Bounds | undefined): AskedList | null {
    if (this.lastAsked?.filters === filters && this.lastAsked.bounds === bounds) return this.lastAsked
    const conditions = conditionsOf(this.coded, filters, bounds)
    this.lastAsked = conditions && { filters, conditions, bounds }
    return this.lastAsked
  }

  /** What rows without codes and changes that wait add to a count; null: it cannot be known, or they are too many. */
  private countOthers({ filters, conditions }: AskedList): number | null {
    const others = this.odd.size + this.changes.size
    if (others === 0) return 0
    const test = others > OTHERS_MAX ? null : rowTestOf(this.coded, filters, conditions)
    if (!test) return null
    let sum = 0
    for (const [row, by] of this.others()) {
      const matches = test(row)
      if (matches === null) return null
      if (matches) sum += by
    }
    return sum
  }

  private *others(): Generator<[row: Row, by: number]> {
    for (const row of this.odd.values()) yield [row, 1]
    yield* this.changes.rows()
  }

  /**
   * The total, and the rows [offset, offset + size) in the order of `order(entity, sorts)`; null: codes cannot tell,
   * changes wait, or a row without codes matches.
   */
  page(
    filters: readonly Filter[],
    sorts: readonly Sort[],
    offset: number,
    size: number,
    bounds?: Bounds,
  ): FoundPage | null {
    const keys = pageKeysOf(this.coded, sorts)
    const asked = this.asked(filters, bounds)
    if (!keys || !asked || this.changes.size > 0 || this.countOthers(asked) !== 0) return null
    const { total, slots, rows } = this.lists.page(asked, keys, offset, size)
    return new FoundPage(total, slots, rows, this.rowCodes)
  }

  /** A row has changed, or the order of a text: nothing that was found of lists holds any more. */
  private forgetLists() {
    this.lists.forget()
    this.lastAsked = null
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

  /** Puts a change in where the row is as the change found it. */
  private readonly follow = (id: string, { before, after }: Change): boolean => {
    if (!this.isAs(id, before)) return false
    this.write(id, after)
    return true
  }

  private isAs(id: string, row: Row | null): boolean {
    const odd = this.odd.get(id)
    const slot = this.slots.find(Number(id))
    if (row === null) return !odd && slot < 0
    if (odd) return odd.every((value, place) => value === row[place])
    return slot >= 0 && this.rowCodes.look(row) && this.slots.isAs(slot, this.rowCodes.codes)
  }

  private write(id: string, row: Row | null) {
    this.forgetLists()
    const slot = this.slots.find(Number(id))
    const hasCodes = row !== null && this.rowCodes.code(row)
    if (slot >= 0 && !hasCodes) this.remove(slot, Number(id))
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

  private remove(slot: number, id: number) {
    this.slots.remove(slot, id)
    this.clusters.drop(slot)
  }
}
