import { useEffect, useState } from 'preact/hooks'
import { type Asked, type Page, readPage, readTotal, useAnswer } from './api.ts'
import { CopyButton, Trouble } from './controls.tsx'
import { Filters, isRefused, isTyping } from './filters.tsx'
import { formatCount } from './format.ts'
import { Pager } from './pager.tsx'
import type { Resource } from './resources.ts'
import { RowPanel } from './row.tsx'
import { allGroupsPath, groupsPath, Summary } from './summary.tsx'
import { Table } from './table.tsx'
import { Columns, keptColumns, Tools } from './tools.tsx'
import { changed, filterPairs, go, printQuery, type View } from './view.ts'

interface Props {
  readonly resource: Resource
  readonly view: View
}

/** A list or its summary: filters, tools, the table or the chart, pages, and the row that is open. */
export function ResourceView({ resource, view }: Props) {
  const [columns, setColumns] = useState(() => keptColumns(resource))
  const isSummary = view.tab === 'summary' && resource.hasSummary
  const filtered = filterPairs(view.filters)
  const sorted = [...filtered, pair('sort', view.sort.join(','))]
  const paged = [...sorted, pair('PageSize', view.size), pair('page', view.page), pair('cursor', view.cursor)]
  const path = isSummary ? groupsPath(resource, view) : pathOf(resource, paged)
  const asked = useAnswer(path, async (response) => ({ ...(await readPage(response)), view }))
  const asks = asked.problem === null && asked.answer !== null
  const { answer: matching } = useAnswer(isSummary && asks ? pathOf(resource, filtered) : null, readTotal, path, 'HEAD')
  const { answer: all } = useAnswer(filtered.length > 0 && asks ? resource.plural : null, readTotal, path, 'HEAD')
  const isRefusedNow = asked.problem?.status === 400
  const found = isRefusedNow ? null : isSummary ? matching : (asked.answer?.total ?? null)
  const closeRow = () => {
    go(changed(view, { row: '' }))
    document.querySelector<HTMLElement>('tr[aria-current=true]')?.focus()
  }
  useRowKeys(view, asked, closeRow)
  const tab = (name: string, label: string) => (
    <button type="button" aria-pressed={isSummary === (name === 'summary')} onClick={() => go(changed(view, { tab: name }))}>
      {label}
    </button>
  )
  return (
    <>
      <div class="bar">
        <h1>{resource.plural}</h1>
        <span class="count" role="status">
          {asked.lateness === 2 ? 'Loading … ' : ''}
          {found !== null && formatCount(found)}
          {found !== null && filtered.length > 0 && all !== null && ` of ${formatCount(all)}`}
        </span>
        <CopyButton label="Copy link" text={() => location.href} look="link" />
        {resource.hasSummary && (
          <fieldset class="views" aria-label="View">
            {tab('table', 'Table')}
            {tab('summary', 'Summary')}
          </fieldset>
        )}
      </div>
      <div class="bar">
        <Filters resource={resource} view={view} problem={asked.problem} />
        <span class="tools">
          {!isSummary && <Columns {...{ resource, columns, setColumns }} />}
          <Tools
            path={path}
            allPath={isSummary ? allGroupsPath(resource, view) : pathOf(resource, sorted)}
            name={isSummary ? `${resource.plural}-summary` : resource.plural}
          />
        </span>
      </div>
      {asked.problem && !view.filters.some((filter) => isRefused(filter, asked.problem)) && (
        <Trouble key={asked.problem} problem={asked.problem} retry={asked.retry} />
      )}
      <div class="sides">
        <div class={`content${asked.lateness > 0 ? ' late' : ''}`} aria-busy={asked.lateness > 0}>
          {isSummary ? (
            <Summary {...{ resource, view, asked }} />
          ) : (
            asked.answer &&
            !isRefusedNow && (
              <div class="scroll">
                <Table {...{ resource, columns, view }} rows={asked.answer.rows} />
                {asked.answer.rows.length === 0 && (
                  <p class="empty">No rows{filtered.length > 0 ? ' match these filters' : ''}.</p>
                )}
              </div>
            )
          )}
          {asked.answer && !isRefusedNow && <Pager page={asked.answer} view={view} isSummary={isSummary} />}
        </div>
        {view.row !== '' && <RowPanel key="row" resource={resource} id={view.row} close={closeRow} />}
      </div>
    </>
  )
}

type Pair = readonly [name: string, value: string]
const pair = (name: string, value: string): Pair => [name, value]

/** Path of a request; a parameter of the page's own that is empty is left out. */
function pathOf({ plural }: Resource, pairs: readonly Pair[]): string {
  const named = pairs.filter(([name, value]) => value !== '' || !['sort', 'cursor'].includes(name))
  return `${plural}${named.length > 0 ? `?${printQuery(named)}` : ''}`
}

/** While a row is open, Escape closes it, and arrows lead to the next and the previous one. */
function useRowKeys(view: View, { answer }: Asked<Page>, close: () => void): void {
  useEffect(() => {
    if (view.row === '') return
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close()
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (by === undefined || isTyping(event)) return
      const ids = (answer?.rows ?? []).map(({ id }) => String(id))
      const place = ids.indexOf(view.row)
      const next = place < 0 ? undefined : ids[place + by]
      event.preventDefault()
      if (next !== undefined) go(changed(view, { row: next }), false)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [view, answer])
}
