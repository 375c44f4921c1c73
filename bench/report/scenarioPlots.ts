import { median, type ScenarioResult, type TargetResult } from '../results.ts'
import { barPlot } from './barPlot.ts'
import { figure, figureText, table } from './figure.ts'
import { linePlot } from './linePlot.ts'
import { html, type Markup } from './markup.ts'
import { linearScale, logarithmicScale, percentileScale } from './scale.ts'
import { legend, type SeriesStyle } from './seriesStyle.ts'
import type { Row, Section } from './summary.ts'

/** Beyond this proportion of the greatest to the least, a linear axis would press the small ones flat. */
const LINEAR_RANGE_MAX = 50

type StyleOf = (target: string) => SeriesStyle

/** The three plots of a scenario. What is void, or was not measured, is left out of them. */
export function scenarioPlots({ scenario, rows }: Section, id: string, styleOf: StyleOf): Markup {
  const counted = rows.filter((row) => row.void === null)
  const gone = rows
    .filter((row) => row.void !== null)
    .map((row) => html`<p class="reason">${row.target} is void: ${row.void ?? ''}</p>`)
  return html`${gone}<div class="plots">${throughput(scenario, counted, `${id}-rate`, styleOf)}${latency(scenario, `${id}-latency`, styleOf)}${cpu(scenario, counted, `${id}-cpu`, styleOf)}</div>`
}

function throughput({ title }: ScenarioResult, rows: readonly Row[], id: string, styleOf: StyleOf): Markup {
  const bars = rows.flatMap(({ target, requestsPerSecond: rate }) => {
    if (rate === null) return []
    const label = `${target}: ${figureText(rate.middle)} (${figureText(rate.least)} – ${figureText(rate.greatest)})`
    const whisker = [rate.least, rate.greatest] as const
    return [{ label, className: styleOf(target).className, parts: [rate.middle], whisker }]
  })
  if (bars.length === 0) return html``
  const description = `Requests per second: ${bars.map(({ label }) => label).join('; ')}`
  return html`<figure><figcaption>Throughput <small>median of the rounds; the whisker spans them all</small></figcaption>
${barPlot({ id, title: `Throughput: ${title}`, description, axis: 'requests/s', bars })}</figure>`
}

function cpu({ title }: ScenarioResult, rows: readonly Row[], id: string, styleOf: StyleOf): Markup {
  const bars = rows.flatMap(({ target, serverCpuUs: server, postgresCpuUs: postgres }) => {
    if (server === null && postgres === null) return []
    const label = `${target}: ${part(server, 'server')}, ${part(postgres, 'PostgreSQL')}`
    return [{ label, className: styleOf(target).className, parts: [server ?? 0, postgres ?? 0] }]
  })
  if (bars.length === 0) return html``
  const description = `CPU microseconds of a request: ${bars.map(({ label }) => label).join('; ')}`
  return html`<figure><figcaption>CPU time of a request <small>filled: server; outlined: PostgreSQL</small></figcaption>
${barPlot({ id, title: `CPU of a request: ${title}`, description, axis: 'µs of CPU per request', bars })}</figure>`
}

function part(value: number | null, name: string): string {
  return value === null ? `${name} –` : `${name} ${figureText(value)} µs`
}

function latency({ title, targets }: ScenarioResult, id: string, styleOf: StyleOf): Markup {
  const series = targets.flatMap((one) => {
    const points = one.void === null ? middleRound(one) : []
    return points.length > 0 ? [{ label: one.target, style: styleOf(one.target), points }] : []
  })
  if (series.length === 0) return html``
  const times = series.flatMap(({ points }) => points.map(([, ms]) => ms))
  const positive = times.filter((ms) => ms > 0)
  const isWide = Math.max(...positive) > LINEAR_RANGE_MAX * Math.min(...positive)
  const percentiles = series.flatMap(({ points }) => points.map(([percentile]) => percentile))
  const plot = linePlot({
    id,
    title: `Latency: ${title}`,
    description: 'Latency in milliseconds over the percentile; each further nine takes the same width.',
    x: { label: 'percentile', scale: percentileScale(percentiles) },
    y: { label: 'ms', scale: isWide ? logarithmicScale(times) : linearScale(times) },
    series,
  })
  const heads = ['percentile', ...series.map(({ label }) => `${label} ms`)]
  const rows = [...new Set(percentiles)]
    .toSorted((a, b) => a - b)
    .map((percentile) => [
      html`${String(percentile)}`,
      ...series.map(({ points }) => figure(points.find(([at]) => at === percentile)?.[1] ?? null)),
    ])
  return html`<figure><figcaption>Latency <small>of the round with the middle requests/s</small></figcaption>
${plot}${legend(series)}${table('The points of this plot', heads, rows)}</figure>`
}

/** The distribution of the round whose requests/s is the median; what is not finite is left out. */
function middleRound({ rounds }: TargetResult): (readonly [number, number])[] {
  const rate = median(rounds.map(({ requestsPerSecond }) => requestsPerSecond))
  const round = rounds.find(({ requestsPerSecond }) => requestsPerSecond === rate)
  return (round?.latency ?? []).filter((point) => point.every(Number.isFinite))
}
