import { COLOURS } from './seriesStyle.ts'

/** Of the page, and behind the plots. */
export const BACKGROUNDS = { light: '#ffffff', dark: '#14171a' }

const LIGHT = `--back: ${BACKGROUNDS.light}; --text: #1b1f23; --quiet: #59616a; --grid: #dfe3e8; --band: #f1f4f7;`
const DARK = `--back: ${BACKGROUNDS.dark}; --text: #e8eaed; --quiet: #a3abb4; --grid: #343a41; --band: #1f2429;`

/** All styles of the page. The reader's system chooses between light and dark. */
export const stylesheet = `
:root { color-scheme: light dark; ${LIGHT} ${colours('light')} }
@media (prefers-color-scheme: dark) { :root { ${DARK} ${colours('dark')} } }
${COLOURS.map((_, index) => `.s${index} { --own: var(--c${index}) }`).join('\n')}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 88rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { margin: 0 0 .5rem } h2 { margin: 2rem 0 .75rem; font-size: 1.25rem }
code { font-size: .85em; color: var(--quiet) }
a { color: inherit }
dl { margin: 0 } dl div { display: flex; flex-wrap: wrap; gap: 0 .75rem }
dt { flex: 0 0 5.5rem; color: var(--quiet) } dd { flex: 1 1 16rem; margin: 0 }
.scroll { overflow-x: auto; overflow-wrap: normal; border: 1px solid var(--grid); border-radius: 4px }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums }
caption { text-align: left; padding: .4rem .6rem; color: var(--quiet) }
th, td { padding: .2rem .45rem; text-align: right; white-space: nowrap }
thead th { white-space: normal; overflow-wrap: normal; border-bottom: 1px solid var(--grid); color: var(--quiet); font-weight: 500; vertical-align: bottom }
th:first-child { text-align: left; font-weight: 500 }
tbody tr:not(.scenario) > th { position: sticky; left: 0; background: var(--back) }
.scenario th { background: var(--band); white-space: normal; text-align: left }
tr.subject th, tr.subject td:nth-child(2) { font-weight: 700 }
.void { color: var(--quiet) }
td.reason { text-align: left; white-space: normal; min-width: 16rem }
.reason { color: var(--text) } .reason::before { content: '✗ ' }
.ahead, .behind { font-weight: 700 } .open { font-weight: 500 }
.score { padding: 0; list-style: none }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); gap: 1rem; align-items: start }
figure { margin: 0; padding: .75rem; border: 1px solid var(--grid); border-radius: 4px }
figcaption { font-weight: 600; margin-bottom: .25rem } figcaption small { font-weight: 400; color: var(--quiet) }
figure > svg { display: block; width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: var(--text) } .ticks text, svg .axis { fill: var(--quiet) }
.grid { stroke: var(--grid); fill: none }
.line { stroke: var(--own); stroke-width: 2; fill: none; stroke-linejoin: round }
.mark, .fill { fill: var(--own) }
.outline { fill: var(--own); fill-opacity: .2; stroke: var(--own); stroke-width: 1 }
.whisker { stroke: var(--text); stroke-width: 1.5; fill: none }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .25rem 0; padding: 0; list-style: none; font-size: .875rem }
.legend svg { vertical-align: middle }
summary { cursor: pointer; color: var(--quiet); font-size: .875rem }
details .scroll { max-height: 22rem; overflow-y: auto; margin-top: .4rem }
`

function colours(scheme: 'light' | 'dark'): string {
  return COLOURS.map((colour, index) => `--c${index}: ${colour[scheme]};`).join(' ')
}
