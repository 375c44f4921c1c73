import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { parseList } from '../../src/parse/list.ts'

const fault = (query: string) => faultOf(() => parseList(company, query))

function faultOf(parse: () => unknown) {
  try {
    parse()
  } catch (error) {
    return error as { code: string; target: string }
  }
  throw new Error('it was accepted')
}

test('D27, D28: nothing asked for is page 1 of 20, without filters or sorts', () => {
  expect(parseList(company, '')).toEqual({
    ...{ filters: [], sorts: [], pageSize: 20, page: 1, seek: null, kept: '', choice: null },
  })
})

test('collects filters and sorts in the order written, whatever stands between', () => {
  const query = parseList(absence, 'Start=%3E2024-01-01T00:00:00Z&sort=-Start&PageSize=7&Start=<2025-01-01T00:00:00Z&page=3')
  expect(query.filters.map(({ property, operator, value }) => `${property.name}${operator.sign}${value}`)).toEqual([
    'Start>2024-01-01T00:00:00Z',
    'Start<2025-01-01T00:00:00Z',
  ])
  expect(query.sorts.map(({ property, direction }) => `${property.name} ${direction}`)).toEqual(['Start descending'])
  expect([query.pageSize, query.page]).toEqual([7, 3])
})

test('D1: the parameters of paging and sorting match in any case', () => {
  const { pageSize, page, sorts } = parseList(company, 'pagesize=6&PAGE=2&Sort=Name')
  expect([pageSize, page, sorts.length]).toEqual([6, 2, 1])
})

test('D28: links keep everything but the page, as the client wrote it', () => {
  expect(parseList(company, 'Name=%41&page=2&PageSize=075&&sort=+Name').kept).toBe('Name=%41&PageSize=075&sort=+Name')
})

describe('D32: a cursor', () => {
  const cursors = new Cursors('secret')
  const list = parseList(company, 'Name=!=x&sort=-Name')
  const seek = { side: 'behind', position: ['b', '7'] } as const
  const cursor = cursors.write(company, list, seek)

  test('tells where the page lies; page stays its number, 1 if there is none', () => {
    const parsed = (query: string) => parseList(company, `Name=!=x&sort=-Name${query}`, cursors)
    expect(parsed(`&page=7&cursor=${cursor}`)).toMatchObject({ seek, page: 7 })
    expect(parsed(`&Cursor=${cursor}`)).toMatchObject({ seek, page: 1 })
    expect(parsed('&page=7')).toMatchObject({ seek: null, page: 7 })
  })

  test('is not kept for the links, wherever it stands', () => {
    const { kept } = parseList(company, `Name=!=x&cursor=${cursor}&sort=-Name&page=2`, cursors)
    expect(kept).toBe('Name=!=x&sort=-Name')
  })

  test.each(['x', '', `${cursor}x`, `${cursor}&cursor=${cursor}`, `${cursor}&CURSOR=x`])(
    'that is none, or given twice, is InvalidCursor: %s',
    (text) => {
      const query = `Name=!=x&sort=-Name&cursor=${text}`
      expect(faultOf(() => parseList(company, query, cursors))).toMatchObject({
        code: 'InvalidCursor',
        target: 'cursor',
      })
    },
  )

  test('is InvalidCursor where there is no secret to read it with', () => {
    expect(fault(`Name=!=x&sort=-Name&cursor=${cursor}`)).toMatchObject({ code: 'InvalidCursor', target: 'cursor' })
  })
})

test('D28: twice is refused, also where both say the same or one is wrong', () => {
  expect(fault('page=1&Page=1')).toMatchObject({ code: 'InvalidPage', target: 'page' })
  expect(fault('PageSize=5&pagesize=5')).toMatchObject({ code: 'InvalidPageSize', target: 'PageSize' })
})

test('D28: empty is refused', () => {
  expect(fault('page=').code).toBe('InvalidPage')
  expect(fault('PageSize').code).toBe('InvalidPageSize')
})

describe('D25: at most 32 filters', () => {
  test('32 are taken', () => {
    expect(parseList(company, 'Name=!=x&'.repeat(32)).filters).toHaveLength(32)
  })

  test('33 are TooManyFilters', () => {
    expect(fault('Name=!=x&'.repeat(33))).toMatchObject({ code: 'TooManyFilters', target: 'Api' })
  })

  test('sorts and paging are not filters', () => {
    expect(parseList(company, `${'Name=!=x&'.repeat(32)}sort=Name&page=2&PageSize=5`).filters).toHaveLength(32)
  })
})

test('D21: an unknown parameter is refused, beside valid ones too', () => {
  expect(fault('Name=a&Colour=red')).toMatchObject({ code: 'UnknownParameter', target: 'Colour' })
  expect(fault('=').code).toBe('UnknownParameter')
})
