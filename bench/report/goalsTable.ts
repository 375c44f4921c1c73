import { ratio } from './figure.ts'
import type { Goal } from './goals.ts'
import { html, type Markup } from './markup.ts'

/** The goals of which a run tells; nothing where it tells of none. */
export function goalsTable(goals: readonly Goal[]): Markup {
  if (goals.length === 0) return html``
  const met = goals.filter(({ isMet }) => isMet).length
  return html`<section><h2>Goals</h2>
<p>They are for 1,000,000 absences and a run of several rounds. Met: ${String(met)} of ${String(goals.length)}.</p>
<div class="scroll" role="region" aria-label="Goals" tabindex="0"><table>
<thead><tr>${['scenario or curve', 'ratio', 'wanted', 'found', ''].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${goals.map(line)}</tbody></table></div></section>
`
}

function line({ of, ratio: name, bound, wanted, found, isMet }: Goal): Markup {
  return html`<tr><th scope="row">${of}</th><td>${name}</td><td>${bound} ${String(wanted)}</td><td>${ratio(found)}</td><td class="${isMet ? 'ahead' : 'behind'}">${isMet ? '✓ met' : '✗ missed'}</td></tr>
`
}
