import { MARKS_MAX, type Places, placesOf } from './changeRegion.ts'
import type { Region } from './region.ts'

const { load, store } = Atomics

/** Tables have bits in a mark; those that share one are taken for each other, which costs time alone. */
const TABLE_BITS = 16
const TURN_MAX = 0x7fff

/** A write that was on its way: its place, and what stood there. */
export interface Mark {
  readonly place: number
  readonly word: number
}

/** The bit of the table with this number. */
export function tableBit(table: number): number {
  return 1 << (table % TABLE_BITS)
}

/** Says of each write of this process, before it is sent, that it is on its way. */
export class MarkWriter {
  private readonly first: number
  private turn = 0
  /** So many writes have no mark of their own: the last place is theirs together. */
  private crowd = 0

  constructor(
    private readonly region: Region,
    writer: number,
  ) {
    this.first = placesOf(region).marks + writer * MARKS_MAX
  }

  /** `tables`: bits of all tables whose rows it may change. To be called: when the write is told, or did nothing. */
  begin(tables: number): () => void {
    const { words } = this.region
    const last = this.first + MARKS_MAX - 1
    this.turn = (this.turn + 1) & TURN_MAX
    const word = (this.turn << TABLE_BITS) | tables
    for (let place = this.first; place < last; place++) {
      if (load(words, place) !== 0) continue
      store(words, place, word)
      return () => void store(words, place, 0)
    }
    this.crowd++
    store(words, last, (1 << TABLE_BITS) - 1)
    return () => void (--this.crowd === 0 && store(words, last, 0))
  }
}

/** Sees which writes of all processes are on their way. */
export class MarkReader {
  private readonly places: Places

  constructor(private readonly region: Region) {
    this.places = placesOf(region)
  }

  /** The writes on their way that may change rows of these tables. */
  now(tables: number): Mark[] {
    const { words } = this.region
    const { marks, rings } = this.places
    const found: Mark[] = []
    for (let place = marks; place < rings; place++) {
      const word = load(words, place)
      if ((word & tables) !== 0) found.push({ place, word })
    }
    return found
  }

  /** Those of them that have not ended. */
  still(marks: readonly Mark[]): Mark[] {
    return marks.filter(({ place, word }) => load(this.region.words, place) === word)
  }
}
