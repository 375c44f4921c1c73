import { NO_TEXT } from './dictionary.ts'
import type { Kernel } from './kernel.ts'
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
