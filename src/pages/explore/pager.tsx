// Paging of lists and summaries: links, number of the page, rows per page.
import type { Page } from './api.ts'
import { Select } from './controls.tsx'
import { formatCount } from './format.ts'
import { pageSizeOf } from './listPages.ts'
import { change, changed, go, printView, type Shown, type View } from './view.ts'

/** A page, with the view and the time zone of its request. The reader may have changed the view since. */
export type ViewPage = Page & { readonly view: View; readonly zone: string }

type Props = Pick<Shown, 'view'> & { readonly page: ViewPage; readonly isSummary: boolean }

/** Links to other pages: next and previous by the API's links, any page by its number. */
export function Pager({ page, view, isSummary }: Props) {
  const { rows, total, links, view: shown } = page
  const size = isSummary ? 100 : pageSizeOf(shown)
  const number = Number(isSummary ? shown.groupPage : shown.page)
  const pages = Math.max(1, Math.ceil(total / size))
  const at = (to: { page: string; cursor: string }) => changed(view, isSummary ? { groupPage: to.page } : { ...to, row: '' })
  const first = (number - 1) * size + 1
  const sizes = [...new Set(['20', '50', String(size)])]
  const link = (relation: string, label: string) => {
    const to = links[relation]
    if (!to) return <span class="button off">{label}</span>
    return (
      <a class="button" rel={relation === 'next' ? 'next' : 'prev'} href={printView(at(to))}>
        {label}
      </a>
    )
  }
  return (
    <footer>
      <span>
        {rows.length > 0 && `${formatCount(first)} – ${formatCount(first + rows.length - 1)} of `}
        {formatCount(total)}
        {isSummary && (total === 1 ? ' group' : ' groups')}
      </span>
      <span class="grow" />
      {!isSummary && (
        <label for="rows">
          Rows <Select id="rows" label="Rows" value={`${size}`} options={sizes} take={(value) => change(view, { size: value })} />
        </label>
      )}
      {link('previous', '‹ Previous')}
      <label>
        Page{' '}
        <input
          class="page"
          inputMode="numeric"
          value={number}
          onChange={({ currentTarget }) => {
            const wanted = currentTarget.value.trim()
            if (/^0*[1-9]\d*$/.test(wanted)) go(at({ page: wanted, cursor: '' }))
            else currentTarget.value = String(number)
          }}
        />{' '}
        of {formatCount(pages)}
      </label>
      {link('next', 'Next ›')}
    </footer>
  )
}
