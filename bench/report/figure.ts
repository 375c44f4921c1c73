import { html, type Markup } from './markup.ts'

/** What stands where nothing was measured. */
const ABSENT = html`<span class="absent" title="not measured">–</span>`

const digits = [0, 1, 2, 3].map(
  (count) => new Intl.NumberFormat('en-US', { minimumFractionDigits: count, maximumFractionDigits: count }),
)

/** Three digits that count, or all before the point: `12,345`, `123`, `12.3`, `1.23`, `0.123`. */
export function figureText(value: number): string {
  const size = Math.abs(value)
  const count = size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3
  return (digits[count] as Intl.NumberFormat).format(value)
}

/** For a tick: `250`, `0.5`, `10k`, `2.5M`. */
export function tickText(value: number): string {
  if (Math.abs(value) >= 1e6) return `${short(value / 1e6)}M`
  if (Math.abs(value) >= 1e4) return `${short(value / 1e3)}k`
  return short(value)
}

/** The figure, with the whole number in its `value`; a dash for what was not measured. */
export function figure(value: number | null): Markup {
  if (value === null || !Number.isFinite(value)) return ABSENT
  return html`<data value="${String(value)}">${figureText(value)}</data>`
}

/** With two digits after the point, since ratios are compared with 1. */
export function ratio(value: number | null): Markup {
  if (value === null || !Number.isFinite(value)) return ABSENT
  return html`<data value="${String(value)}">${(digits[2] as Intl.NumberFormat).format(value)}</data>`
}

function short(value: number): string {
  return String(Number(value.toPrecision(6)))
}

/** The figures behind a plot, folded away. The first cell of each row heads it. */
export function table(summary: string, heads: readonly string[], rows: readonly (readonly Markup[])[]): Markup {
  return html`<details><summary>${summary}</summary><div class="scroll" role="region" aria-label="${summary}" tabindex="0"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row">${first ?? html``}</th>${others.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table></div></details>`
}
