// Links between pages: first, previous, next and last.
import type { ListQuery } from '../model/query.ts'

type Paging = Pick<ListQuery, 'page' | 'pageSize' | 'seek'>

/**
 * Numbers of the pages that links lead to; null: no link. `rows`: the number of rows on this page. `hasMore`: more exist in the
 * direction of `seek`. Spec 4.3
 */
export function pageLinksOf({ page, pageSize, seek }: Paging, total: number, rows: number, hasMore: boolean) {
  const last = Math.max(1, Math.ceil(total / pageSize))
  // The page before one that is past the end is the last page.
  const previous = page > 1 ? Math.min(page - 1, last) : null
  if (seek === null) return { previous, next: page < last ? page + 1 : null, isFirst: page === 1, isLast: page === last, last }
  const isBehind = seek.side === 'after'
  // Nothing is left on that side: the page is after the last one, or before the first.
  if (rows === 0) return { previous: isBehind ? last : null, next: isBehind ? null : 1, isFirst: false, isLast: false, last }
  // The rows found decide, not the page's number, because rows that were added or deleted meanwhile have moved the pages, and a
  // client that follows links to the end must see every row. On the other side is the page whose link was followed.
  const [hasBefore, hasBehind] = isBehind ? [true, hasMore] : [hasMore, true]
  const within = (number: number) => Math.min(Math.max(number, 1), last)
  const number = within(page)
  return {
    previous: hasBefore ? within(number - 1) : null,
    next: hasBehind ? within(number + 1) : null,
    isFirst: !hasBefore,
    isLast: !hasBehind,
    last,
  }
}

/** Adds the links of a page to its headers. `cursors`: null for a link without one. Spec 4.3; `Link` is of RFC 8288. */
export function addLinks(
  headers: Record<string, string>,
  { previous, next, isFirst, isLast, last }: ReturnType<typeof pageLinksOf>,
  cursors: Readonly<Record<'previous' | 'next', string | null>>,
  url: string,
  kept: string,
) {
  const address = `<${url}?${encodeRaw(kept)}${kept && '&'}page=`
  const first = isFirst ? '' : `${address}1>; rel="first"`
  const back = previous === null ? '' : `${address}${previous}${parameter(address, cursors.previous)}>; rel=`
  let forth = next === null ? '' : `${address}${next}${parameter(address, cursors.next)}>; rel="next"`
  if (!isLast) forth += `${forth && ', '}${address}${last}>; rel="last"`
  if (first === '' && back === '' && forth === '') return
  headers.Location = joined(first, back && `${back}"previous"`, forth)
  headers.Link = joined(first, back && `${back}"prev"`, forth)
}

/** The parameter by which a link names its cursor; it follows the page's number. */
export const CURSOR_PARAMETER = /&cursor=[\w-]+/

/** The cursor's parameter; '' for a link that would be longer than what the server takes. */
function parameter(address: string, cursor: string | null): string {
  const text = cursor === null ? '' : `&cursor=${cursor}`
  return address.length + PAGE_DIGITS_MAX + text.length > TARGET_LENGTH_MAX ? '' : text
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).join(', ')
}

/** Maximum length of a request target. The links of a page repeat it up to four times, and clients take a head of 16 KiB. */
export const TARGET_LENGTH_MAX = 3 * 1024
const PAGE_DIGITS_MAX = 16

/** Characters that clients send raw although URIs do not allow them; a # would begin a fragment. RFC 3986, 2. */
const NOT_IN_URIS = /[#|\\^`{}[\]]/g

/** Percent-encodes the characters that the server has left raw although no URI may have them. */
export function encodeRaw(text: string): string {
  return text.search(NOT_IN_URIS) === -1 ? text : text.replace(NOT_IN_URIS, encodeURIComponent)
}
