// Ranks of texts in the kernel's memory, which are released when no search and no grouping uses them any more.
import { NO_TEXT } from './dictionary.ts'
import { type Kernel, KernelFull } from './kernel.ts'
import { NO_CODE } from './segment.ts'

/** The ranks of texts by their codes, from 0 on, in the kernel's memory, too; there `NO_CODE` stands for no text. */
export class RankTable {
  readonly address: number

  /** @throws KernelFull */
  constructor(
    private readonly kernel: Kernel,
    private readonly ranks: Int32Array,
  ) {
    this.address = kernel.reserve(this.bytes)
    kernel.words.set(ranks, this.address >> 2)
    kernel.words[(this.address >> 2) + NO_TEXT] = NO_CODE
  }

  /** The greatest rank; code 0 is no text. */
  get greatest(): number {
    return this.ranks.length - 2
  }

  get bytes(): number {
    return 4 * this.ranks.length
  }

  /** Returns whether every text of codes up to, not including, `size` has a rank. */
  knows(size: number): boolean {
    return size <= this.ranks.length
  }

  /** Returns the rank of a text, also after the table is released: groups of a stream are sorted later. */
  rankOf(code: number): number {
    return this.ranks[code] as number
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

  /** Releases the marks of a search that has ended. */
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
