import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { pagesOf } from '../support/pageLinks.ts'
import { listed } from '../support/rows.ts'
import { errorOf, startServer, type TestServer } from '../support/server.ts'

const ROWS = 55

let server: TestServer
let ids: number[]
beforeAll(async () => {
  server = await startServer()
  const rows = await server.sql`
    insert into company (name, enabled)
    select 'Company ' || lpad(n::text, 2, '0'), n <= 12 from generate_series(1, ${ROWS}::int) as n order by n
    returning id::int`
  ids = rows.map(({ id }) => id)
})
afterAll(() => server.stop())

const page = (query: string) => listed(server, `/Companies?${query}`, 'id')
const refusal = async (query: string) => errorOf(await server.get(`/Companies?${query}`))

describe('4.2 Paging', () => {
  test('rule 1: results come in pages that together hold each row once', async () => {
    const pages: number[][] = []
    for (let number = 1; number <= 6; number++) pages.push(await page(`PageSize=10&page=${number}`))
    expect(pages.map((rows) => rows.length)).toEqual([10, 10, 10, 10, 10, 5])
    expect(pages.flat()).toEqual(ids)
  })

  test('rule 1: without page it is the first', async () => {
    expect(await page('PageSize=7')).toEqual(await page('PageSize=7&page=1'))
  })

  test('rule 2: PageSize 75 yields 50, without a warning', async () => {
    const { status, headers, body } = await server.get('/Companies?PageSize=75')
    expect({ status, rows: body.length, warning: headers.get('warning') }).toEqual({
      status: 200,
      rows: 50,
      warning: null,
    })
  })

  test.each([
    ['5', 5],
    ['6', 6],
    ['49', 49],
    ['50', 50],
    ['51', 50],
    ['4', 5],
    ['1', 5],
    ['0', 5],
    ['-3', 5],
    ['007', 7],
    ['99999999999999999999999', 50],
    ['-99999999999999999999999', 5],
  ])('rule 2, D28: PageSize %s yields %d', async (size, rows) => {
    expect(await page(`PageSize=${size}`)).toEqual(ids.slice(0, rows))
  })

  test('rule 3, D28: the default page size is 20', async () => {
    expect(await page('')).toEqual(ids.slice(0, 20))
    expect(await page('page=2')).toEqual(ids.slice(20, 40))
    expect(await page('page=3')).toEqual(ids.slice(40))
  })

  test.each(['abc', '5.5', '10.0', '1e1', '0x10', '1_0', '%2B10', '+10', '%2010', '10%20', '10,20', '=10', 'NaN', ''])(
    'D28: PageSize=%s is 400 InvalidPageSize',
    async (size) => {
      expect(await refusal(`PageSize=${size}`)).toEqual({ status: 400, code: 'InvalidPageSize', target: 'PageSize' })
    },
  )

  test.each(['abc', '0', '-1', '-99999999999999999999999', '1.5', '1e1', '0x1', '%2B1', '%201', 'Infinity', ''])(
    'D28: page=%s is 400 InvalidPage',
    async (number) => {
      expect(await refusal(`page=${number}`)).toEqual({ status: 400, code: 'InvalidPage', target: 'page' })
    },
  )

  test('D28: PageSize or page given twice is 400, in whatever case, even if the values agree', async () => {
    expect(await refusal('PageSize=10&PageSize=20')).toMatchObject({ status: 400, code: 'InvalidPageSize' })
    expect(await refusal('PageSize=10&pagesize=10')).toMatchObject({ status: 400, code: 'InvalidPageSize' })
    expect(await refusal('page=1&page=2')).toMatchObject({ status: 400, code: 'InvalidPage' })
    expect(await refusal('page=1&PAGE=1')).toMatchObject({ status: 400, code: 'InvalidPage' })
  })

  test.each(['7', '1000', '9007199254740993', '9223372036854775808', '9'.repeat(400)])(
    'D28, D29: page %s is past the end: 200, [], the true total',
    async (number) => {
      const answer = await server.get(`/Companies?PageSize=10&page=${number}`)
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: '[]' })
      expect(answer.headers.get('x-total-count')).toBe(String(ROWS))
    },
  )

  test('D29: past the last page the links are first, previous (the last real page) and last', async () => {
    const answer = await server.get('/Companies?PageSize=10&page=9')
    expect(pagesOf(answer)).toEqual({ first: '1', previous: '6', last: '6' })
    expect(await page('PageSize=10&page=6')).toEqual(ids.slice(50))
  })

  test('D29: past the last page of a filtered list the total is that of the filter', async () => {
    const answer = await server.get('/Companies?Enabled=true&PageSize=5&page=4')
    expect({ text: answer.text, total: answer.headers.get('x-total-count') }).toEqual({ text: '[]', total: '12' })
    expect(pagesOf(answer)).toEqual({ first: '1', previous: '3', last: '3' })
  })

  test('D30: X-Total-Count counts the rows that match the filters, on every page', async () => {
    for (const [query, total] of [
      ['', '55'],
      ['PageSize=50&page=2', '55'],
      ['Enabled=true', '12'],
      ['Enabled=true&PageSize=5&page=2', '12'],
      ['Enabled=true&PageSize=5&page=3', '12'],
      ['Name=Company+07', '1'],
      ['Name=nobody', '0'],
    ]) {
      const { headers } = await server.get(`/Companies?${query}`)
      expect({ query, total: headers.get('x-total-count') }).toEqual({ query, total } as never)
    }
  })
})
