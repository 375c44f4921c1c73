import { figureText } from './summary.ts'

interface Dot {
  readonly name: string
  readonly least: number
  readonly middle: number
  readonly greatest: number
}

export interface DotPlot {
  /** What the axis counts. */
  readonly axis: string
  readonly groups: readonly { readonly title: string; readonly dots: readonly Dot[] }[]
}

interface Series {
  readonly label: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface LinePlot {
  readonly x: string
  readonly y: string
  readonly series: readonly Series[]
}

const WIDTH = 720
const [LEFT, RIGHT] = [170, WIDTH - 90]
const ROW = 20
const HEIGHT = 300
/** Readable on white, in colour and without. */
const COLOURS = ['#0b6e4f', '#5f6b7a', '#b3541e', '#2f5fb3', '#8a3fa0', '#8a7a00', '#a0303f', '#3f8f8f', '#404040', '#9a6a4a']

/** A dot for the median of each, with a line from the least to the greatest, on a logarithmic axis. */
export function dotPlot({ axis, groups }: DotPlot): string {
  const scale = logarithmic(
    groups.flatMap(({ dots }) => dots.flatMap(({ least, greatest }) => [least, greatest])),
    LEFT,
    RIGHT,
  )
  let y = 8
  const parts: string[] = []
  for (const { title, dots } of groups) {
    parts.push(text(8, (y += ROW), title, 'font-weight="bold"'))
    for (const { name, least, middle, greatest } of dots) {
      y += ROW
      const colour = name === 'roster' ? COLOURS[0] : COLOURS[1]
      const [from, at, to] = [least, middle, greatest].map((value) => scale.place(value)) as [string, string, string]
      parts.push(text(LEFT - 12, y + 4, name, 'text-anchor="end"'))
      parts.push(`<path stroke="${colour}" stroke-width="2" d="M${from} ${y}H${to}"/>`)
      parts.push(`<circle fill="${colour}" cx="${at}" cy="${y}" r="5"/>`, text(RIGHT + 12, y + 4, figureText(middle)))
    }
    y += ROW / 2
  }
  const grid = scale.ticks.map((tick) => {
    const at = scale.place(tick)
    return `<path stroke="#ddd" d="M${at} 12V${y}"/>${text(at, y + 16, tick.toLocaleString('en'), 'text-anchor="middle"')}`
  })
  const label = text((LEFT + RIGHT) / 2, y + 36, `${axis}, logarithmic`, 'text-anchor="middle"')
  return svg(y + 44, axis, [...grid, ...parts, label])
}

/** A line for each series, on two logarithmic axes. */
export function linePlot({ x, y, series }: LinePlot): string {
  const points = series.flatMap((one) => one.points)
  const across = logarithmic(
    points.map(([value]) => value),
    60,
    RIGHT,
  )
  const up = logarithmic(
    points.map(([, value]) => value),
    HEIGHT - 40,
    24,
  )
  const columns = across.ticks.map((tick) => {
    const at = across.place(tick)
    return `<path stroke="#ddd" d="M${at} 24V${HEIGHT - 40}"/>${text(at, HEIGHT - 24, tick.toLocaleString('en'), 'text-anchor="middle"')}`
  })
  const rows = up.ticks.map((tick) => {
    const at = up.place(tick)
    return `<path stroke="#ddd" d="M60 ${at}H${RIGHT}"/>${text(52, Number(at) + 4, tick.toLocaleString('en'), 'text-anchor="end"')}`
  })
  const lines = series.map(({ label, points }, index) => {
    const colour = COLOURS[index % COLOURS.length]
    const path = points.map(([valueX, valueY]) => `${across.place(valueX)} ${up.place(valueY)}`).join('L')
    const end = points.at(-1)?.[1] ?? 1
    const name = text(RIGHT + 6, Number(up.place(end)) + 4, label, `fill="${colour}"`)
    return `<path stroke="${colour}" stroke-width="2" fill="none" d="M${path}"/>${name}`
  })
  const labels = [text(8, 14, y), text((60 + RIGHT) / 2, HEIGHT - 6, x, 'text-anchor="middle"')]
  return svg(HEIGHT, `${y} by ${x}`, [...columns, ...rows, ...lines, ...labels])
}

/** From the power of ten at or under the least value to the one at or over the greatest. */
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
