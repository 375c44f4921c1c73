import type { Mark, MarkReader } from '../share/marks.ts'

/** Most writes need a millisecond. On a busy machine they need more, but a count would make it busier still. */
const PATIENCE_MS = 250

/** Waits for writes of all processes, so that what an answer may have seen is told. */
export class OnTheirWay {
  /** Were not waited for to their end, and nobody else has to: they wait for a lock, or for a database that is away. */
  private slow: readonly Mark[] = []

  constructor(private readonly marks: MarkReader) {}

  isNone(tables: number): boolean {
    return this.marks.now(tables).length === 0
  }

  /** True once all writes to these tables that are on their way now are told; false: one of them takes too long. */
  async allTold(tables: number): Promise<boolean> {
    let left = this.marks.now(tables)
    if (left.length === 0) return true
    const untilMs = performance.now() + PATIENCE_MS
    this.slow = this.marks.still(this.slow)
    while (left.length > 0 && !left.some((mark) => this.isSlow(mark))) {
      if (performance.now() > untilMs) this.slow = [...this.slow, ...left]
      else await Bun.sleep(1)
      left = this.marks.still(left)
    }
    return left.length === 0
  }

  private isSlow({ place, word }: Mark): boolean {
    return this.slow.some((mark) => mark.place === place && mark.word === word)
  }
}
