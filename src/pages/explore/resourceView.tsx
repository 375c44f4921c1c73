// The view of one resource: filters, tools, the table or the summary, paging, and the open row.
import { useEffect, useState } from 'preact/hooks'
import { type Asked, type Page, ROOT, readPage, readTotal, useAnswer } from './api.ts'
import { Button, CopyButton, Empty, Trouble } from './controls.tsx'
import { draftIdOf } from './drafts.ts'
import { Filters, isRefused, isTyping } from './filters.tsx'
import { LostDraft, NewButton, NewPanel, sayKept } from './form.tsx'
import { formatCount } from './format.ts'
import { periodZone, questionOf } from './groups.ts'
import { ImportButton } from './importDrop.tsx'
import { inOrder, listRequest } from './listPages.ts'
import { Pager } from './pager.tsx'
import { renewRights } from './renewRights.ts'
import { knownStore, type Property } from './resources.ts'
import { admittedInWords } from './rights.ts'
import { RowPanel } from './row.tsx'
import { groupsPath, Summary } from './summary.tsx'
import { Table } from './table.tsx'
import { Columns, curl, Download, keptColumns } from './tools.tsx'
import { change, changed, go, type Parameters, pagePath, printPath, type Shown, type View } from './view.ts'
import { inWords } from './words.ts'
import { writableOf } from './writable.ts'
import { writesStore } from './writes.ts'

/** The list of a resource, or its summary. */
export function ResourceView({ resource, view }: Shown) {
  const [columns, setColumns] = useState(() => keptColumns(resource))
  const isSummary = view.tab === 'summary' && resource.hasSummary
  const { filters } = view
  const { path, allPath, excelPath, request } = requestsOf({ resource, view: inOrder(resource, view) }, isSummary, columns)
  const written = String(writesStore.value)
  const asked = useAnswer(
    request.path,
    async (response) => ({ ...(await request.read(response)), view, zone: periodZone(resource) }),
    written,
  )
  const asks = asked.problem === null && asked.answer !== null
  const { answer: matching } = useAnswer(
    isSummary && asks ? printPath(resource.plural, filters) : null,
    readTotal,
    path + written,
    'HEAD',
  )
  const { answer: all } = useAnswer(filters.length > 0 && asks ? resource.plural : null, readTotal, path + written, 'HEAD')
  // The earlier answer is hidden if the API refuses the request, or if this page cannot show the summary that the address asks
  // for. After a problem such as a timeout, the earlier answer stays.
  const isShowable = !isSummary || Object.keys(questionOf(resource, view).unknown).length === 0
  const page = asked.problem?.status === 400 || !isShowable ? null : asked.answer
  const found = page && (isSummary ? matching : page.total)
  useEffect(() => {
    if (asked.problem?.status === 403) void renewRights()
  }, [asked.problem])
  const closeRow = () => {
    const row = document.querySelector<HTMLElement>('tr[aria-current=true]')
    if (view.form === 'edit') sayKept(draftIdOf(resource.plural, view.row))
    change(view, { row: '' })
    // On a phone, the table cannot have the focus until the page has been drawn without the open row.
    setTimeout(() => row?.focus())
  }
  useRowKeys(view, asked, closeRow)
  return (
    <>
      <div class="bar">
        <h1>{resource.plural}</h1>
        <span class="count" role="status">
          {asked.lateness === 2 ? 'Loading … ' : ''}
          {found !== null && formatCount(found)}
          {found !== null && filters.length > 0 && all !== null && ` of ${formatCount(all)}`}
        </span>
        {resource.conditions.length > 0 && (
          <span class="count">
            {admittedInWords(resource, knownStore.value.rights, (condition) => inWords(resource, condition).join(' '))}
          </span>
        )}
        <NewButton resource={resource} view={view} />
        <ImportButton resource={resource} view={view} />
        <CopyButton label="Copy link" text={() => location.href} look="link" />
        {resource.hasSummary && <Tabs view={view} isSummary={isSummary} />}
      </div>
      <div class="bar">
        <Filters resource={resource} view={view} problem={asked.problem} />
        <span class="tools">
          {!isSummary && <Columns resource={resource} columns={columns} setColumns={setColumns} />}
          <CopyButton label="Copy as curl" look="button wide" text={() => curl(ROOT + path)} />
          <Download
            key={allPath}
            excelPath={excelPath}
            path={allPath}
            name={`${resource.plural}${isSummary ? '-summary' : ''}`}
          />
        </span>
      </div>
      {asked.problem && !filters.some((filter) => isRefused(filter, asked.problem)) && (
        <Trouble key={asked.problem} problem={asked.problem} retry={asked.retry} />
      )}
      <div class="sides">
        <div class={`content${asked.lateness > 0 ? ' late' : ''}`} aria-busy={asked.lateness > 0}>
          {isSummary && <Summary resource={resource} view={view} asked={asked} page={page} />}
          {page && !isSummary && (
            <div class="scroll">
              <Table resource={resource} columns={columns} view={view} rows={page.rows} />
              {page.rows.length === 0 && <NoRows view={view} total={page.total} />}
            </div>
          )}
          {page && page.total > 0 && <Pager page={page} view={view} isSummary={isSummary} />}
        </div>
        {view.row !== '' && <RowPanel key="row" resource={resource} view={view} id={view.row} close={closeRow} />}
        {view.row === '' && view.form === 'new' && <NewRow resource={resource} view={view} />}
      </div>
    </>
  )
}

