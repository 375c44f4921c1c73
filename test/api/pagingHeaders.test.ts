import { beforeAll, describe, expect, test } from 'bun:test'
import { outcomeOf } from '../support/cases.ts'
import { pageLinksOf, pagesOf } from '../support/pageLinks.ts'
import { sendRaw } from '../support/raw.ts'
import { createRow } from '../support/rows.ts'
import type { Answer } from '../support/server.ts'
import { startServer, useServer } from '../support/start.ts'
import { titled } from '../support/titles.ts'

// test/properties/lists.test.ts compares pages, totals and links of random lists with a model.

const ROWS = 55
const IDS = Array.from({ length: ROWS }, (_, index) => index + 1)

const server = useServer()
beforeAll(async () => {
  await server.sql`insert into company (name, enabled) select '<' || n, n <= 12 from generate_series(1, ${ROWS}::int) as n`
})

const get = (query: string) => server.get(`/Companies?${query}`)
const idsOf = ({ body }: Answer): number[] => body.map(({ id }: { id: number }) => id)
const totalOf = ({ headers }: Answer) => headers.get('x-total-count')

describe('4.2 Paging', () => {
  test.each([
    [5, ['5', '4', '0', '-3', '-99999999999999999999999']],
    [7, ['7', '007']],
    [49, ['49']],
    [50, ['50', '51', '75', '99999999999999999999999']],
  ])('rule 2, D28: a page has %d rows with a PageSize of %j, without a warning', async (rows, sizes) => {
    for (const size of sizes) {
      const answer = await get(`PageSize=${size}`)
      expect([size, idsOf(answer), answer.headers.get('warning')]).toEqual([size, IDS.slice(0, rows), null])
    }
  })

  const sizes = ['abc', '5.5', '10.0', '1e1', '0x10', '1_0', '%2B10', '+10', '%2010', '10%20', '10,20', '=10', 'NaN', '']
  const pages = ['abc', '0', '-1', '-99999999999999999999999', '1.5', '1e1', '0x1', '%2B1', '%201', 'Infinity', '']
  test.each([
    ...sizes.map((size) => [`PageSize=${size}`, '400 InvalidPageSize PageSize']),
    ...pages.map((page) => [`page=${page}`, '400 InvalidPage page']),
    ['PageSize=10&PageSize=20', '400 InvalidPageSize PageSize'],
    ['PageSize=10&pagesize=10', '400 InvalidPageSize PageSize'],
    ['page=1&page=2', '400 InvalidPage page'],
    ['page=1&PAGE=1', '400 InvalidPage page'],
  ])('D28: the query %s is %s', async (query, expected) => expect(outcomeOf(await get(query as string))).toBe(expected as string))

  const pastTheEnd = titled([
    ...['7', '1000', '9007199254740993', '9223372036854775808', '9'.repeat(400)].map((page) => [page, '', '55', '6'] as const),
    ['9', '&Enabled=true', '12', '2'],
  ])
  test.each(pastTheEnd)(
    'D28, D29: page %s is past the end: 200, [], the true total, and links to real pages',
    async (_, page, more, total, last) => {
      const answer = await get(`PageSize=10&page=${page}${more}`)
      expect([answer.status, answer.text, totalOf(answer)]).toEqual([200, '[]', total])
      expect(pagesOf(answer)).toEqual({ first: '1', previous: last, last })
    },
  )
})

describe('4.3 Paging response headers', () => {
  test.each([
    ['the first page has no first and no previous link', 'PageSize=10', { next: '2', last: '6' }],
    ['page=1 has the links of the first page', 'PageSize=10&page=1', { next: '2', last: '6' }],
    ['a page in the middle has all four links', 'PageSize=10&page=3', { first: '1', previous: '2', next: '4', last: '6' }],
    ['the last page has no next and no last link', 'PageSize=10&page=6', { first: '1', previous: '5' }],
    ['a last page that is exactly full has no next link', 'Enabled=true&PageSize=6&page=2', { first: '1', previous: '1' }],
    ['D31: a list of one page has no links', 'Enabled=true', {}],
    ['D31: a list without rows has no links', 'Name=nobody', {}],
  ])('%s, for the query %s', async (_, query, pages) => {
    const answer = await get(query)
    expect(pagesOf(answer)).toEqual(pages)
    expect([answer.headers.has('location'), answer.headers.has('link')]).toEqual(Array(2).fill(Object.keys(pages).length > 0))
  })

  test('links keep the other query parameters as the client wrote them', async () => {
    const links = pageLinksOf(await get('enabled=TRUE&Name=%3E%3D%3c&page=2&sort=-Name,+Id&PageSize=5'))
    expect(links.map(({ relation }) => relation)).toEqual(['first', 'previous', 'next', 'last'])
    for (const { url } of links)
      expect(url.search.startsWith('?enabled=TRUE&Name=%3E%3D%3c&sort=-Name,+Id&PageSize=5&')).toBe(true)
    for (const { url } of pageLinksOf(await get('Id=%3E0&Id=%3C1000&pagesize=5&page=2')))
      expect([url.searchParams.getAll('Id'), url.searchParams.get('pagesize')]).toEqual([['>0', '<1000'], '5'])
  })

  test('a # in the query of a link is escaped, so that it begins no fragment', async () => {
    const { head } = await sendRaw(server, 'GET /Companies?Name=!=#x&PageSize=5')
    expect(head).toContain('?Name=!=%23x&PageSize=5&page=2&cursor=')
  })

  test('HEAD has the paging headers of GET', async () => {
    const path = '/Companies?PageSize=5&page=3'
    const head = await server.send('HEAD', path)
    expect([head.status, head.text, totalOf(head)]).toEqual([200, '', '55'])
    expect(pagesOf(head)).toEqual(pagesOf(await server.get(path)))
  })

  test('D31: with PUBLIC_URL every link begins with it', async () => {
    const behind = await startServer({ environment: { PUBLIC_URL: 'https://api.example.com/people/' } })
    const { id } = await createRow(behind, '/Companies', { Name: 'One' })
    await behind.sql`insert into company (name) select 'More' from generate_series(1, 14)`
    const links = pageLinksOf(await behind.get('/Companies?PageSize=5&page=2'))
    const addresses = links.map(({ url }) => url.origin + url.pathname)
    expect(addresses).toEqual(Array(4).fill('https://api.example.com/people/Companies'))
    const created = await behind.post('/companies', { Name: 'Two' })
    expect(created.headers.get('location')).toBe(`https://api.example.com/people/companies/${created.body.id}`)
    const { Reference } = (await behind.get(`/Companies/${id + 1_000}`)).body.Error
    expect(Reference).toBe('https://api.example.com/people/errors/NotFound')
  })
})
