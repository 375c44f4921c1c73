// The summary of a list: choice of measure and dimensions, chart, and table of groups.
import { type Asked, useAnswer } from './api.ts'
import { ChartView, STYLES, type Style } from './chart.tsx'
import { Hint, type Named, Select, Trouble } from './controls.tsx'
import { formatCount } from './format.ts'
import {
  addFilters,
  type Dimension,
  dimensionsOf,
  findDimension,
  formatMeasured,
  groupLabel,
  isAdditive,
  isOfOneProperty,
  linkedFilters,
  measured,
  measuresOf,
  PARTS,
  type Part,
  type Question,
  questionOf,
  referenceOf,
  summaryPath,
} from './groups.ts'
import type { ViewPage } from './pager.tsx'
import { hasPills, Pill } from './pills.tsx'
import { readChart } from './pivot.ts'
import { zoneLabel } from './readerZone.ts'
import { allProperties, headingOf, type Property, type Resource, type Row, upperFirst, valueIn } from './resources.ts'
import { Header } from './table.tsx'
import { change, emptyView, type Parameters, printView, type Shown, type View } from './view.ts'

const NOT_ADDITIVE = 'Groups cannot be sorted by averages, minimums and maximums.'

const NOTHING_ELSE: Named = { name: '', words: 'nothing else' }

/** Maximum periods that are shown as bars by default; more are shown as a line. */
const BARS_MAX = 48

/** Returns the path of all groups, as for a download. `parts`: further parameters, such as size and number of a page. */
export function groupsPath(resource: Resource, view: View, parts: Parameters = {}): string {
  return summaryPath(resource, view, questionOf(resource, view), { sort: view.groupSort || undefined, ...parts })
}

/** Inputs of the summary. `page` is null if the last answer must no longer be shown. */
interface Shows {
  readonly asked: Asked<ViewPage>
  readonly page: ViewPage | null
}

/** A chart of groups, and a table with the same numbers. */
export function Summary({ resource, view, asked, page }: Shown & Shows) {
  const question = questionOf(resource, view)
  const { measure, by } = question
  const unknown = Object.values(question.unknown).map((text) => `“${text}”`)
  // The API can answer a question that this page cannot show. The page says so only once the API has answered.
  const isAnswered = PARTS.every((part) => asked.answer?.view[part] === view[part])
  const sort = by.unit ? undefined : isAdditive(measure) ? `-${measure.name}` : '-count'
  const pathOf = (page: number) => summaryPath(resource, view, question, { sort, PageSize: '1000', page: String(page) })
  const allPath = summaryPath(resource, view, { measure })
  const {
    answer: chart,
    problem,
    retry,
  } = useAnswer(unknown.length > 0 ? null : pathOf(1), readChart(question, { resource, view }, pathOf, allPath))
  const fitting = by.unit && chart && chart.bars.length > BARS_MAX ? 'line' : isAdditive(measure) ? 'stacked' : 'grouped'
  const style = stylesOf(question).find((one) => one === view.as) ?? fitting
  return (
    <>
      <Choices resource={resource} view={view} question={question} style={style} />
      {unknown.length > 0 && asked.problem === null && isAnswered && (
        <Hint text={`This page cannot show ${unknown.join(' and ')}. Choose something else above.`} />
      )}
      {problem && !asked.problem && unknown.length === 0 && <Trouble key={problem} problem={problem} retry={retry} />}
      {page && chart && chart.count > 0 && problem?.status !== 400 && <ChartView {...chart} style={style} />}
      {page && <GroupsTable resource={resource} view={view} page={page} />}
    </>
  )
}

type ChoicesProps = Shown & { readonly question: Question; readonly style: Style }

/** Returns the chart styles for a question: only dates make lines, and only values that add up are stacked. */
const stylesOf = ({ measure, by }: Question) =>
  STYLES.filter((one) => (one === 'line' ? by.unit : one === 'grouped' || isAdditive(measure)))

