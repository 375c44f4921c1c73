import { describe, expect, test } from 'bun:test'
import type { ListQuery } from '../../src/model/query.ts'
import { pageLinksOf } from '../../src/respond/pageLinks.ts'

/** `first previous=1 next=3 last=5`: the links that apply to a page of up to five rows of 23. */
function links(page: number, side: 'behind' | 'before', rows: number, hasMore: boolean): string {
  const query: ListQuery = { filters: [], sorts: [], pageSize: 5, page, seek: { side, position: ['7'] }, kept: '', choice: null }
  const { previous, next, isFirst, isLast, last } = pageLinksOf(query, 23, rows, hasMore)
  const parts = [isFirst || 'first', previous && `previous=${previous}`, next && `next=${next}`, isLast || `last=${last}`]
  return parts.filter((part) => typeof part === 'string').join(' ')
}

describe('D32: beside a row, what is there decides', () => {
  test.each([
    [3, 'behind', 5, true, 'first previous=2 next=4 last=5'],
    [3, 'behind', 5, false, 'first previous=2'],
    [5, 'behind', 5, true, 'first previous=4 next=5 last=5'],
    [9, 'behind', 5, true, 'first previous=4 next=5 last=5'],
    [1, 'behind', 2, false, 'first previous=1'],
    [3, 'behind', 0, false, 'first previous=5 last=5'],
    [3, 'before', 5, true, 'first previous=2 next=4 last=5'],
    [3, 'before', 5, false, 'next=4 last=5'],
    [1, 'before', 5, true, 'first previous=1 next=2 last=5'],
    [1, 'before', 5, false, 'next=2 last=5'],
    [9, 'before', 5, true, 'first previous=4 next=5 last=5'],
    [3, 'before', 0, false, 'first next=1 last=5'],
  ] as const)('page %d, %s, %d rows, more of them: %p', (page, side, rows, hasMore, expected) => {
    expect(links(page, side, rows, hasMore)).toBe(expected)
  })
})
