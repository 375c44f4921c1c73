import { describe, expect, test } from 'bun:test'
import type { ListQuery } from '../../src/model/query.ts'
import { pageLinksOf } from '../../src/respond/pageLinks.ts'

/** `first previous=1 next=3 last=5`: the links that apply to a page of up to five rows. */
function links(page: number, side: 'behind' | 'before' | null, total: number, rows: number, hasMore: boolean): string {
  const seek = side && { side, position: ['7'] }
  const query: ListQuery = { filters: [], sorts: [], pageSize: 5, page, seek, kept: '', choice: null }
  const { previous, next, isFirst, isLast, last } = pageLinksOf(query, total, rows, hasMore)
  const parts = [isFirst || 'first', previous && `previous=${previous}`, next && `next=${next}`, isLast || `last=${last}`]
  return parts.filter((part) => typeof part === 'string').join(' ')
}

describe('by number, the total decides', () => {
  test.each([
    [1, 23, 5, 'next=2 last=5'],
    [3, 23, 5, 'first previous=2 next=4 last=5'],
    [5, 23, 3, 'first previous=4'],
    [9, 23, 0, 'first previous=5 last=5'],
    [1, 0, 0, ''],
    [2, 0, 0, 'first previous=1 last=1'],
  ])('page %d of %d rows', (page, total, rows, expected) => {
    expect(links(page, null, total, rows, false)).toBe(expected)
  })
})

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
    expect(links(page, side, 23, rows, hasMore)).toBe(expected)
  })
})
