import { describe, expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { parseList } from '../../src/parse/list.ts'

test('D27, D28: nothing asked for is page 1 of 20, without filters or sorts', () => {
  expect(parseList(company, '')).toEqual({
    ...{ filters: [], sorts: [], pageSize: 20, page: 1, seek: null, kept: '', choice: null },
  })
})

test('D28: links keep everything but the page, as the client wrote it', () => {
  expect(parseList(company, 'Name=%41&page=2&PageSize=075&&sort=+Name').kept).toBe('Name=%41&PageSize=075&sort=+Name')
})

describe('D32: a cursor', () => {
  const cursors = new Cursors('secret')
  const QUERY = 'Name=!=x&sort=-Name'
  const seek = { side: 'behind', position: ['b', '7'] } as const
  const cursor = cursors.write(company, parseList(company, QUERY), seek)
  const invalid = expect.objectContaining({ code: 'InvalidCursor', target: 'cursor' })

  test('tells where the page lies, and is not kept for the links; page stays its number, 1 if there is none', () => {
    const parsed = (query: string) => parseList(company, `${QUERY}${query}`, cursors)
    expect(parsed(`&page=7&cursor=${cursor}`)).toMatchObject({ seek, page: 7, kept: QUERY })
    expect(parsed(`&Cursor=${cursor}`)).toMatchObject({ seek, page: 1 })
    expect(parsed('&page=7')).toMatchObject({ seek: null, page: 7 })
  })

  test('that is none, or given twice, is InvalidCursor, as is any where there is no secret to read it with', () => {
    for (const text of ['x', '', `${cursor}x`, `${cursor}&cursor=${cursor}`, `${cursor}&CURSOR=x`])
      expect(() => parseList(company, `${QUERY}&cursor=${text}`, cursors)).toThrow(invalid)
    expect(() => parseList(company, `${QUERY}&cursor=${cursor}`)).toThrow(invalid)
  })
})

test('D25: sorts and paging are not among the 32 filters', () => {
  expect(parseList(company, `${'Name=!=x&'.repeat(32)}sort=Name&page=2&PageSize=5`).filters).toHaveLength(32)
})

test('D21: a parameter without a name is unknown', () => {
  expect(() => parseList(company, '=')).toThrow(expect.objectContaining({ code: 'UnknownParameter' }))
})
