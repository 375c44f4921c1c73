import { html, type Markup } from './markup.ts'

/** The figures behind a plot, folded away. The first cell of each row heads it. */
export function table(summary: string, heads: readonly string[], rows: readonly (readonly Markup[])[]): Markup {
  return html`<details><summary>${summary}</summary><div class="scroll" role="region" aria-label="${summary}" tabindex="0"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row">${first ?? html``}</th>${others.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table></div></details>`
}
