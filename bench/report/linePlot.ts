import { figureText } from './figure.ts'
import { html, type Markup } from './markup.ts'
import type { Scale } from './scale.ts'
import { mark, type SeriesStyle } from './seriesStyle.ts'

interface LineSeries {
  readonly label: string
  readonly style: SeriesStyle
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface LinePlot {
  /** Unique on the page. */
  readonly id: string
  readonly title: string
  readonly description: string
  readonly x: { readonly label: string; readonly scale: Scale }
  readonly y: { readonly label: string; readonly scale: Scale }
  readonly series: readonly LineSeries[]
}

const WIDTH = 440
const HEIGHT = 270
const [LEFT, RIGHT, TOP, BOTTOM] = [50, WIDTH - 16, 26, HEIGHT - 42]
const FLAGS_MAX = 10

/** A line for each series, with marks on some of its points. Points that an axis cannot show are left out. */
export function linePlot({ id, title, description, x, y, series }: LinePlot): Markup {
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${id}-t ${id}-d">
<title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
${grid(x.scale, y.scale)}
<text class="axis" x="4" y="14">${axisLabel(y)}</text>
<text class="axis" x="${(LEFT + RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${axisLabel(x)}</text>
${series.map((one) => line(one, x.scale, y.scale))}
</svg>`
}

function axisLabel({ label, scale }: LinePlot['x']): string {
  return scale.isLogarithmic ? `${label} (log scale)` : label
}

function grid(x: Scale, y: Scale): Markup {
  const columns = x.ticks.map(({ value, label }) => {
    const at = across(x, value) ?? LEFT
    return html`<path class="grid" d="M${at} ${TOP}V${BOTTOM}" /><text x="${at}" y="${BOTTOM + 17}" text-anchor="middle">${label}</text>`
  })
  const rows = y.ticks.map(({ value, label }) => {
    const at = up(y, value) ?? BOTTOM
    return html`<path class="grid" d="M${LEFT} ${at}H${RIGHT}" /><text x="${LEFT - 6}" y="${at + 4}" text-anchor="end">${label}</text>`
  })
  return html`<g class="ticks">${columns}${rows}</g>`
}

function line({ label, style, points }: LineSeries, x: Scale, y: Scale): Markup {
  const placed = points.flatMap(([valueX, valueY]) => {
    const [atX, atY] = [across(x, valueX), up(y, valueY)]
    if (atX === null || atY === null) return []
    return [{ atX, atY, title: `${label}: ${figureText(valueX)}, ${figureText(valueY)}` }]
  })
  if (placed.length === 0) return html``
  const every = Math.ceil(placed.length / FLAGS_MAX)
  const marked = placed.filter((_, index) => index % every === 0 || index === placed.length - 1)
  const path = placed.map(({ atX, atY }) => html`L${atX} ${atY}`)
  return html`<path class="line ${style.className}" stroke-dasharray="${style.dash}" d="M${placed[0]?.atX ?? 0} ${placed[0]?.atY ?? 0}${path}" />
${marked.map(({ atX, atY, title }) => mark(style, atX, atY, title))}`
}

function across(scale: Scale, value: number): number | null {
  const at = scale.place(value)
  return at === null ? null : LEFT + at * (RIGHT - LEFT)
}

function up(scale: Scale, value: number): number | null {
  const at = scale.place(value)
  return at === null ? null : BOTTOM - at * (BOTTOM - TOP)
}
