import { NO_TEXT } from './dictionary.ts'
import { type Kernel, KernelFull } from './kernel.ts'
import { NO_CODE } from './segment.ts'

/** The rank of a text that has none. */
const NO_RANK = NO_CODE

/** The ranks of texts by their codes, in the kernel's memory; of no text, `NO_RANK`. */
export class RankTable {
  readonly address: number
  readonly least: number
  readonly greatest: number
  private readonly size: number

  /** @throws KernelFull */
  constructor(
    private readonly kernel: Kernel,
    ranks: Int32Array,
  ) {
    this.size = Math.max(ranks.length, 1)
    this.address = kernel.reserve(4 * this.size)
    kernel.words.set(ranks, this.address >> 2)
    kernel.words[(this.address >> 2) + NO_TEXT] = NO_RANK
    let [least, greatest] = [Infinity, -Infinity]
    for (let code = NO_TEXT + 1; code < ranks.length; code++) {
      const rank = ranks[code] as number
      if (rank < least) least = rank
      if (rank > greatest) greatest = rank
    }
    this.least = least
    this.greatest = greatest
  }

  get bytes(): number {
    return 4 * this.size
  }

  /** Returns whether every text of codes up to, not including, `size` has a rank. */
  knows(size: number): boolean {
    return size <= this.size
  }

  rankOf(code: number): number {
    return this.kernel.words[(this.address >> 2) + code] as number
  }

  release(): void {
    this.kernel.free(this.address, this.bytes)
  }
}

/** Marks of texts for one search, and ranks that the table has replaced while groupings may still have them. */
export class SearchRanks {
  private marks: RankTable[] = []
  private replaced: RankTable[] = []
  private groupings = 0

  constructor(private readonly kernel: Kernel) {}

  /** Ranks of 1 for these codes below `size`, and of 0 for the others, until `forgetMarks`; null: there is no memory. */
  mark(codes: readonly number[], size: number): RankTable | null {
    const marks = new Int32Array(size)
    for (const code of codes) marks[code] = 1
    try {
      const table = new RankTable(this.kernel, marks)
      this.marks.push(table)
      return table
    } catch (error) {
      if (error instanceof KernelFull) return null
      throw error
    }
  }

  /** Ends a search. */
  forgetMarks(): void {
    for (const table of this.marks) table.release()
    this.marks = []
  }

  /** Releases ranks that the table has no more, once no grouping has them. */
  release(table: RankTable): void {
    if (this.groupings > 0) this.replaced.push(table)
    else table.release()
  }

  /** Keeps the marks of the search, and the table's ranks, for a grouping. Returns what ends that. */
  hold(): () => void {
    const { marks } = this
    this.marks = []
    this.groupings++
    return () => {
      for (const table of marks) table.release()
      if (--this.groupings > 0) return
      for (const table of this.replaced) table.release()
      this.replaced = []
    }
  }
}
