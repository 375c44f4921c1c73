// Charts of groups as SVG: vertical or horizontal bars, grouped or stacked, and lines.
import { useEffect, useRef, useState } from 'preact/hooks'
import { BarLink, type Pointed, type Pointing, Tip } from './chartTip.tsx'
import { formatCount, formatShort } from './format.ts'
import { formatMeasured, isAdditive } from './groups.ts'
import type { Chart } from './pivot.ts'

export const STYLES = ['stacked', 'grouped', 'line'] as const
export type Style = (typeof STYLES)[number]

type Props = Chart & { readonly style: Style }

const HEIGHT = 330
const TOP = 16
const BOTTOM = 34

/** A chart with a legend. It is as wide as the element around it. */
export function ChartView(whole: Props) {
  // A line chart leaves out the group of the rows without a date.
  const end = whole.style === 'line' && whole.endsWithNone ? -1 : undefined
  const props = { ...whole, bars: whole.bars.slice(0, end), values: whole.values.slice(0, end) }
  const { question, count, total, bars, series, hues } = props
  const { measure, by, and } = question
  // Periods have short names, which fit below vertical bars. Values that are no periods can have long names, so they get
  // horizontal bars, with the names at the left.
  const isHorizontal = by.unit === null
  const title = `${measure.words} by ${by.words}${and ? ` and ${and.words}` : ''}, as in the table below`
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(800)
  const [pointed, setPointed] = useState<Pointed | null>(null)
  const [tabStop, setTabStop] = useState(0)
  const point = (next: Pointed | null) => {
    setPointed(next)
    if (next) setTabStop(next.bar)
  }
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.floor(entry?.contentRect.width ?? 800))))
    observer.observe(frame.current as Element)
    return () => observer.disconnect()
  }, [])
  const colours = hues.map((hue) => `var(--${hue})`)
  const drawn = { ...props, colours, width, pointed, tabStop, point }
  const height = isHorizontal ? horizontalHeight(props) : HEIGHT
  return (
    <>
      <div class="chart">
        {series.length > 1 && (
          <div class="legend">
            {series.map((name, index) => (
              <span key={index}>
                <i style={{ background: colours[index] }} />
                <bdi>{name}</bdi>
              </span>
            ))}
          </div>
        )}
        <div ref={frame} class="plot">
          {/* biome-ignore lint/a11y/useSemanticElements: an SVG is no fieldset */}
          <svg
            width={width}
            height={height}
            viewBox={`0 0 ${width} ${height}`}
            role="group"
            aria-label={`${title}; ${bars.length} bars`}
          >
            {isHorizontal ? <HorizontalBars {...drawn} /> : <VerticalBars {...drawn} />}
          </svg>
          {pointed && pointed.bar < bars.length && (
            <Tip
              chart={props}
              pointed={pointed}
              colours={colours}
              width={width}
              {...(isHorizontal ? horizontalTipAt : verticalTipAt)(drawn, pointed.bar)}
            />
          )}
        </div>
      </div>
      {count < total && (and || by.unit || !isAdditive(measure)) && (
        <p class="count">
          The chart has {formatCount(count)} of {formatCount(total)} groups. A filter leads to fewer.
        </p>
      )}
    </>
  )
}

type Drawn = Props & Pointing & { readonly colours: readonly string[]; readonly width: number }

/**
 * Returns the lowest and the highest value of an axis, and its grid lines. The distance between two grid lines is 1, 2 or 5 times
 * a power of ten.
 */
function axisOf({ values, style }: Pick<Props, 'values' | 'style'>) {
  const ends = values.flatMap((row) => spansOf(row, style === 'stacked').flat())
  const [low, high] = ends.reduce(([least, most], end) => [Math.min(least, end), Math.max(most, end)], [0, 0])
  const rough = (high - low || 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10) * power
  const from = Math.floor(low / step) * step
  const to = Math.max(Math.ceil(high / step), 1) * step
  return { from, to, lines: Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => from + index * step) }
}

/**
 * Returns start and end of each value's rectangle on the axis. A rectangle starts at zero; in a stacked bar, it starts where the
 * previous rectangle of the same sign ends.
 */
function spansOf(row: readonly (number | null)[], isStacked: boolean): [start: number, end: number][] {
  const ends = { up: 0, down: 0 }
  return row.map((value) => {
    const way = (value ?? 0) < 0 ? 'down' : 'up'
    const start = isStacked ? ends[way] : 0
    ends[way] = start + (value ?? 0)
    return [start, ends[way]]
  })
}