/**
 * The form for a new row, which opens the row once it is created. If the reader may not create rows any more, what she had typed
 * is shown instead.
 */
function NewRow({ resource, view }: Shown) {
  const writable = writableOf(resource)
  if (!writable || writable.creates.length === 0) return <LostDraft plural={resource.plural} id="" />
  const created = (id: string | null) => change(view, { row: id ?? '', form: '' })
  return <NewPanel writable={writable} created={created} close={() => change(view, { form: '' })} />
}

/**
 * Returns the request for the shown page, and its path for curl. Also returns the paths to download all rows or groups: one for
 * programs, and one for Excel.
 */
function requestsOf({ resource, view }: Shown, isSummary: boolean, columns: readonly Property[]) {
  const sort = view.sort.join(',') || undefined
  const listPath = (parts?: Parameters) => printPath(resource.plural, view.filters, { sort, ...parts })
  const names = columns.map(({ name }) => name)
  const isWhole = resource.properties.every(({ name }) => names.includes(name))
  const related = columns.filter(({ through }) => through !== null)
  const fields = isWhole && related.length === 0 ? undefined : names.join()
  // Reads all properties of the row itself, also those that are no columns: links, the open row and the download for programs
  // need them.
  const shown = related.length === 0 ? undefined : [...resource.properties, ...related].map(({ name }) => name).join()
  const path = isSummary
    ? groupsPath(resource, view, { PageSize: '100', page: view.groupPage })
    : pagePath(resource.plural, view, shown)
  return {
    path,
    request: isSummary ? { path, read: readPage } : listRequest({ resource, view }, shown),
    allPath: isSummary ? groupsPath(resource, view) : listPath({ fields: shown }),
    excelPath: (locale?: string) => {
      const form = { bom: '1', excel: '1', locale }
      return isSummary ? groupsPath(resource, view, form) : listPath({ fields, ...form })
    },
  }
}

/** Buttons that switch between the table and the summary. */
function Tabs({ view, isSummary }: { readonly view: View; readonly isSummary: boolean }) {
  const tab = (name: string, label: string) => (
    <button type="button" aria-pressed={isSummary === (name === 'summary')} onClick={() => change(view, { tab: name })}>
      {label}
    </button>
  )
  return (
    <fieldset class="views" aria-label="View">
      {tab('table', 'Table')}
      {tab('summary', 'Summary')}
    </fieldset>
  )
}

/** Says why a page has no rows, with a button that leads to rows. */
function NoRows({ view, total }: Pick<Shown, 'view'> & { readonly total: number }) {
  if (total > 0)
    return (
      <Empty words="This page is past the last one.">
        <Button label="First page" onClick={() => change(view, { page: '1', cursor: '' })} />
      </Empty>
    )
  if (view.filters.length === 0) return <Empty words="No rows." />
  return (
    <Empty words="No rows match these filters.">
      <Button label="Clear filters" onClick={() => change(view, { filters: [] })} />
    </Empty>
  )
}

/** Hook for the keys of an open row: Escape closes the row, the arrow keys open the previous or the next one. */
function useRowKeys(view: View, { answer }: Asked<Page>, close: () => void): void {
  useEffect(() => {
    if (view.row === '') return
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close()
      if (view.form !== '') return
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (by === undefined || isTyping(event)) return
      const ids = (answer?.rows ?? []).map(({ id }) => String(id))
      const index = ids.indexOf(view.row)
      const next = index < 0 ? undefined : ids[index + by]
      event.preventDefault()
      if (next !== undefined) go(changed(view, { row: next }), false)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [view, answer])
}
