import type { Results } from '../results.ts'
import { ratio as ratioFigure } from './figure.ts'
import { html, type Markup } from './markup.ts'
import { BEST_INDEXED, BEST_PEER, headOf } from './ratios.ts'
import { ratiosOf, type Section, SUBJECT } from './summary.ts'

/** What a list with a total should cost, and what it did in this run. */
export interface Goal {
  /** The scenario, or the curve. */
  readonly of: string
  /** The ratio that is judged. */
  readonly ratio: string
  readonly bound: 'at least' | 'at most'
  readonly wanted: number
  readonly found: number
  readonly isMet: boolean
}

type Wanted = Pick<Goal, 'of' | 'ratio' | 'bound' | 'wanted'>

const atLeast = (wanted: number, ratio: string, ...names: string[]): Wanted[] =>
  names.map((of) => ({ of, ratio, bound: 'at least', wanted }))
const atMost = (wanted: number, ratio: string, ...names: string[]): Wanted[] =>
  names.map((of) => ({ of, ratio, bound: 'at most', wanted }))

const NO_CACHE = '× no-cache'
const ROWS = 'first page: fewest ÷ most rows'
const DEPTH = 'page 20,000 ÷ page 1'

const NEW_LISTS = ['new-lists', 'new-conditions', 'new-lists-under-writes', 'new-conditions-under-writes']

/** For 1,000,000 absences. */
const WANTED: readonly Wanted[] = [
  ...atLeast(20, BEST_PEER, ...NEW_LISTS),
  ...atLeast(6, BEST_INDEXED, ...NEW_LISTS),
  ...atLeast(100, BEST_PEER, 'new-lists-random-pages'),
  ...atLeast(20, BEST_PEER, 'filter-sort'),
  ...atLeast(100, BEST_PEER, 'page-2000', 'page-20000', 'page-2000-sorted', 'page-20000-sorted'),
  ...atLeast(300, BEST_PEER, 'last-page'),
  ...atLeast(10, BEST_PEER, 'lists-under-writes'),
  ...atLeast(50, BEST_PEER, 'deep-pages-under-writes'),
  ...atMost(1.2, 'p50 × uncounted', 'first-page', 'filter-sort', 'range-sort', 'lists-under-writes'),
  ...atMost(1.6, 'server CPU × constant', 'first-page', 'filter-sort', 'page-20000', 'last-page'),
  ...atMost(1.1, 'server CPU × no-cache', 'patch-absence', 'patch-absence-cached'),
  ...atMost(1.2, ROWS, 'rows'),
  ...atMost(2, DEPTH, 'depth'),
]

/** Nothing may lose by the list cache; what is of no list least of all. */
const NO_CACHE_LEAST = 0.95

/** Those of which this run tells. */
export function goalsOf(results: Results, sections: readonly Section[]): Goal[] {
  const heads = ratiosOf(results).map(headOf)
  const everywhere = atLeast(NO_CACHE_LEAST, NO_CACHE, ...sections.map(({ scenario }) => scenario.name))
  return [...WANTED, ...everywhere].flatMap((wanted) => {
    const found = (curveRatios[wanted.ratio] ?? sectionRatio)(wanted, { results, sections, heads })
    if (found === null || !Number.isFinite(found)) return []
    return [{ ...wanted, found, isMet: wanted.bound === 'at least' ? found >= wanted.wanted : found <= wanted.wanted }]
  })
}

interface Context {
  readonly results: Results
  readonly sections: readonly Section[]
  readonly heads: readonly string[]
}

function sectionRatio({ of, ratio }: Wanted, { sections, heads }: Context): number | null {
  const rows = sections.find(({ scenario }) => scenario.name === of)?.rows
  const row = rows?.find(({ target }) => target === SUBJECT)
  if (ratio === BEST_PEER) return row?.toBestPeer?.ratio ?? null
  if (ratio === BEST_INDEXED) return row?.toBestIndexed?.ratio ?? null
  return row?.ratios[heads.indexOf(ratio)] ?? null
}

/** Of a curve; the others are of a scenario. */
const curveRatios: Readonly<Record<string, typeof sectionRatio>> = {
  [ROWS]: ({ of }, { results }) => {
    const points = pointsOf(results, of, 'first page')
    return points.length < 2 ? null : (points[0]?.[1] ?? 0) / (points.at(-1)?.[1] ?? 0)
  },
  [DEPTH]: ({ of }, { results }) => {
    const at = new Map(pointsOf(results, of, SUBJECT))
    const [first, deep] = [at.get(1), at.get(20_000)]
    return first === undefined || deep === undefined ? null : deep / first
  },
}

function pointsOf({ curves }: Results, name: string, label: string) {
  return curves.find((curve) => curve.name === name)?.series.find((series) => series.label === label)?.points ?? []
}

/** The goals of which a run tells; nothing where it tells of none. */
export function goalsTable(goals: readonly Goal[]): Markup {
  if (goals.length === 0) return html``
  const met = goals.filter(({ isMet }) => isMet).length
  return html`<section><h2>Goals</h2>
<p>They are for 1,000,000 absences and a run of several rounds. Met: ${String(met)} of ${String(goals.length)}.</p>
<div class="scroll" role="region" aria-label="Goals" tabindex="0"><table>
<thead><tr>${['scenario or curve', 'ratio', 'wanted', 'found', ''].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${goals.map(goalLine)}</tbody></table></div></section>
`
}

function goalLine({ of, ratio, bound, wanted, found, isMet }: Goal): Markup {
  return html`<tr><th scope="row">${of}</th><td>${ratio}</td><td>${bound} ${String(wanted)}</td><td>${ratioFigure(found)}</td><td class="${isMet ? 'ahead' : 'behind'}">${isMet ? '✓ met' : '✗ missed'}</td></tr>
`
}
