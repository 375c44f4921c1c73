import type { Results } from '../results.ts'
import { goalsOf } from './goals.ts'
import { BEST_INDEXED, BEST_PEER, headOf } from './ratios.ts'
import { ratiosOf, type Section, SUBJECT, summarise } from './summary.ts'

/** The results; with each scenario Roster's ratios, by their heads on the page; and the goals. */
export function writeJson(results: Results): string {
  const heads = ratiosOf(results).map(headOf)
  const sections = summarise(results)
  const scenarios = sections.map((section) => ({ ...section.scenario, ratios: ratiosIn(section, heads) }))
  return `${JSON.stringify({ ...results, scenarios, goals: goalsOf(results, sections) }, null, 1)}\n`
}

function ratiosIn({ rows }: Section, heads: readonly string[]): Record<string, number> {
  const row = rows.find(({ target }) => target === SUBJECT)
  const named = heads.map((head, index) => [head, row?.ratios[index] ?? null] as const)
  const duels = [
    [BEST_PEER, row?.toBestPeer?.ratio ?? null] as const,
    [BEST_INDEXED, row?.toBestIndexed?.ratio ?? null] as const,
  ]
  const all = [...named, ...duels]
  return Object.fromEntries(all.filter((entry): entry is readonly [string, number] => entry[1] !== null))
}
