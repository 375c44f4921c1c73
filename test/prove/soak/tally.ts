import type { OwnRow } from './rows.ts'

/** What the server may still be occupied with when a fault is over: statements have 5 s, and PostgreSQL recovers. */
const GRACE_MS = 10_000
const DIFFERENCES_MAX = 20

interface Answered {
  /** `GET 200`; status 0: the connection was lost. */
  readonly kind: string
  readonly sentMs: number
  readonly isExpected: boolean
  readonly what: string
}

/** Counts what happens, and finds what nothing explains. Times are those of `performance.now()`. */
export class Tally {
  readonly counts: Record<string, number> = {}
  readonly faults: Record<string, number> = {}
  /** Each in a line. */
  readonly differences: string[] = []
  /** Rows that no client looks at any more. */
  readonly settled: OwnRow[] = []
  private readonly windows: { endMs: number }[] = []
  requests = 0

  count(what: string) {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  judge(difference: string | null) {
    if (difference !== null && this.differences.length < DIFFERENCES_MAX) this.differences.push(difference)
  }

  /** An answer that is not what was asked for, or none, needs a fault meanwhile or a moment before. */
  answered({ kind, sentMs, isExpected, what }: Answered) {
    this.requests++
    this.count(kind)
    if (isExpected) return
    const isExplained = /( 0| 503 \w+)$/.test(kind) && this.windows.some(({ endMs }) => sentMs < endMs)
    if (!isExplained) this.judge(`unexplained: ${kind} to ${what}`)
    else this.count('explained by a fault')
  }

  async during(name: string, fault: () => Promise<unknown>): Promise<void> {
    this.faults[name] = (this.faults[name] ?? 0) + 1
    const window = { endMs: Number.POSITIVE_INFINITY }
    this.windows.push(window)
    try {
      await fault()
    } finally {
      window.endMs = performance.now() + GRACE_MS
    }
  }

  /** Something that is over has held up requests, and may still. */
  excuse(name: string) {
    this.faults[name] = (this.faults[name] ?? 0) + 1
    this.windows.push({ endMs: performance.now() + GRACE_MS })
  }
}
