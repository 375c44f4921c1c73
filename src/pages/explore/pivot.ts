// Data of a chart: reads the groups of a summary, and arranges them as bars and series.
import { readPage, send } from './api.ts'
import { formatUnit } from './format.ts'
import {
  addFilters,
  type Dimension,
  groupLabel,
  isAdditive,
  linkedFilters,
  measured,
  NO_VALUE,
  nextUnit,
  otherFilters,
  type Question,
  referenceOf,
  type Unit,
  wallClock,
} from './groups.ts'
import { hasPills, huesOf } from './pills.tsx'
import { findProperty, type Property, type Row, valueIn } from './resources.ts'
import { emptyView, type Filter, printView, type Shown } from './view.ts'

/** Values by bar and series. */
export interface Chart {
  readonly question: Question
  /** Number of groups in the chart. */
  readonly count: number
  /** Number of all groups of the summary. */
  readonly total: number
  readonly bars: readonly string[]
  readonly series: readonly string[]
  /** Colours of the series, as variables of `explore.css`. */
  readonly hues: readonly string[]
  /** Colours of the bars; null if bars consist of several series, or if their values have no colours. */
  readonly barHues: readonly string[] | null
  /** Values by bar, then by series. Null: there is no value. */
  readonly values: readonly (readonly (number | null)[])[]
  /** Addresses of lists with the rows of a bar, and of each series in it. Null: no address finds exactly these rows. */
  readonly links: readonly BarLinks[]
  /** Index of the bar that adds up all bars which are not shown; -1 if there is none. */
  readonly otherBar: number
  /** True if the last bar has the rows without a date. */
  readonly endsWithNone: boolean
}

interface BarLinks {
  readonly bar: string | null
  readonly series: readonly (string | null)[]
}

/** Maximum number of a list's filters. */
const FILTERS_MAX = 32
/** Maximum number of a list's filters that follow a reference. */
const PATHS_MAX = 8
/** Maximum characters of an address that leads to rows. A request target can have 3 KiB, and has further parameters. */
const LINK_LENGTH_MAX = 2_500
const GROUPS_MAX = 5_000
const NAMES_MAX = 30
const SERIES_MAX = 8
/**
 * Maximum bars of a chart that has empty bars for the periods without a group. Above the maximum, the chart leaves out the empty
 * bars: one date far from all others would add too many.
 */
const GAPS_MAX = 400
const OTHERS = 'others'

/**
 * Returns a function that reads the groups of a chart, up to `GROUPS_MAX`: first those in the response, then those of further
 * pages. `pathOf`: returns the path of a page. `allPath`: path of a summary with one group of all rows.
 */
export function readChart(question: Question, shown: Shown, pathOf: (page: number) => string, allPath: string) {
  const { measure } = question
  return async (response: Response): Promise<Chart> => {
    let { rows: groups, links, total } = await readPage(response)
    for (let page = 2; links.next && groups.length < GROUPS_MAX; page++) {
      const next = await readPage(await send(pathOf(page)))
      links = next.links
      groups = [...groups, ...next.rows]
    }
    const [all] = links.next && isAdditive(measure) ? (await readPage(await send(allPath))).rows : []
    const { keys, ...drawn } = pivot(groups, all ? Number(measured(all, measure)) : null, question)
    const ways = linksOf(groups, groups.length < total, keys, question, shown)
    return { question, count: groups.length, total, links: ways, ...drawn }
  }
}

/**
 * Arranges groups as bars and series: in the order of dates; without dates, the largest first. Bars and series beyond the maximum
 * number are summed up as "others" if values of the measure can be added. `all`: the measure of all rows together; null if the
 * groups have all rows, or if its values cannot be added.
 */
function pivot(groups: readonly Row[], all: number | null, { measure, by, and }: Question) {
  const sums = isAdditive(measure)
  const labels = new Map<string, string>()
  const keyOf = (group: Row, dimension: Dimension) => {
    const key = keyIn(group, dimension)
    labels.set(key, groupLabel(group, dimension))
    return key
  }
  const cells = groups.map((group) => {
    const value = measured(group, measure)
    const one = and ? keyOf(group, and) : measure.words
    return { bar: keyOf(group, by), one, value: value === null ? null : Number(value) }
  })
  const weightsBy = (part: 'bar' | 'one') => {
    const weights = new Map<string, number>()
    for (const { [part]: key, value } of cells) weights.set(key, (weights.get(key) ?? 0) + Math.abs(value ?? 0))
    return weights
  }
  const ones = weightsBy('one')
  const ordered = and?.unit ? datesOf(groups, and, and.unit).filter((date) => ones.has(date)) : heaviest(ones)
  const [series, otherSeries] = limitNames(ordered, SERIES_MAX, sums)
  const [bars, otherBar] = by.unit ? [datesOf(groups, by, by.unit), -1] : limitNames(heaviest(weightsBy('bar')), NAMES_MAX, sums)
  const values = bars.map(() => series.map((): number | null => (sums ? 0 : null)))
  const barIndexes = indexesOf(bars)
  const seriesIndexes = indexesOf(series)
  for (const { bar, one, value } of cells) {
    const row = values[barIndexes.get(bar) ?? otherBar]
    const index = seriesIndexes.get(one) ?? otherSeries
    if (row && index >= 0 && value !== null) row[index] = (row[index] ?? 0) + value
  }
  const others = values[otherBar]
  if (all !== null && others && !and) others[0] = all - values.slice(0, otherBar).reduce((sum, [value]) => sum + (value ?? 0), 0)
  const endsWithNone = by.unit !== null && groups.some((group) => valueIn(group, by.property) === null)
  const labelled = (keys: readonly string[]) => keys.map((key) => labels.get(key) ?? key)
  const hues = and ? coloursOf(and, series, labels, otherSeries) : ['s0']
  const barHues = and || by.unit || !hasPills(by.property) ? null : coloursOf(by, bars, labels, otherBar)
  const keys = { bars, series: and ? series : [], otherBar, otherSeries }
  return { keys, bars: labelled(bars), series: labelled(series), hues, barHues, values, otherBar, endsWithNone }
}