/** Layout of a chart with vertical bars or with lines; lengths are in pixels. */
interface Layout {
  readonly left: number
  /** Width of a bar with the space around it. */
  readonly band: number
  /** Number of bars from one label to the next. */
  readonly step: number
  readonly isGrouped: boolean
  /** Width of a bar. If the chart is grouped, width of the rectangles of all series together. */
  readonly whole: number
  /** Width of the rectangle of one series. */
  readonly thick: number
  /** Values at which the axis has a grid line. */
  readonly lines: readonly number[]
  y(value: number): number
  middle(bar: number): number
}

function verticalLayoutOf(props: Drawn): Layout {
  const { bars, series, style, width } = props
  const { from, to, lines } = axisOf(props)
  const left = 12 + 7 * Math.max(...lines.map((line) => formatShort(line).length))
  const band = (width - left) / Math.max(1, bars.length)
  const isGrouped = style === 'grouped'
  const whole = isGrouped ? Math.min(band * 0.8, 22 * series.length) : Math.min(56, band * 0.64)
  return {
    left,
    band,
    step: Math.ceil((7 * Math.max(...bars.map((bar) => bar.length)) + 10) / band),
    isGrouped,
    whole,
    thick: isGrouped ? whole / series.length : whole,
    lines,
    y: (value) => HEIGHT - BOTTOM - ((value - from) / (to - from)) * (HEIGHT - BOTTOM - TOP),
    middle: (bar) => left + band * (bar + 0.5),
  }
}

function VerticalBars(props: Drawn) {
  const { bars, series, values, style, colours, width, endsWithNone, pointed, tabStop, point } = props
  const pointing = { pointed, tabStop, point }
  const layout = verticalLayoutOf(props)
  const { left, band, step, lines, y, middle } = layout
  // If the last bar is for the rows without a date, it always has a label, and bars close to it have none.
  const isNamed = (index: number) =>
    endsWithNone && bars.length - 1 - index < step ? index === bars.length - 1 : index % step === 0
  return (
    <>
      {lines.map((line) => (
        <g key={line}>
          <line x1={left} x2={width} y1={y(line)} y2={y(line)} class="axis" />
          <text x={left - 8} y={y(line) + 4} text-anchor="end">
            {formatShort(line)}
          </text>
        </g>
      ))}
      {style === 'line' &&
        series.map((name, one) => (
          <polyline
            key={name}
            class="line"
            stroke={colours[one]}
            points={values.flatMap((row, bar) => (row[one] == null ? [] : `${middle(bar)},${y(row[one])}`)).join(' ')}
          />
        ))}
      {bars.map((bar, index) => (
        <BarLink key={bar} chart={props} index={index} {...pointing}>
          <rect class="hover" x={left + band * index} width={band} y={TOP} height={HEIGHT - BOTTOM - TOP} />
          {style !== 'line' && verticalRects(props, layout, index)}
          {isNamed(index) && (
            <text
              x={Math.min(width - 3.6 * bar.length, Math.max(3.6 * bar.length, middle(index)))}
              y={HEIGHT - 12}
              text-anchor="middle"
            >
              {bar}
            </text>
          )}
          {style === 'line' &&
            pointing.pointed?.bar === index &&
            (values[index] ?? []).map(
              (value, one) =>
                value !== null && (
                  <circle key={series[one]} data-series={one} cx={middle(index)} cy={y(value)} r={4} fill={colours[one]} />
                ),
            )}
        </BarLink>
      ))}
    </>
  )
}

/** The rectangles of one bar, one for each series. */
function verticalRects({ series, values, colours }: Drawn, { isGrouped, whole, thick, y, middle }: Layout, index: number) {
  return spansOf(values[index] ?? [], !isGrouped).map(
    ([start, end], one) =>
      start !== end && (
        <rect
          key={series[one]}
          data-series={one}
          fill={colours[one]}
          x={middle(index) - whole / 2 + (isGrouped ? one * thick : 0)}
          width={Math.max(1, thick - (isGrouped ? 1 : 0))}
          y={Math.min(y(start), y(end)) + 0.5}
          height={Math.max(0.5, Math.abs(y(start) - y(end)) - 1)}
          rx={1.5}
        />
      ),
  )
}

