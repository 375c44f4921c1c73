import { html, type Markup } from './markup.ts'

/**
 * Each colour stands out from its background by 3 : 1 at least. They were chosen by search so that any two stay apart
 * (CIE Lab, 30 at least) as they are and as eyes without one kind of cone see them.
 */
export const COLOURS: readonly { readonly light: string; readonly dark: string }[] = [
  { light: '#0060a8', dark: '#5ab4f0' },
  { light: '#ff456c', dark: '#e4fdff' },
  { light: '#5a380c', dark: '#de596b' },
  { light: '#a49000', dark: '#598c00' },
  { light: '#000b00', dark: '#7f5b8f' },
  { light: '#8c1b55', dark: '#a800d9' },
  { light: '#7d00ff', dark: '#f6e07a' },
]

// Lengths that share no divisor with each other or the colours, so that few series ever look alike.
const DASHES = ['none', '7 3', '2 3', '9 3 2 3', '14 4']
const MARKERS = ['circle', 'square', 'triangle', 'diamond'] as const

/** How the series at an index looks: a class that sets its colour, a dash pattern, a marker. */
export interface SeriesStyle {
  readonly className: string
  readonly dash: string
  readonly marker: (typeof MARKERS)[number]
}

export function styleAt(index: number): SeriesStyle {
  return {
    className: `s${index % COLOURS.length}`,
    dash: DASHES[index % DASHES.length] as string,
    marker: MARKERS[index % MARKERS.length] as SeriesStyle['marker'],
  }
}

/** A mark around a point; `title` shows where the pointer rests. */
export function mark({ className, marker }: SeriesStyle, x: number, y: number, title = ''): Markup {
  const tip = title === '' ? [] : [html`<title>${title}</title>`]
  return html`<path class="mark ${className}" transform="translate(${x} ${y})" d="${OUTLINES[marker]}">${tip}</path>`
}

const OUTLINES: Record<SeriesStyle['marker'], string> = {
  circle: 'M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z',
  square: 'M-3-3h6v6h-6z',
  triangle: 'M0-4L4 3H-4z',
  diamond: 'M0-4.5L4 0L0 4.5L-4 0z',
}

/** The names of the series beneath their plot, each beside a piece of its line. */
export function legend(entries: readonly { readonly label: string; readonly style: SeriesStyle }[]): Markup {
  return html`<ul class="legend">${entries.map(
    ({ label, style }) =>
      html`<li><svg viewBox="0 0 34 12" width="34" height="12" aria-hidden="true"><path class="line ${style.className}" stroke-dasharray="${style.dash}" d="M0 6H34" />${mark(style, 17, 6)}</svg> ${label}</li>`,
  )}</ul>`
}
