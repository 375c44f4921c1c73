import type { Curve } from '../results.ts'
import { figure, table } from './figure.ts'
import { linePlot } from './linePlot.ts'
import { html, type Markup } from './markup.ts'
import { linearScale, logarithmicScale } from './scale.ts'
import { legend, styleAt } from './seriesStyle.ts'

/** One curve as a line plot with its table. A logarithmic one shows no point at or under 0; its table does. */
export function curvePlot(curve: Curve, id: string): Markup {
  const scaleOf = curve.logarithmic ? logarithmicScale : linearScale
  const series = curve.series.map(({ label, points }, index) => ({ label, points, style: styleAt(index) }))
  const points = series.flatMap((one) => one.points)
  const plot = linePlot({
    id,
    title: curve.title,
    description: `${curve.y} over ${curve.x}: ${series.map(({ label }) => label).join('; ')}`,
    x: { label: curve.x, scale: scaleOf(points.map(([x]) => x)) },
    y: { label: curve.y, scale: scaleOf(points.map(([, y]) => y)) },
    series,
  })
  const rows = [...new Set(points.map(([x]) => x))]
    .toSorted((a, b) => a - b)
    .map((x) => [figure(x), ...series.map((one) => figure(one.points.find(([at]) => at === x)?.[1] ?? null))])
  const heads = [curve.x, ...series.map(({ label }) => label)]
  return html`<figure><figcaption>${curve.title} <code>${curve.name}</code></figcaption>
${plot}${legend(series)}${table(`The points of this plot: ${curve.y}`, heads, rows)}</figure>`
}
