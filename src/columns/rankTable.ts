// Ranks of texts in the kernel's memory, which is freed once the table and all groupings have released them.
import type { Kernel } from './kernel.ts'
import { NO_CODE } from './segment.ts'

/** The ranks of texts by their codes, from 0 on, in the kernel's memory, too, where `NO_CODE` leads to the first, which is it. */
export class RankTable {
  readonly address: number
  private users = 1

  /** @throws KernelFull */
  constructor(
    private readonly kernel: Kernel,
    readonly ranks: Int32Array,
  ) {
    this.address = kernel.reserve(this.bytes)
    kernel.words.set(ranks, this.address >> 2)
    kernel.words[this.address >> 2] = NO_CODE
  }

  /** The greatest rank; code 0 is no text. */
  get greatest(): number {
    return this.ranks.length - 2
  }

  get bytes(): number {
    return 4 * this.ranks.length
  }

  /** Returns the rank of a text, also after the table is released: groups of a stream are sorted later. NaN: no text. */
  rankOf(code: number): number {
    return this.ranks[code] ?? Number.NaN
  }

  /** Keeps its memory until one more `release`. */
  hold(): void {
    this.users++
  }

  release(): void {
    if (--this.users === 0) this.kernel.free(this.address, this.bytes)
  }
}
