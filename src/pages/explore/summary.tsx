// The summary of a list: choice of measure and dimensions, chart, and table of groups.
import { type Asked, useAnswer } from './api.ts'
import { ChartView, STYLES, type Style } from './chart.tsx'
import { type Named, Select, Trouble } from './controls.tsx'
import { formatCount } from './format.ts'
import {
  type Dimension,
  dimensionsOf,
  filtersOf,
  formatMeasured,
  isAdditive,
  measured,
  measuresOf,
  placeOf,
  type Question,
  questionOf,
  referenceOf,
  summaryPath,
} from './groups.ts'
import type { ViewPage } from './pager.tsx'
import { readChart } from './pivot.ts'
import { type Resource, type Row, upperFirst, valueIn } from './resources.ts'
import { Header } from './table.tsx'
import { change, emptyView, type Parameters, printView, type Shown, type View } from './view.ts'

const NOT_ADDITIVE = 'Groups cannot be sorted by averages, minimums and maximums.'

/** Maximum dates to show as bars; more are a line. */
const BARS_MAX = 48

/** Path of all groups, for a file. `parts`: size and number of a page. */
export function groupsPath(resource: Resource, view: View, parts: Parameters = {}): string {
  return summaryPath(resource, view, questionOf(resource, view), { sort: view.groupSort || undefined, ...parts })
}

/** Inputs of the summary. `page`: null if the last answer must no longer be shown. */
interface Shows {
  readonly asked: Asked<ViewPage>
  readonly page: ViewPage | null
}

/** A chart of groups, and a table with the same numbers. */
export function Summary({ resource, view, asked, page }: Shown & Shows) {
  const question = questionOf(resource, view)
  const { measure, by } = question
  const sort = by.unit ? undefined : isAdditive(measure) ? `-${measure.name}` : '-count'
  const pathOf = (page: number) => summaryPath(resource, view, question, { sort, PageSize: '1000', page: String(page) })
  const allPath = summaryPath(resource, view, { measure })
  const { answer: chart, problem, retry } = useAnswer(pathOf(1), readChart(question, pathOf, allPath))
  const fitting = by.unit && chart && chart.bars.length > BARS_MAX ? 'line' : isAdditive(measure) ? 'stacked' : 'grouped'
  const style = stylesOf(question).find((one) => one === view.as) ?? fitting
  return (
    <>
      <Choices resource={resource} view={view} question={question} style={style} />
      {problem && !asked.problem && <Trouble key={problem} problem={problem} retry={retry} />}
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
  const { measure, by, and } = question
  const dimensions = dimensionsOf(resource)
  const looks = stylesOf(question).map((one) => ({ name: one, words: one === 'line' ? 'a line' : `${one} bars` }))
  const others = dimensions.filter(({ property }) => property !== by.property)
  const choice = (label: string, name: 'show' | 'by' | 'and' | 'as', value: string, options: readonly Named[]) => (
    <label for={name}>
      {label}{' '}
      <Select
        id={name}
        label={label}
        value={value}
        options={options}
        take={(chosen) => change(view, name === 'as' ? { as: chosen } : { groupSort: '', [name]: chosen })}
      />
    </label>
  )
  return (
    <div class="bar">
      {choice('Show', 'show', measure.name, measuresOf(resource))}
      {choice('by', 'by', by.name, dimensions)}
      {choice('and', 'and', and?.name ?? '', [{ name: '', words: 'nothing else' }, ...others])}
      {choice('as', 'as', style, looks)}
    </div>
  )
}

/** Returns whether another group has the name of this one, but not its row. */
function isNamesake(group: Row, groups: readonly Row[], one: Dimension): boolean {
  const id = referenceOf(group, one.property)?.id
  const name = placeOf(group, one)
  return groups.some((other) => placeOf(other, one) === name && referenceOf(other, one.property)?.id !== id)
}

function GroupsTable({ resource, view, page }: Shown & { readonly page: ViewPage }) {
  const { measure, by, and } = questionOf(resource, page.view)
  const dimensions = [by, and].filter((one): one is Dimension => one !== null)
  const sort = view.groupSort.split(',').filter(Boolean)
  const setSort = (next: string[]) => change(view, { groupSort: next.join(',') })
  const { name, words, property } = measure
  const columns = [
    ...dimensions.map((one) => ({ name: one.name, label: upperFirst(one.words) })),
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
          {page.rows.map((group, place) => {
            const value = measured(group, measure)
            const filters = [...page.view.filters, ...filtersOf(group, dimensions)]
            const href = printView({ ...emptyView(resource.plural), filters })
            // A filter for the empty text also matches no value, so neither group has a link if both exist.
            const isFound = dimensions.every(({ property }) => {
              if (referenceOf(group, property) !== null) return true
              const value = valueIn(group, property)
              const hasEmpty = page.rows.length < page.total || page.rows.some((row) => valueIn(row, property) === '')
              return value !== '' && (value !== null || property.kind !== 'text' || !hasEmpty)
            })
            return (
              <tr key={place}>
                {dimensions.map((one, column) => {
                  const words = (
                    <>
                      <bdi>{placeOf(group, one)}</bdi>
                      {isNamesake(group, page.rows, one) && <small> {referenceOf(group, one.property)?.id}</small>}
                    </>
                  )
                  const link = { href, title: 'Rows of this group' }
                  return <td key={one.name}>{column === 0 && isFound ? <a {...link}>{words}</a> : words}</td>
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
