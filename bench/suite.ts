import type { ScenarioResult, TargetResult } from './results.ts'
import { faultOf, sampleOf } from './sample.ts'
import { isWriting, type Scenario } from './scenarios.ts'
import type { Measured, Target } from './targets.ts'

export interface Plan {
  readonly connections: number
  readonly seconds: number
  readonly rounds: number
  /** Of the random values. Default: 0. */
  readonly seed?: number
  /** Sets back what a round of the target has written. */
  restore(target: Pick<Target, 'isIndexed'>): Promise<void>
  /** Makes servers give up what they have in memory. */
  forget(): Promise<void>
  /** Called before each round of a target. */
  onRound?(target: string, round: number): void
}

/**
 * The first round of a target begins with more that is not counted: statements are prepared, code is compiled. Each of new lists
 * begins with most: a table may have to be read whole beside the load; and while others have their turn, a program that rests
 * for a minute gives its compiled code up, which takes seconds to be made again.
 */
const WARM_SECONDS_MAX = 1
const READING_SECONDS_MAX = 6
const READING_OF_ROUND = 2.4
const LEAD_IN_SECONDS = 0.15
const SEEDS = 1_000_000
const ROUNDS_MAX = 1_000

/**
 * The seed of one round of what is named: another one than that of any other round, and of what has another name, so that
 * two scenarios that ask for new lists do not ask for the same ones.
 */
export function seedOf(seed: number, name: string, round: number): number {
  return ((seed + Bun.hash.crc32(name)) % SEEDS) * ROUNDS_MAX + round
}

/**
 * Measures all targets, in turns: A B C, C B A, A B C. So what the machine does meanwhile meets all of them, and none
 * is always the first. Every target finds the same rows.
 */
export async function runScenario(scenario: Scenario, targets: readonly Target[], plan: Plan): Promise<ScenarioResult> {
  const results = new Map(targets.map(({ name }) => [name, { target: name, rounds: [], void: null } as TargetResult]))
  for (let round = 1; round <= plan.rounds; round++) {
    for (const target of round % 2 === 1 ? targets : targets.toReversed()) {
      plan.onRound?.(target.name, round)
      if (scenario.isCold && target.isStored !== false) await plan.forget()
      const before = results.get(target.name) as TargetResult
      const load = {
        ...plan,
        connections: Math.min(plan.connections, scenario.connectionsMax ?? plan.connections),
        seed: seedOf(plan.seed ?? 0, scenario.name, round),
        leadInSeconds: leadInOf(scenario, plan, round),
      }
      results.set(target.name, await addRound(before, target, load, round))
      if (isWriting(scenario) && target.isStored !== false) await plan.restore(target)
    }
  }
  return { name: scenario.name, title: scenario.title, targets: [...results.values()] }
}

function leadInOf({ isNew = false }: Scenario, { seconds }: Plan, round: number): number {
  if (isNew) return Math.min(READING_SECONDS_MAX, READING_OF_ROUND * seconds)
  return round === 1 ? Math.min(WARM_SECONDS_MAX, seconds / 2) : LEAD_IN_SECONDS
}

type LoadOfRound = Pick<Plan, 'connections' | 'seconds'> & { readonly seed: number; readonly leadInSeconds: number }

async function addRound(
  result: TargetResult,
  target: Target,
  { connections, seconds, seed, leadInSeconds }: LoadOfRound,
  round: number,
): Promise<TargetResult> {
  try {
    const measured = await target.measure({ connections, seconds, leadInSeconds, seed })
    const rounds = [...result.rounds, sampleOf(measured.load, measured.cost)]
    return { ...result, rounds, void: result.void ?? reasonOf(measured, round) }
  } catch (error) {
    return { ...result, void: result.void ?? `round ${round}: ${(error as Error).message}` }
  }
}

function reasonOf({ load, background }: Measured, round: number): string | null {
  const fault = faultOf(load)
  if (fault) return `round ${round}: ${fault}`
  const beside = background && faultOf(background)
  return beside ? `round ${round}, beside the load: ${beside}` : null
}
