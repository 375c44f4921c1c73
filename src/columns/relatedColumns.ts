// Columns of other rows, in addition to those of the table whose rows are grouped: their codes are looked up run by run, by
// references.
import type { ColumnStore } from './columnStore.ts'
import type { IdRange } from './idSet.ts'
import { type Reservations, roundedSize } from './kernel.ts'
import { RUN_SLOTS } from './selectedRows.ts'

/** The codes of a property by the ids of rows less the base, as of the moment at which they were copied. The last is no value. */
export interface CodesById {
  readonly range: IdRange
  readonly isWide: boolean
  /** One word for each code, or two. */
  readonly words: Int32Array
}

/** The places of a run's slots among the ids to which a reference leads. */
interface RunPlaces {
  /** The column of the reference. */
  readonly reference: number
  readonly range: IdRange
  readonly address: number
}

interface RelatedColumn {
  readonly places: RunPlaces
  readonly isWide: boolean
  /** The address of the codes by id. */
  readonly codes: number
  /** The address of the codes of a run's slots. */
  readonly address: number
}

export class RelatedColumns {
  private readonly places: RunPlaces[] = []
  private readonly columns: RelatedColumn[] = []
  /** Bytes of the copied codes. */
  bytes = 0

  /** `first`: the number of the first of them, after the columns of the table. */
  constructor(
    private readonly store: ColumnStore,
    private readonly memory: Reservations,
    private readonly first: number,
  ) {}

  /** Adds a column behind a reference, and returns its number. @throws KernelFull */
  add(reference: number, { range, isWide, words }: CodesById): number {
    const { memory } = this
    const codes = memory.reserve(roundedSize(words.byteLength))
    memory.kernel.words.set(words, codes >>> 2)
    this.bytes += words.byteLength
    const address = memory.reserve((isWide ? 8 : 4) * RUN_SLOTS)
    const column = { places: this.placesOf(reference, range), isWide, codes, address }
    return this.first + this.columns.push(column) - 1
  }

  private placesOf(reference: number, range: IdRange): RunPlaces {
    // All codes behind one reference are of one table.
    const known = this.places.find((one) => one.reference === reference)
    if (known) return known
    const places = { reference, range, address: this.memory.reserve(4 * RUN_SLOTS) }
    this.places.push(places)
    return places
  }

  /** Looks the codes of the slots `[first, first + count)` up. */
  lookUp(first: number, count: number): void {
    const { store } = this
    const { wasm } = store.kernel
    for (const { reference, range, address } of this.places) {
      const { base, bits } = range
      const codes = store.addressOf(reference)
      if (store.isWide(reference)) wasm.place64(codes + 8 * first, count, BigInt(base), bits, bits, address)
      // Greater ids do not fit into the column.
      else wasm.place32(codes + 4 * first, count, base, Math.max(0, Math.min(bits, 2 ** 31 - base)), bits, address)
    }
    for (const { places, isWide, codes, address } of this.columns) {
      if (isWide) wasm.lookUp64(places.address, count, codes, address)
      else wasm.lookUp32(places.address, count, codes, address)
    }
  }

  isWide(column: number): boolean {
    return this.columns[column - this.first].isWide
  }

  /** The address of the code of the first slot that was looked up. */
  addressOf(column: number): number {
    return this.columns[column - this.first].address
  }
}
