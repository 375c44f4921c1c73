import { linkedPages, type Row } from '../../../support/model.ts'
import type { Answer } from '../cluster.ts'
import { pathOf } from '../randomList.ts'
import type { OrderedRows, Version } from './ordered.ts'
import { printed } from './printed.ts'

/** A page as it is asked for: by its number, or beside a row that an earlier answer has shown. */
export interface Page {
  readonly list: OrderedRows
  readonly size: number
  readonly number: number
  readonly beside: Beside | null
  readonly path: string
}

interface Beside {
  readonly side: 'next' | 'prev'
  readonly row: Row
}

/** Of an answer, what has to be that of one moment. */
export interface Shown {
  readonly total: number
  /** The body. */
  readonly text: string
  /** The pages that links lead to, of a page by cursor only whether there are more, and the last: `next:2 last:9`. */
  readonly links: string
}

export function numberedPage(list: OrderedRows, size: number, number: number): Page {
  const { collection, filters, sorts } = list.selected
  return { list, size, number, beside: null, path: pathOf(collection, filters, sorts, number, size) }
}

/** What the page must be in this state of the list. */
export function shownIn({ rows }: Version, page: Page): Shown {
  const [begin, end] = placeOf(rows, page)
  const text = `[${rows.slice(begin, end).map((row) => printed(page.list.selected.collection, row))}]`
  return { total: rows.length, text, links: linksIn(rows, page, begin, end) }
}

/** The page beside an answer that shows the list in this state; null: there is no such link. */
export function pageBeside(answer: Answer, { rows }: Version, page: Page, side: Beside['side']): Page | null {
  const path = new RegExp(`<http://roster\\.test([^>]*)>; rel="${side}"`).exec(answer.link)?.[1]
  const [begin, end] = placeOf(rows, page)
  const row = side === 'next' ? rows[end - 1] : rows[begin]
  if (path === undefined || !path.includes('cursor=') || row === undefined || begin === end) return null
  return { ...page, number: Number(/&page=(\d+)/.exec(path)?.[1]), beside: { side, row }, path }
}

export function shownBy(answer: Answer, page: Page): Shown {
  const all = [...answer.link.matchAll(/[?&]page=(\d+)[^>]*>; rel="(\w+)"/g)]
  const links = all.map(([, number, relation]) =>
    page.beside && relation !== 'last' ? `${relation}` : `${relation}:${number}`,
  )
  return { total: answer.total, text: answer.text, links: links.join(' ') }
}

/** From where to where in the list. */
function placeOf(rows: readonly Row[], { list, size, number, beside }: Page): [begin: number, end: number] {
  if (beside?.side === 'prev') {
    const end = list.countBefore(rows, beside.row)
    return [Math.max(0, end - size), end]
  }
  const begin = Math.min(beside ? list.countUpTo(rows, beside.row) : (number - 1) * size, rows.length)
  return [begin, Math.min(begin + size, rows.length)]
}

function linksIn(rows: readonly Row[], { size, number, beside }: Page, begin: number, end: number): string {
  if (beside === null) {
    const named = linkedPages(number, size, rows.length)
    return named.map(([relation, to]) => `${relation === 'previous' ? 'prev' : relation}:${to}`).join(' ')
  }
  const last = `last:${Math.max(1, Math.ceil(rows.length / size))}`
  const isEmpty = begin === end
  // On the side from which it was sought there is the page that had the link.
  const hasBefore = beside.side === 'next' || (begin > 0 && !isEmpty)
  const hasBehind = beside.side === 'prev' || (end < rows.length && !isEmpty)
  const isFirst = !hasBefore && !isEmpty
  const isLast = !hasBehind && !isEmpty
  return [isFirst || 'first', hasBefore && 'prev', hasBehind && 'next', isLast || last].filter(isText).join(' ')
}

function isText(part: string | boolean): part is string {
  return typeof part === 'string'
}
