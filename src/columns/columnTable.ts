import type { Change } from '../changes/change.ts'
import type { Entity, Property } from '../model/entity.ts'
import { isText } from '../model/kinds.ts'
import { order } from '../model/order.ts'
import type { Filter, Sort } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { type Bounds, type Coded, type Condition, conditionsOf } from './conditions.ts'
import { readLine } from './copyText.ts'
import { FoundPage } from './foundPage.ts'
import type { Kernel } from './kernel.ts'
import { type Matches, matchesOf } from './matches.ts'
import { type Cutting, type PageKey, PageSearch } from './page.ts'
import { RankTable } from './rankTable.ts'
import { RepeatedLists } from './repeated.ts'
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
  /** Rows of which a value has no code. */
  private readonly odd = new Map<string, Row>()
  private readonly changes = new Waiting()
  /** What was matched last, if no row has changed since. */
  private matched: { readonly filters: readonly Filter[]; readonly matches: Matches } | null = null
  private readonly repeated = new RepeatedLists()
  /** The list that was asked for last. */
  private asked: ({ readonly filters: readonly Filter[] } & ReturnType<RepeatedLists['ask']>) | null = null

  /** `kernel`: whose memory it lies in; `release` gives it back. */
  constructor(
    private readonly entity: Entity,
    private readonly kernel: Kernel,
  ) {
    this.rowCodes = new RowCodes(entity)
    this.slots = new Slots(
      kernel,
      entity.properties.map(({ kind }) => isText(kind.name)),
    )
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

  /** Of the kernel's memory and of the program's own. */
  get bytes(): number {
    const ranks = this.coded.ranks.reduce((sum, table) => sum + (table?.bytes ?? 0), 0)
    return this.slots.bytes + this.rowCodes.bytes + ranks + this.odd.size * ODD_ROW_BYTES
  }

  /** A row of the load, of which ids ascend: `bytes[from, to)` is its line of COPY, without the end. @throws KernelFull */
  addLine(bytes: Uint8Array, from: number, to: number): void {
    this.forgetLists()
    if (this.rowCodes.codeLine(bytes, from, to)) this.slots.add(this.rowCodes.codes)
    else this.add(readLine(bytes, from, to))
  }

  /** A row that is not there. @throws KernelFull */
  add(row: Row): void {
    this.forgetLists()
    if (this.rowCodes.code(row)) this.slots.add(this.rowCodes.codes)
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
    const conditions = conditionsOf(this.coded, filters, bounds)
    if (!conditions) return null
    const others = this.countOthers(filters, conditions)
    if (others === null) return null
    const { list } = this.ask(filters)
    list.total ??= this.matchesOf(filters, conditions, bounds).total
    return list.total + others
  }

  /** A page is looked for right after its list was counted: of the same filters the bitmaps are there already. */
  private matchesOf(filters: readonly Filter[], conditions: readonly Condition[], bounds: Bounds | undefined): Matches {
    if (this.matched?.filters === filters) return this.matched.matches
    const matches = matchesOf(this.kernel, this.slots.segments, conditions)
    this.matched = bounds === undefined ? { filters, matches } : null
    return matches
  }

  /** What rows without codes and changes that wait add to a count; null: it cannot be known, or they are too many. */
  private countOthers(filters: readonly Filter[], conditions: readonly Condition[]): number | null {
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
    const keys = this.keysOf(sorts)
    const conditions = conditionsOf(this.coded, filters, bounds)
    if (!keys || !conditions || this.changes.size > 0 || this.countOthers(filters, conditions) !== 0) return null
    const { list, isRepeated } = this.ask(filters)
    const search = new PageSearch(this.kernel, this.slots, keys, conditions)
    let known: Matches | Cutting | null = isRepeated ? list.cutting(keys) : null
    if (known === null) {
      const matches = this.matchesOf(filters, conditions, bounds)
      const cutting = isRepeated ? search.firstCutting(matches) : null
      if (cutting !== null) list.keep(keys, cutting)
      known = cutting ?? matches
    }
    const found = search.find(known, offset, size)
    // Of a cutting, the bitmaps were made for the page.
    if (known !== this.matched?.matches) this.matched = null
    return new FoundPage(known.total, found, this.slots, this.rowCodes)
  }

  /** A page is looked for right after its list was counted, by the same filters. */
  private ask(filters: readonly Filter[]): ReturnType<RepeatedLists['ask']> {
    if (this.asked?.filters !== filters) this.asked = { filters, ...this.repeated.ask(filters) }
    return this.asked
  }

  /** A row has changed, or the order of a text: nothing that was found of lists holds any more. */
  private forgetLists() {
    this.matched = null
    this.asked = null
    this.repeated.forget()
  }

  /** Null: the order of a text is not known. */
  private keysOf(sorts: readonly Sort[]): PageKey[] | null {
    const keys: PageKey[] = []
    for (const { property, descending } of order(this.entity, sorts)) {
      const place = this.entity.properties.indexOf(property)
      const ranks = this.coded.ranks[place] ?? null
      const dictionary = this.rowCodes.dictionaries[place]
      if (dictionary && !ranks?.knows(dictionary.size)) return null
      keys.push({ place, isDescending: descending, ranks })
    }
    return keys
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

  release(): void {
    this.slots.release()
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
    if (slot >= 0 && !hasCodes) this.slots.remove(slot, Number(id))
    if (row !== null && !hasCodes) this.odd.set(id, row)
    else this.odd.delete(id)
    if (!hasCodes) return
    if (slot >= 0) this.slots.replace(slot, this.rowCodes.codes)
    else this.slots.add(this.rowCodes.codes)
  }
}
