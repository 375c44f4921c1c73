import type { OwnRow } from './rows.ts'

/** Time in ms after a fault in which the server may still be affected: statements take up to 5 s, and PostgreSQL recovers. */
const GRACE_MS = 10_000
const DIFFERENCES_MAX = 20

interface Answered {
  /** Method and status, such as `GET 200`. Status 0 means that the connection was lost. */
  readonly kind: string
  readonly sentMs: number
  readonly isExpected: boolean
  readonly what: string
}

/** Counts responses, and collects those that no fault explains. Times are those of `performance.now()`. */
export class Tally {
  readonly counts: Record<string, number> = {}
  readonly faults: Record<string, number> = {}
  /** Differences, one per line. */
  readonly differences: string[] = []
  /** Rows that no client reads any more, which are checked at the end. */
  readonly settled: OwnRow[] = []
  private readonly windows: { endMs: number }[] = []
  requests = 0

  count(what: string) {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  judge(difference: string | null) {
    if (difference !== null && this.differences.length < DIFFERENCES_MAX) this.differences.push(difference)
  }

  /** Counts a response. An unexpected or missing response needs a fault at that time, or shortly before, that explains it. */
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

  /** Records the end of a fault that has delayed requests, and may still delay some. */
  excuse(name: string) {
    this.faults[name] = (this.faults[name] ?? 0) + 1
    this.windows.push({ endMs: performance.now() + GRACE_MS })
  }
}