function Choices({ resource, view, question, style }: ChoicesProps) {
  const { measure, by, and, unknown } = question
  const properties = allProperties(resource)
  const headed = <Of extends Named & { readonly property: Property | null }>(one: Of) =>
    one.property ? { ...one, ...headingOf(one.property) } : one
  const dimensions = dimensionsOf(properties)
  // The menu has five periods for each date. Each date has its own heading, so that other properties are not lost among the
  // periods.
  const headedDimension = (one: Dimension) => (one.unit ? { ...one, group: one.property.label } : headed(one))
  const looks = stylesOf(question).map((one) => ({ name: one, words: one === 'line' ? 'a line' : `${one} bars` }))
  const others = dimensions.filter((one) => !isOfOneProperty(one, by))
  const partsOf = (name: Part, chosen: string): Partial<View> => {
    const next = name === 'by' ? findDimension(resource, chosen) : undefined
    // A summary cannot group by one property twice. So `and` is removed if it has the property that was chosen for `by`.
    return { groupSort: '', [name]: chosen, ...(next && and && isOfOneProperty(next, and) ? { and: '' } : {}) }
  }
  const choice = (label: string, name: Part, known: Named, offered: readonly Named[]) => {
    const text = unknown[name]
    const chosen = text === undefined ? known : { name: text, words: text }
    // The address can name a measure or dimension that is not offered: the menu then shows it, too.
    const options = offered.some((one) => one.name === chosen.name) ? offered : [chosen, ...offered]
    const select = { id: name, label, value: chosen.name, options, class: text === undefined ? '' : 'bad' }
    return (
      <label for={name}>
        {label} <Select {...select} take={(taken) => change(view, partsOf(name, taken))} />
      </label>
    )
  }
  return (
    <div class="bar choices">
      {choice('Show', 'show', measure, measuresOf(properties).map(headed))}
      {choice('by', 'by', by, dimensions.map(headedDimension))}
      {choice('and', 'and', and ?? NOTHING_ELSE, [NOTHING_ELSE, ...others.map(headedDimension)])}
      <label for="as">
        as <Select id="as" label="as" value={style} options={looks} take={(as) => change(view, { as })} />
      </label>
    </div>
  )
}

/** Returns whether the groups have a namesake of this group: a group with the same name for a different row. */
function isNamesake(group: Row, groups: readonly Row[], one: Dimension): boolean {
  const id = referenceOf(group, one.property)?.id
  const name = groupLabel(group, one)
  return groups.some((other) => groupLabel(other, one) === name && referenceOf(other, one.property)?.id !== id)
}

/** The value of a group in one dimension, with the same look as in the table of rows. */
function GroupLabel({ group, dimension }: { readonly group: Row; readonly dimension: Dimension }) {
  const text = groupLabel(group, dimension)
  const isPill = hasPills(dimension.property) && Boolean(valueIn(group, dimension.property))
  return isPill ? <Pill property={dimension.property} value={text} /> : <bdi>{text}</bdi>
}

function GroupsTable({ resource, view, page }: Shown & { readonly page: ViewPage }) {
  const { measure, by, and } = questionOf(resource, page.view, page.zone)
  const dimensions = [by, and].filter((one): one is Dimension => one !== null)
  const sort = view.groupSort.split(',').filter(Boolean)
  const setSort = (next: string[]) => change(view, { groupSort: next.join(',') })
  const { name, words, property } = measure
  const hasEmptyText = (property: Property) =>
    page.rows.length < page.total || page.rows.some((row) => valueIn(row, property) === '')
  const columns = [
    ...dimensions.map(({ name, words, property, zone }) => ({
      name,
      label: upperFirst(words),
      note: property.kind === 'instant' ? zoneLabel(zone) : '',
    })),
    { name: 'count', label: 'Count', isNumber: true },
    ...(property
      ? [{ name, label: upperFirst(words), isNumber: true, unsortable: isAdditive(measure) ? '' : NOT_ADDITIVE }]
      : []),
  ]
  return (
    <div class="scroll low">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Header key={column.name} {...column} sort={sort} setSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {page.rows.map((group, index) => {
            const value = measured(group, measure)
            const filters = linkedFilters(group, dimensions, hasEmptyText)
            const href = filters && printView({ ...emptyView(resource.plural), filters: addFilters(page.view.filters, filters) })
            return (
              <tr key={index}>
                {dimensions.map((one, column) => {
                  const words = (
                    <>
                      <GroupLabel group={group} dimension={one} />
                      {isNamesake(group, page.rows, one) && <small> {referenceOf(group, one.property)?.id}</small>}
                    </>
                  )
                  const link = href === null ? null : { href, title: 'Rows of this group' }
                  return <td key={one.name}>{column === 0 && link ? <a {...link}>{words}</a> : words}</td>
                })}
                <td class="n">{formatCount(group.count as number)}</td>
                {property && <td class="n">{value === null ? '–' : formatMeasured(measure, value)}</td>}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
