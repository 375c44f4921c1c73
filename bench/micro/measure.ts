import { median } from '../results.ts'

/** One thing to measure. */
export interface Case {
  /** What it is done to or for. Cases of one name compare with each other, and the first of them is the measure. */
  readonly name: string
  readonly operation: string
  /** Does it once. `turn` counts up from 0, so that inputs can differ. */
  readonly work: (turn: number) => unknown
  /** `work` returns a promise, which is waited for. */
  readonly awaited?: true
}

export interface Cost {
  readonly name: string
  readonly operation: string
  /** CPU time of one operation, its share of garbage collection in it: the median of the rounds. */
  readonly ns: number
  /** Of the best round: what is left without noise, and mostly without garbage collection. */
  readonly bestNs: number
  /** `ns` as a multiple of the first case's of the same name. */
  readonly ratio: number
}

/**
 * What each case costs. All of them take turns, `rounds` times for about `roundMs` each, so that the machine's noise
 * falls on all alike; the first turn of each only warms up.
 */
export async function measure(cases: readonly Case[], roundMs: number, rounds: number): Promise<Cost[]> {
  const runs = cases.map((measured) => new Run(measured))
  for (const run of runs) await run.warmUp(roundMs)
  for (let round = 0; round < rounds; round++)
    for (const run of round % 2 === 0 ? runs : runs.toReversed()) await run.measure(roundMs)
  return runs.map(({ measured: { name, operation }, rounds }) => {
    const first = runs.find((run) => run.measured.name === name) as Run
    const ns = median(rounds)
    return { name, operation, ns, bestNs: Math.min(...rounds), ratio: ns / median(first.rounds) }
  })
}

class Run {
  /** Nanoseconds of an operation, of each round so far. */
  readonly rounds: number[] = []
  private turn = 0
  private operationNs = 0

  constructor(readonly measured: Case) {}

  /** Also learns about how many operations a round has. */
  async warmUp(roundMs: number) {
    const endNs = Bun.nanoseconds() + roundMs * 1e6
    for (let operations = 1; this.operationNs === 0 || Bun.nanoseconds() < endNs; operations *= 2)
      this.operationNs = await this.nsOf(operations)
  }

  async measure(roundMs: number) {
    this.operationNs = await this.nsOf(Math.max(1, Math.round((roundMs * 1e6) / this.operationNs)))
    this.rounds.push(this.operationNs)
  }

  /** CPU time of all threads, which other programs disturb less than a clock. Never 0, whatever its step. */
  private async nsOf(operations: number): Promise<number> {
    const { work, awaited } = this.measured
    const end = this.turn + operations
    const startNs = cpuNs()
    if (awaited) while (this.turn < end) keep(await work(this.turn++), this.turn)
    else while (this.turn < end) keep(work(this.turn++), this.turn)
    return Math.max(1, cpuNs() - startNs) / operations
  }
}

function cpuNs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1_000
}

/** The latest results, held so that no compiler can leave their making out. */
const kept = {
  results: new Array<unknown>(64).fill(null),
  characters: 0,
}

/** A text put together from parts is joined only when it is read, and a sender reads it, so that belongs to its cost. */
function keep(result: unknown, turn: number) {
  if (typeof result === 'string') kept.characters ^= result.charCodeAt(result.length - 1)
  kept.results[turn % kept.results.length] = result
}

export function printCosts(costs: readonly Cost[]) {
  console.table(
    costs.map(({ name, operation, ns, bestNs, ratio }) => ({
      name,
      operation,
      ns: Math.round(ns),
      'best ns': Math.round(bestNs),
      ratio: ratio.toFixed(2),
    })),
  )
}

/** Long enough for a stable median on a busy machine. */
export const ROUND_MS = 10
export const ROUNDS = 25
