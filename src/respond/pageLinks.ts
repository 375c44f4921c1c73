// Links between pages: first, previous, next and last.
import type { ListQuery } from '../model/query.ts'

type Paging = Pick<ListQuery, 'page' | 'pageSize' | 'seek'>

/**
 * Returns the numbers of the pages to which links lead. A number is null if the page has no such link. `rows`: the number of rows
 * on this page. `hasMore`: true if there are more rows in the direction of `seek`. Spec 4.3
 */
export function pageLinksOf({ page, pageSize, seek }: Paging, total: number, rows: number, hasMore: boolean) {
  const last = Math.max(1, Math.ceil(total / pageSize))
  // If this page is past the end, the previous page is the last one.
  const previous = page > 1 ? Math.min(page - 1, last) : null
  if (seek === null) return { previous, next: page < last ? page + 1 : null, isFirst: page === 1, isLast: page === last, last }
  const isForward = seek.side === 'after'
  // No row is left in the direction of `seek`: this page is after the last page, or before the first.
  if (rows === 0) return { previous: isForward ? last : null, next: isForward ? null : 1, isFirst: false, isLast: false, last }
  // In the direction of `seek`, the found rows decide whether another page follows. The page's number cannot decide that: added
  // or deleted rows may have moved the pages, and a client that follows links to the end must see every row. In the opposite
  // direction, there is always the page from which the client came.
  const [hasBefore, hasAfter] = isForward ? [true, hasMore] : [hasMore, true]
  const within = (number: number) => Math.min(Math.max(number, 1), last)
  const number = within(page)
  return {
    previous: hasBefore ? within(number - 1) : null,
    next: hasAfter ? within(number + 1) : null,
    isFirst: !hasBefore,
    isLast: !hasAfter,
    last,
  }
}

/**
 * Adds the links of a page to its headers. `cursors`: the cursor of each link; null: the link is written without a cursor. Spec
 * 4.3; `Link` is of RFC 8288.
 */
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

/** Matches the parameter `cursor` in a link. The parameter follows the page's number. */
export const CURSOR_PARAMETER = /&cursor=[\w-]+/

/**
 * Returns the parameter for a cursor; '' if there is no cursor, or the link would be longer than a target that the server
 * accepts.
 */
function parameter(address: string, cursor: string | null): string {
  const text = cursor === null ? '' : `&cursor=${cursor}`
  return address.length + PAGE_DIGITS_MAX + text.length > TARGET_LENGTH_MAX ? '' : text
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).join(', ')
}

/**
 * Maximum length of a request target. The links in `Location` repeat it up to four times, and clients accept a head of 16 KiB.
 */
export const TARGET_LENGTH_MAX = 3 * 1024
const PAGE_DIGITS_MAX = 16

/** Characters that clients send raw although URIs do not allow them; a # would begin a fragment. RFC 3986, 2. */
const NOT_IN_URIS = /[#|\\^`{}[\]]/g

/** Percent-encodes the characters of a request target that URIs do not allow. */
export function encodeRaw(text: string): string {
  return text.search(NOT_IN_URIS) === -1 ? text : text.replace(NOT_IN_URIS, encodeURIComponent)
}
