import type { Curve } from '../results.ts'
import { figureText, type Spread } from './summary.ts'

interface DotPlot {
  /** Unit of the axis. */
  readonly axis: string
  readonly groups: readonly { readonly title: string; readonly dots: readonly (Spread & { readonly name: string })[] }[]
}

const WIDTH = 720
const [LEFT, RIGHT] = [170, WIDTH - 90]
const ROW = 20
const HEIGHT = 300
/** Colors that are readable on white, also when printed in gray. */
const COLOURS = ['#0b6e4f', '#5f6b7a', '#b3541e', '#2f5fb3', '#8a3fa0', '#8a7a00', '#a0303f', '#3f8f8f', '#404040', '#9a6a4a']

/** Draws a dot for the median of each target, with a line from the least to the greatest figure, on a logarithmic axis. */
export function dotPlot({ axis, groups }: DotPlot): string {
  const values = groups.flatMap(({ dots }) => dots.flatMap(({ least, greatest }) => [least, greatest]))
  const scale = logarithmic(values, LEFT, RIGHT)
  let y = 8
  const parts: string[] = []
  for (const { title, dots } of groups) {
    parts.push(text(8, (y += ROW), title, 'font-weight="bold"'))
    for (const { name, least, middle, greatest } of dots) {
      y += ROW
      const colour = name === 'roster' ? COLOURS[0] : COLOURS[1]
      parts.push(text(LEFT - 12, y + 4, name, 'text-anchor="end"'))
      parts.push(`<path stroke="${colour}" stroke-width="2" d="M${scale.place(least)} ${y}H${scale.place(greatest)}"/>`)
      parts.push(`<circle fill="${colour}" cx="${scale.place(middle)}" cy="${y}" r="5"/>`)
      parts.push(text(RIGHT + 12, y + 4, figureText(middle)))
    }
    y += ROW / 2
  }
  const label = text((LEFT + RIGHT) / 2, y + 36, `${axis}, logarithmic`, 'text-anchor="middle"')
  return svg(y + 44, axis, [...columnsOf(scale, 12, y), ...parts, label])
}

/** Draws a line for each series, on two logarithmic axes. */
export function linePlot({ x, y, series }: Curve): string {
  const points = series.flatMap((one) => one.points)
  const [valuesX, valuesY] = [points.map(([value]) => value), points.map(([, value]) => value)]
  const [across, up] = [logarithmic(valuesX, 60, RIGHT), logarithmic(valuesY, HEIGHT - 40, 24)]
  const rows = up.ticks.map((tick) => {
    const at = up.place(tick)
    return `<path stroke="#ddd" d="M60 ${at}H${RIGHT}"/>${text(52, Number(at) + 4, tick.toLocaleString('en'), 'text-anchor="end"')}`
  })
  const lines = series.map(({ label, points }, index) => {
    const colour = COLOURS[index % COLOURS.length]
    const path = points.map(([valueX, valueY]) => `${across.place(valueX)} ${up.place(valueY)}`).join('L')
    const name = text(RIGHT + 6, Number(up.place(points.at(-1)?.[1] ?? 1)) + 4, label, `fill="${colour}"`)
    return `<path stroke="${colour}" stroke-width="2" fill="none" d="M${path}"/>${name}`
  })
  const labels = [text(8, 14, y), text((60 + RIGHT) / 2, HEIGHT - 6, x, 'text-anchor="middle"')]
  return svg(HEIGHT, `${y} by ${x}`, [...columnsOf(across, 24, HEIGHT - 40), ...rows, ...lines, ...labels])
}

function columnsOf({ place, ticks }: ReturnType<typeof logarithmic>, top: number, bottom: number): string[] {
  return ticks.map((tick) => {
    const at = place(tick)
    return `<path stroke="#ddd" d="M${at} ${top}V${bottom}"/>${text(at, bottom + 16, tick.toLocaleString('en'), 'text-anchor="middle"')}`
  })
}

/** Returns a scale from the power of ten at or below the least value to the power of ten at or above the greatest value. */
function logarithmic(values: readonly number[], from: number, to: number) {
  const logarithms = values.filter((value) => value > 0).map(Math.log10)
  const first = Math.floor(Math.min(...logarithms, 9))
  const last = Math.max(first + 1, Math.ceil(Math.max(...logarithms, 0)))
  const place = (value: number) => {
    const part = (Math.log10(Math.max(value, 10 ** first)) - first) / (last - first)
    return (from + part * (to - from)).toFixed(1)
  }
  return { place, ticks: Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)) }
}

function text(x: number | string, y: number, content: string, more = ''): string {
  return `<text x="${x}" y="${y}" ${more}>${Bun.escapeHTML(content)}</text>`
}

function svg(height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<title>${Bun.escapeHTML(title)}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${parts.join('\n')}
</svg>
`
}
