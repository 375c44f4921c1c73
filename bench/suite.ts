import { status } from './children.ts'
import { faultOf, type Round, sampleOf } from './load.ts'
import type { ScenarioResult, TargetResult } from './results.ts'
import { isWriting, type Scenario } from './scenarios.ts'
import type { Measured, Target } from './targets.ts'

export interface Plan {
  readonly connections: number
  readonly seconds: number
  readonly rounds: number
  /** Seed of the random values. Default: 0. */
  readonly seed?: number
}

/**
 * Maximum lead-in of a first round, and of a round that may load a table. In it, statements are prepared and code is compiled.
 */
const WARM_SECONDS_MAX = 3
/**
 * Maximum wait for a table to load before such a round, in seconds and as a multiple of the round's duration. The smaller one
 * counts.
 */
const LOADING_SECONDS_MAX = 30
const LOADING_OF_ROUND = 8
const LEAD_IN_SECONDS = 0.15
const SEEDS = 1_000_000
/** Maximum number of rounds of a scenario, and the distance between the first seeds of two scenarios. */
export const ROUNDS_MAX = 1_000

/** Returns the seed for a round of a scenario. Each round has another seed, so that no new list is requested twice. */
function seedOf(seed: number, name: string, round: number): number {
  return ((seed + Bun.hash.crc32(name)) % SEEDS) * ROUNDS_MAX + round
}

/**
 * Measures all targets in turns: A B C, C B A, A B C. Each target begins with the same rows. Stops targets that run only for this
 * scenario.
 */
export async function runScenario(scenario: Scenario, targets: readonly Target[], plan: Plan): Promise<ScenarioResult> {
  const results = new Map(targets.map(({ name }) => [name, { target: name, rounds: [], void: null } as TargetResult]))
  for (let number = 1; number <= plan.rounds; number++) {
    for (const target of number % 2 === 1 ? targets : targets.toReversed()) {
      status(`${scenario.name}: ${target.name}, round ${number} of ${plan.rounds}`)
      const before = results.get(target.name) as TargetResult
      const { connections, seconds } = plan
      const seed = seedOf(plan.seed ?? 0, scenario.name, number)
      const round = { connections, seconds, seed, ...leadInOf(scenario, plan, number) }
      results.set(target.name, await addRound(before, target, round, number))
      if (isWriting(scenario)) await target.restore()
    }
  }
  for (const target of targets) await target.stop?.()
  status(null)
  return { name: scenario.name, title: scenario.title, targets: [...results.values()] }
}

/**
 * Returns the lead-in of a round. A table may be loaded in the first round, in each round with new requests, and in each round
 * with background writes, because writes are undone between rounds.
 */
function leadInOf({ isNew, background }: Scenario, { seconds }: Plan, round: number) {
  if (round > 1 && !isNew && !background) return { loadingSeconds: 0, leadInSeconds: LEAD_IN_SECONDS }
  const loadingSeconds = Math.min(LOADING_SECONDS_MAX, LOADING_OF_ROUND * seconds)
  return { loadingSeconds, leadInSeconds: Math.min(WARM_SECONDS_MAX, seconds) }
}

async function addRound(result: TargetResult, target: Target, round: Round, number: number): Promise<TargetResult> {
  try {
    const measured = await target.measure(round)
    const { load, cost, found = {}, besidePerSecond } = measured
    const sample = {
      ...sampleOf(load, cost),
      ...(Object.keys(found).length > 0 ? { found } : {}),
      ...(besidePerSecond === null ? {} : { besidePerSecond: Number(besidePerSecond.toFixed(1)) }),
    }
    const rounds = [...result.rounds, sample]
    return { ...result, rounds, void: result.void ?? reasonOf(measured, number) }
  } catch (error) {
    return { ...result, void: result.void ?? `round ${number}: ${(error as Error).message}` }
  }
}

function reasonOf({ load, fault }: Measured, round: number): string | null {
  const reason = faultOf(load) ?? (fault && `beside the load: ${fault}`)
  return reason && `round ${round}: ${reason}`
}
