// The bars of a chart as links to their rows, and the tip that shows the values of a bar on hover and on focus.
import type { ComponentChildren } from 'preact'
import { formatMeasured } from './groups.ts'
import type { Chart } from './pivot.ts'

/** The bar that the pointer or the focus is on. `series`: index of the series under the pointer; -1 if there is none. */
export interface Pointed {
  readonly bar: number
  readonly series: number
}

/** State of a chart's bars. `tabStop`: index of the only bar that Tab reaches. */
export interface Pointing {
  readonly pointed: Pointed | null
  readonly tabStop: number
  point(pointed: Pointed | null): void
}

type LinkProps = Pointing & { readonly chart: Chart; readonly index: number; readonly children: ComponentChildren }

/**
 * A bar as a link to its rows; arrow keys move from bar to bar. The bar's shapes have the index of their series as `data-series`.
 */
export function BarLink({ chart, index, pointed, tabStop, point, children }: LinkProps) {
  const { bars, links } = chart
  const series = pointed?.bar === index ? pointed.series : -1
  const { bar, series: parts } = links[index] ?? { bar: null, series: [] }
  const href = series < 0 ? bar : (parts[series] ?? bar)
  const onKeyDown = (event: KeyboardEvent & { currentTarget: Element }) => {
    const { key, currentTarget } = event
    if (key === 'Escape' && pointed) {
      event.stopPropagation()
      return point(null)
    }
    const next = {
      ArrowLeft: index - 1,
      ArrowUp: index - 1,
      ArrowRight: index + 1,
      ArrowDown: index + 1,
      Home: 0,
      End: bars.length - 1,
    }
    const to = next[key as keyof typeof next]
    if (to === undefined) return
    event.preventDefault()
    currentTarget.closest('svg')?.querySelectorAll('a')[to]?.focus()
  }
  const label = { 'aria-label': linesOf(chart, index).join(', ') }
  // A bar without an address is no link. Screen readers announce it as a picture with a text.
  const named = href === null ? ({ ...label, role: 'img' } as const) : { ...label, href }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it is a link, or a picture that Tab reaches for its value
    <a
      {...named}
      // In lower case, because names of SVG attributes are case-sensitive.
      tabindex={index === Math.min(tabStop, bars.length - 1) ? 0 : -1}
      // A click also focuses the bar. Then the series under the pointer stays marked.
      onFocus={() => point(pointed?.bar === index ? pointed : { bar: index, series: -1 })}
      onBlur={() => point(null)}
      onMouseOver={({ target }) => point({ bar: index, series: Number((target as SVGElement).dataset.series ?? -1) })}
      onMouseLeave={() => point(null)}
      onKeyDown={onKeyDown}
    >
      {children}
    </a>
  )
}

/** Returns the name and the values of a bar. If the bar “others” has no link, adds the reason. */
function linesOf(chart: Chart, index: number): string[] {
  const { bars, series, otherBar, links, values } = chart
  const isOne = series.length === 1
  const parts = valuesOf(chart, index).map(({ text, one }) => (isOne ? text : `${series[one]}: ${text}`))
  const isUnlinked = index === otherBar && links[index]?.bar === null && values[index] !== undefined
  return [bars[index] as string, ...(parts.length > 0 ? parts : ['–']), ...(isUnlinked ? [NO_FILTER] : [])]
}

const NO_FILTER = 'too many values for a filter: see the table below'

/** Returns the values of a bar, each with its series. Leaves out nulls, and zeros if there are several series. */
function valuesOf({ question: { measure }, series, values }: Chart, index: number) {
  return (values[index] ?? []).flatMap((value, one) =>
    value === null || (value === 0 && series.length > 1) ? [] : [{ one, text: formatMeasured(measure, value) }],
  )
}

/** Half of the maximum width of a tip, in pixels. */
const HALF = 110

type TipProps = {
  readonly chart: Chart
  readonly pointed: Pointed
  readonly colours: readonly string[]
  readonly width: number
  /** Middle of the tip, in pixels from the left edge of the chart. */
  readonly x: number
  /** Edge of the tip next to the bar, in pixels from the top of the chart. */
  readonly y: number
  /** True: the tip is below `y`. False: it is above `y`. */
  readonly isBelow: boolean
}

/** Tip with the values of a bar. It is hidden from screen readers, which get the values from the name of the bar's link. */
export function Tip({ chart, pointed: { bar, series }, colours, width, x, y, isBelow }: TipProps) {
  const { bars, series: names } = chart
  const left = Math.max(HALF, Math.min(width - HALF, x))
  const [name, ...lines] = linesOf(chart, bar)
  const shown = valuesOf(chart, bar)
  return (
    <div class={`tip${isBelow ? ' below' : ''}`} style={{ left: `${left}px`, top: `${y}px` }} aria-hidden="true">
      <b>{bars[bar] ?? name}</b>
      {names.length === 1 || shown.length === 0
        ? lines.map((line) => <span key={line}>{line}</span>)
        : shown.map(({ one, text }) => (
            <span key={one} class={one === series ? 'on' : ''}>
              <i style={{ background: colours[one] }} />
              <bdi>{names[one]}</bdi> {text}
            </span>
          ))}
    </div>
  )
}
