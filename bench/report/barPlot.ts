import { html, type Markup } from './markup.ts'
import { linearScale, type Scale } from './scale.ts'

interface Bar {
  /** Stands over the bar: its name and its figures. */
  readonly label: string
  readonly className: string
  /** From left to right: the first filled, the second outlined. */
  readonly parts: readonly number[]
  /** From the least to the greatest of the rounds. */
  readonly whisker?: readonly [from: number, to: number]
}

export interface BarPlot {
  /** Unique on the page. */
  readonly id: string
  readonly title: string
  readonly description: string
  /** What the axis counts, with its unit. */
  readonly axis: string
  readonly bars: readonly Bar[]
}

const WIDTH = 440
const [LEFT, RIGHT, TOP] = [8, WIDTH - 20, 6]
const ROW = 36
const THICKNESS = 13

/** Bars that lie, each under its label, so that names of any length fit a phone. */
export function barPlot({ id, title, description, axis, bars }: BarPlot): Markup {
  const scale = linearScale(bars.flatMap(({ parts, whisker }) => [sum(parts), ...(whisker ?? [])]))
  const bottom = TOP + bars.length * ROW + 4
  return html`<svg viewBox="0 0 ${WIDTH} ${bottom + 40}" role="img" aria-labelledby="${id}-t ${id}-d">
<title id="${id}-t">${title}</title><desc id="${id}-d">${description}</desc>
<g class="ticks">${scale.ticks.map(({ value, label }) => {
    const at = across(scale, value)
    return html`<path class="grid" d="M${at} ${TOP}V${bottom}" /><text x="${at}" y="${bottom + 16}" text-anchor="middle">${label}</text>`
  })}</g>
<text class="axis" x="${(LEFT + RIGHT) / 2}" y="${bottom + 34}" text-anchor="middle">${axis}</text>
${bars.map((bar, index) => row(bar, TOP + index * ROW, scale))}
</svg>`
}

function row({ label, className, parts, whisker }: Bar, top: number, scale: Scale): Markup {
  const y = top + ROW - THICKNESS - 4
  const pieces = parts.map((_, index) => {
    const from = across(scale, sum(parts.slice(0, index)))
    const width = across(scale, sum(parts.slice(0, index + 1))) - from
    return html`<rect class="${index === 0 ? 'fill' : 'outline'} ${className}" x="${from}" y="${y}" width="${width}" height="${THICKNESS}" />`
  })
  const spread = whisker ? [whiskerAt(across(scale, whisker[0]), across(scale, whisker[1]), y + THICKNESS / 2)] : []
  return html`<text class="name" x="${LEFT}" y="${y - 5}">${label}</text>${pieces}${spread}`
}

function whiskerAt(from: number, to: number, y: number): Markup {
  return html`<path class="whisker" d="M${from} ${y - 4}v8M${from} ${y}H${to}M${to} ${y - 4}v8" />`
}

function across(scale: Scale, value: number): number {
  return LEFT + (scale.place(value) ?? 0) * (RIGHT - LEFT)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