/** Position of the tip above a vertical bar. */
function verticalTipAt(props: Drawn, bar: number) {
  const { y, middle, isGrouped } = verticalLayoutOf(props)
  const ends = spansOf(props.values[bar] ?? [], !isGrouped && props.style !== 'line').flat()
  return { x: middle(bar), y: y(Math.max(0, ...ends)) - 8, isBelow: false }
}

const thicknessOf = ({ style, series }: Pick<Props, 'style' | 'series'>) =>
  style === 'grouped' ? Math.max(24, 10 * series.length + 8) : 26
/**
 * Returns the layout of horizontal bars, in pixels. `left`: left end of the bars. `band`: height of a bar with the space around
 * it. `x`: returns the position of a value.
 */
function horizontalLayoutOf(props: Drawn) {
  const { from, to } = axisOf(props)
  const left = Math.min(220, Math.round(props.width * 0.32))
  const x = (value: number) => left + ((value - from) / (to - from)) * (props.width - left - 96)
  return { left, band: thicknessOf(props), x }
}

/** Position of the tip below a horizontal bar. */
function horizontalTipAt(props: Drawn, bar: number) {
  const { band, x } = horizontalLayoutOf(props)
  const ends = spansOf(props.values[bar] ?? [], props.style !== 'grouped').flat()
  return { x: x(Math.max(0, ...ends)), y: (bar + 1) * band, isBelow: true }
}

const horizontalHeight = (props: Props) => props.bars.length * thicknessOf(props) + 12

function HorizontalBars(props: Drawn) {
  const { question, bars, series, values, style, colours, width, otherBar, barHues, pointed, tabStop, point } = props
  const { left, band, x } = horizontalLayoutOf(props)
  const isStacked = style !== 'grouped'
  const thick = isStacked ? band - 8 : (band - 8) / series.length
  return (
    <>
      {bars.map((bar, index) => {
        const row = values[index] ?? []
        const spans = spansOf(row, isStacked)
        const end = Math.max(0, ...spans.flat())
        const total = row.reduce<number>((sum, value) => sum + (value ?? 0), 0)
        return (
          <BarLink key={bar} chart={props} index={index} pointed={pointed} tabStop={tabStop} point={point}>
            <rect class="hover" x={0} width={width} y={index * band} height={band} />
            <text x={left - 10} y={index * band + band / 2 + 4} text-anchor="end">
              {shorten(bar, left - 10)}
            </text>
            {spans.map(([start, until], one) => (
              <rect
                key={series[one]}
                data-series={one}
                fill={index === otherBar ? 'var(--others)' : barHues ? `var(--${barHues[index]})` : colours[one]}
                x={Math.min(x(start), x(until))}
                width={Math.max(0, Math.abs(x(until) - x(start)) - (isStacked ? 1 : 0))}
                y={index * band + 4 + (isStacked ? 0 : one * thick)}
                height={Math.max(1, thick - (isStacked ? 0 : 1))}
                rx={1.5}
              />
            ))}
            {isStacked && (
              <text x={x(end) + 8} y={index * band + band / 2 + 4}>
                {formatMeasured(question.measure, total)}
              </text>
            )}
          </BarLink>
        )
      })}
    </>
  )
}

/** Canvas that measures labels; null if the browser blocks canvases. */
const ruler = document.createElement('canvas').getContext('2d')
/**
 * Splits a text into characters as people count them. Browsers without `Intl.Segmenter`, from before 2024, split it into code
 * points.
 */
const lettersOf = (text: string) =>
  'Segmenter' in Intl ? Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment) : [...text]
/** Maximum letters of a name that are measured. No label has room for more. */
const LETTERS_MAX = 100

/** Returns the width of a label in pixels. */
function widthOf(text: string): number {
  if (ruler === null) return 7.5 * text.length
  // Same font as the labels in explore.css.
  ruler.font = '12px system-ui, sans-serif'
  return ruler.measureText(text).width
}

/** Cuts a name to a width in pixels, between letters, so that an emoji stays whole. */
function shorten(name: string, width: number): string {
  const letters: string[] = []
  for (const letter of lettersOf(name)) {
    letters.push(letter)
    if (letters.length <= LETTERS_MAX && widthOf(letters.join('')) <= width) continue
    do letters.pop()
    while (letters.length > 0 && widthOf(`${letters.join('')}…`) > width)
    return `${letters.join('')}…`
  }
  return name
}
