import { median } from '../results.ts'

/** One thing to measure. */
export interface Case {
  /** What it is done to. Cases of one name are compared with the first of them. */
  readonly name: string
  readonly operation: string
  /** Does it once. `turn` counts up from 0, so that inputs can differ. */
  readonly work: (turn: number) => unknown
}

export interface Cost {
  readonly name: string
  readonly operation: string
  /** CPU time of one operation with its share of garbage collection: the median of the rounds. */
  readonly ns: number
  /** `ns` as a multiple of the first case's of the same name. */
  readonly ratio: number
}

/** Long enough for a stable median on a busy machine. */
const ROUND_MS = 10
const ROUNDS = 25

/** What each case costs. All cases take turns, `rounds` times for about `roundMs` each, after one turn that warms up. */
export function measure(cases: readonly Case[], roundMs = ROUND_MS, rounds = ROUNDS): Cost[] {
  const runs = cases.map((measured) => new Run(measured))
  for (const run of runs) run.warmUp(roundMs)
  for (let round = 0; round < rounds; round++) for (const run of round % 2 === 0 ? runs : runs.toReversed()) run.measure(roundMs)
  return runs.map(({ measured: { name, operation }, rounds }) => {
    const first = runs.find((run) => run.measured.name === name) as Run
    const ns = median(rounds)
    return { name, operation, ns, ratio: ns / median(first.rounds) }
  })
}

class Run {
  /** Nanoseconds of an operation in each round. */
  readonly rounds: number[] = []
  private turn = 0
  private operationNs = 0

  constructor(readonly measured: Case) {}

  /** Also learns about how many operations a round has. */
  warmUp(roundMs: number) {
    const endNs = Bun.nanoseconds() + roundMs * 1e6
    for (let operations = 1; this.operationNs === 0 || Bun.nanoseconds() < endNs; operations *= 2)
      this.operationNs = this.nsOf(operations)
  }

  measure(roundMs: number) {
    this.operationNs = this.nsOf(Math.max(1, Math.round((roundMs * 1e6) / this.operationNs)))
    this.rounds.push(this.operationNs)
  }

  /** CPU time of all threads, which other programs disturb less than a clock. Never 0. */
  private nsOf(operations: number): number {
    const end = this.turn + operations
    const startNs = cpuNs()
    while (this.turn < end) kept[this.turn % kept.length] = this.measured.work(this.turn++)
    return Math.max(1, cpuNs() - startNs) / operations
  }
}

function cpuNs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1_000
}

/** The latest results, held so that no compiler can leave out what makes them. */
const kept = new Array<unknown>(64).fill(null)

export function printCosts(costs: readonly Cost[]) {
  const rows = costs.map(({ ns, ratio, ...named }) => ({ ...named, 'CPU ns': Math.round(ns), ratio: ratio.toFixed(2) }))
  console.table(rows)
}
