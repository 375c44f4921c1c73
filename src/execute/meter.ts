import { cellOf, count, countStatement, failureCells } from '../metrics/counts.ts'
import type { KindOfStatement } from '../metrics/declared.ts'

export interface MeterOptions {
  /** Kind in metrics; default: read or write, by the statement. */
  kind?: Extract<KindOfStatement, 'list' | 'longWrite'>
  /** Gets the text of each statement, in which no value stands, and how long it took. */
  onStatement?(text: string, ms: number): void
}

const RENEWALS = cellOf('renewals')

/** Counts the statements of a pool, and how long they take. */
export class Meter {
  constructor(private readonly options: MeterOptions) {}

  /** A statement that was handed to the driver at `startMs` has ended. */
  note(text: string, isWrite: boolean, startMs: number, isAnswered: boolean): void {
    const ms = performance.now() - startMs
    const { onStatement, kind = isWrite ? 'write' : 'read' } = this.options
    countStatement(kind, ms)
    if (!isAnswered) count(failureCells[kind])
    onStatement?.(text, ms)
  }

  noteRenewal(): void {
    count(RENEWALS)
  }
}
