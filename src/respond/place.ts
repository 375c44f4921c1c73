import type { ListQuery } from '../model/query.ts'

/** Where a page lies in its list, as far as the links go. */
export interface Place {
  /** The number of the page before; null: there is none. */
  readonly previous: number | null
  readonly next: number | null
  readonly isFirst: boolean
  readonly isLast: boolean
  /** The number of the last page. */
  readonly last: number
}

/** `rows`: how many the page has. `hasMore`: whether there were more where it was sought. Spec 4.3 */
export function placeOf({ page, pageSize, seek }: ListQuery, total: number, rows: number, hasMore: boolean): Place {
  const last = Math.max(1, Math.ceil(total / pageSize))
  if (seek === null) return numberedPlace(page, last)
  return rows === 0 ? outside(seek.side, last) : soughtPlace(seek.side, page, last, hasMore)
}

/** Past the last page the previous one is the last there is. */
function numberedPlace(page: number, last: number): Place {
  return {
    previous: page > 1 ? Math.min(page - 1, last) : null,
    next: page < last ? page + 1 : null,
    isFirst: page === 1,
    isLast: page === last,
    last,
  }
}

/**
 * What is there decides, not the number: rows that came or went meanwhile have moved the pages, and who follows a link
 * to its end must meet every row. On the side from which it was sought there is the page that had the link.
 */
function soughtPlace(side: 'behind' | 'before', page: number, last: number, hasMore: boolean): Place {
  const [hasBefore, hasBehind] = side === 'behind' ? [true, hasMore] : [hasMore, true]
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

/** Nothing is left on that side: the page lies behind the last, or before the first. */
function outside(side: 'behind' | 'before', last: number): Place {
  const [previous, next] = side === 'behind' ? [last, null] : [null, 1]
  return { previous, next, isFirst: false, isLast: false, last }
}