/**
 * Returns a key for the value of a group in a dimension. Labels cannot be keys: namesakes have the same label, and a missing
 * value has the same label as the text "no value".
 */
function keyIn(group: Row, dimension: Dimension): string {
  if (dimension.unit) return groupLabel(group, dimension)
  const id = referenceOf(group, dimension.property)?.id ?? ''
  return `${dimension.name} ${JSON.stringify(valueIn(group, dimension.property))} ${id}`
}

/**
 * Keys of bars and series. `otherBar`, `otherSeries`: index of the bar or series that adds up all that are not shown; -1 if there
 * is none.
 */
interface Keys {
  readonly bars: readonly string[]
  readonly series: readonly string[]
  readonly otherBar: number
  readonly otherSeries: number
}

/**
 * Returns the addresses of the rows of each bar, and of each series in it. `isPart`: true if the chart does not have all groups.
 */
function linksOf(
  groups: readonly Row[],
  isPart: boolean,
  keys: Keys,
  { by, and }: Question,
  { resource, view }: Shown,
): BarLinks[] {
  const addressOf = (...parts: readonly (readonly Filter[] | null)[]) => {
    if (parts.includes(null)) return null
    const filters = addFilters(
      view.filters,
      parts.flatMap((part) => part ?? []),
    )
    const paths = filters.filter(({ name, sign }) => sign === '[under]' || findProperty(resource, name)?.through)
    const address = printView({ ...emptyView(resource.plural), filters })
    return filters.length <= FILTERS_MAX && paths.length <= PATHS_MAX && address.length <= LINK_LENGTH_MAX ? address : null
  }
  const filtersBy = (dimension: Dimension, all: readonly string[], other: number) => {
    const found = new Map(groups.map((group) => [keyIn(group, dimension), group]))
    const hasEmptyText = (property: Property) => isPart || groups.some((group) => valueIn(group, property) === '')
    const known = all.filter((_, index) => index !== other).map((key) => found.get(key) as Row)
    return all.map((key, index) => {
      if (index === other) return otherFilters(known, dimension, hasEmptyText)
      const group = found.get(key)
      return group ? linkedFilters(group, [dimension], hasEmptyText) : null
    })
  }
  const ofSeries = and ? filtersBy(and, keys.series, keys.otherSeries) : []
  return filtersBy(by, keys.bars, keys.otherBar).map((ofBar) => ({
    bar: addressOf(ofBar),
    series: ofSeries.map((own) => addressOf(ofBar, own)),
  }))
}

/**
 * Returns a colour for each key. "Others" and "no value" are grey, namesakes have different colours, and a state has the colour
 * of its meaning.
 */
function coloursOf({ name }: Dimension, keys: readonly string[], labels: ReadonlyMap<string, string>, other: number): string[] {
  const texts = keys.map((key) => labels.get(key) ?? key)
  const isUnique = (text: string) => texts.indexOf(text) === texts.lastIndexOf(text)
  const values = texts.map((text, index) => (isUnique(text) ? text : (keys[index] as string)))
  const shown = values.filter((value, index) => index !== other && value !== NO_VALUE)
  const hues = huesOf(name, shown)
  return values.map((value, index) => {
    if (index === other) return 'others'
    return value === NO_VALUE ? 'none' : (hues[shown.indexOf(value)] as string)
  })
}

const indexesOf = (names: readonly string[]) => new Map(names.map((name, index) => [name, index]))

function heaviest(weights: ReadonlyMap<string, number>): string[] {
  return [...weights.keys()].sort((one, other) => (weights.get(other) ?? 0) - (weights.get(one) ?? 0))
}

/**
 * Returns the first `max` names. If names are left out and `hasOthers` is true, "others" follows. The returned number is the
 * index of "others"; -1 if "others" is not among the names.
 */
function limitNames(names: string[], max: number, hasOthers: boolean): [string[], number] {
  if (names.length <= max) return [names, -1]
  return hasOthers ? [[...names.slice(0, max), OTHERS], max] : [names.slice(0, max), -1]
}

/**
 * Returns the labels of the periods from the first to the last. Periods without a group are included, unless there would be more
 * than `GAPS_MAX` periods. The label of rows without a date comes last.
 */
function datesOf(groups: readonly Row[], by: Question['by'], unit: Unit): string[] {
  const values = groups.map((group) => valueIn(group, by.property) as string | null)
  const starts = [...new Set(values.map((start) => start && wallClock(start, by.zone)))]
  const isKnown = (start: string | null): start is string => start !== null && !Number.isNaN(Date.parse(start))
  const unknown = starts.filter((start) => start !== null && !isKnown(start)) as string[]
  const dates = starts.filter(isKnown).sort((one, other) => Date.parse(one) - Date.parse(other))
  const filled: string[] = []
  const last = new Date(dates.at(-1) ?? -1)
  for (let date = new Date(dates[0] ?? 0); date <= last && filled.length <= GAPS_MAX; date = nextUnit(date, unit))
    filled.push(date.toISOString())
  const shown = (filled.length > GAPS_MAX ? dates : filled).map((date) => formatUnit(unit, date))
  return [...shown, ...unknown, ...(starts.includes(null) ? [NO_VALUE] : [])]
}
