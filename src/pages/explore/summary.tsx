import { type Asked, type Page, useAnswer } from './api.ts'
import { ChartView } from './chart.tsx'
import { type Named, Select, Trouble } from './controls.tsx'
import { formatCount } from './format.ts'
import {
  type Dimension,
  dimensionsOf,
  filtersOf,
  formatMeasured,
  type Groups,
  isAdditive,
  measured,
  measuresOf,
  placeOf,
  type Question,
  questionOf,
  readGroups,
  summaryPath,
} from './groups.ts'
import { type Chart, pivot } from './pivot.ts'
import type { Resource } from './resources.ts'
import { Header } from './table.tsx'
import { changed, emptyView, go, type Parameters, printView, type View } from './view.ts'

/** A page of groups, and the view that it was asked for: another one may be shown by now. */
type GroupsPage = Page & { readonly view: View }

interface Props {
  readonly resource: Resource
  readonly view: View
  readonly asked: Asked<GroupsPage>
}

/** More dates than these are a line. */
const BARS_MAX = 48

/** Path of all groups, as a file has them. */
export function allGroupsPath(resource: Resource, view: View, parts: Parameters = {}): string {
  return summaryPath(resource, view, questionOf(resource, view), { sort: view.groupSort || undefined, ...parts })
}

/** Path of the page of groups that the table shows. */
export function groupsPath(resource: Resource, view: View): string {
  return allGroupsPath(resource, view, { PageSize: '100', page: view.groupPage })
}

/** A chart of groups, and a table with the same numbers. */
export function Summary({ resource, view, asked }: Props) {
  const question = questionOf(resource, view)
  const { measure, by } = question
  const sort = by.unit ? undefined : isAdditive(measure) ? `-${measure.name}` : '-count'
  const pathOf = (page: number) => summaryPath(resource, view, question, { sort, PageSize: '1000', page: String(page) })
  const allPath = summaryPath(resource, view, { measure })
  const { answer: groups, problem, retry } = useAnswer(pathOf(1), readGroups(question, pathOf, allPath))
  const chart = groups && groups.groups.length > 0 ? pivot(groups) : null
  const fitting = by.unit && chart && chart.bars.length > BARS_MAX ? 'line' : isAdditive(measure) ? 'stacked' : 'grouped'
  const style = STYLES.find((one) => one === view.as) ?? fitting
  return (
    <>
      <Choices {...{ resource, view, question, style }} />
      {problem && !asked.problem && <Trouble key={problem} problem={problem} retry={retry} />}
      {groups && chart && <GroupsChart {...{ groups, chart, style }} />}
      {asked.answer && <GroupsTable {...{ resource, view }} page={asked.answer} />}
    </>
  )
}

const STYLES = ['stacked', 'grouped', 'line'] as const
type Style = (typeof STYLES)[number]

interface ChoicesProps extends Omit<Props, 'asked'> {
  readonly question: Question
  readonly style: Style
}

function Choices({ resource, view, question: { measure, by, and }, style }: ChoicesProps) {
  const dimensions = dimensionsOf(resource)
  const styles = STYLES.filter((one) => (one === 'line' ? by.unit : one === 'grouped' || isAdditive(measure)))
  const looks = styles.map((one) => ({ name: one, words: one === 'line' ? 'a line' : `${one} bars` }))
  const others = dimensions.filter(({ property }) => property !== by.property)
  const choice = (label: string, name: 'show' | 'by' | 'and' | 'as', value: string, options: readonly Named[]) => (
    <label for={name}>
      {label}{' '}
      <Select id={name} {...{ label, value, options }} take={(chosen) => go(changed(view, { groupSort: '', [name]: chosen }))} />
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

interface ChartProps {
  readonly groups: Groups
  readonly chart: Chart
  readonly style: Style
}

function GroupsChart({ groups: { groups, total, question }, chart, style }: ChartProps) {
  const { measure, by, and } = question
  return (
    <>
      <ChartView
        {...chart}
        style={style}
        isLying={by.unit === null}
        title={`${measure.words} by ${by.words}${and ? ` and ${and.words}` : ''}, as in the table below`}
        format={(value) => formatMeasured(measure, value)}
      />
      {groups.length < total && (and || by.unit) && (
        <p class="count">
          The chart has {formatCount(groups.length)} of {formatCount(total)} groups. A filter leads to fewer.
        </p>
      )}
    </>
  )
}

function GroupsTable({ resource, view, page }: Omit<Props, 'asked'> & { readonly page: GroupsPage }) {
  const { measure, by, and } = questionOf(resource, page.view)
  const dimensions = [by, and].filter((one): one is Dimension => one !== null)
  const sort = view.groupSort.split(',').filter(Boolean)
  const header = { sort, setSort: (next: string[]) => go(changed(view, { groupSort: next.join(',') })) }
  const labelOf = ({ property, unit }: Dimension) => `${property.label}${unit ? `, ${unit}` : ''}`
  return (
    <div class="scroll low">
      <table>
        <thead>
          <tr>
            {dimensions.map((one) => (
              <Header key={one.name} {...header} name={one.name} label={labelOf(one)} isNumber={false} />
            ))}
            <Header {...header} name="count" label="Count" isNumber={true} />
            {measure.property && (
              <Header
                {...header}
                setSort={isAdditive(measure) ? header.setSort : null}
                name={measure.name}
                label={`${measure.property.label}, ${measure.calculation}`}
                isNumber={true}
              />
            )}
          </tr>
        </thead>
        <tbody>
          {page.rows.map((group, place) => {
            const value = measured(group, measure)
            const filters = [...page.view.filters, ...filtersOf(group, dimensions)]
            const href = printView({ ...emptyView(resource.plural), filters })
            return (
              <tr key={place}>
                {dimensions.map((one, column) => {
                  const words = <bdi>{placeOf(group, one)}</bdi>
                  const link = { href, title: 'Rows of this group' }
                  return <td key={one.name}>{column === 0 ? <a {...link}>{words}</a> : words}</td>
                })}
                <td class="n">{formatCount(group.count as number)}</td>
                {measure.property && <td class="n">{value === null ? '–' : formatMeasured(measure, value)}</td>}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
