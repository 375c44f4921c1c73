import { describe, expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { Cursors } from '../../src/model/cursor.ts'
import type { Seek } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { respondPage } from '../../src/respond/page.ts'
import type { BytesReply } from '../../src/respond/reply.ts'

const URL = 'http://localhost:3000/Companies'

/** `rows`: with whatever stands in front of their columns. */
function respond(query: string, total: number, rows?: Row[]) {
  const page = parseList(company, query)
  const past = (page.page - 1) * page.pageSize >= total
  const own: Row[] = past ? (page.page === 1 ? [] : [['in front', null, null, null]]) : [['in front', '1', 'A', 't']]
  return shown(respondPage(company, page, { rows: rows ?? own, total }, URL))
}

const shown = (reply: BytesReply) => ({ ...reply, body: new TextDecoder().decode(reply.body) })

test('the rows as a JSON array, with their total', () => {
  const { status, headers, body } = respond('PageSize=5', 12, [
    ['12', '1', 'A', 't'],
    [null, '2', null, 'f'],
  ])
  expect(status).toBe(200)
  expect(body).toBe('[{"id":1,"name":"A","enabled":true},{"id":2,"name":null,"enabled":false}]')
  expect(headers['X-Total-Count']).toBe('12')
  expect(headers['Content-Type']).toBe('application/json; charset=utf-8')
})

test('nothing found: an empty array, total 0, no link', () => {
  expect(respond('', 0)).toEqual({
    status: 200,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Total-Count': '0',
      ETag: expect.stringMatching(/^W\/"[0-9a-z]{1,13}"$/),
    },
    body: '[]',
  })
})

test('D42: the tag stands for the rows, the total and the links, and a page without links has one of its rows', () => {
  const tagOf = (text: string, total: number) => respond(text, total).headers.ETag
  expect(tagOf('', 3)).toBe(tagOf('', 3))
  const tags = [tagOf('', 3), tagOf('', 4), tagOf('', 30), tagOf('page=2', 30), tagOf('PageSize=5', 30)]
  expect(new Set(tags).size).toBe(tags.length)
})

test('D31: both headers of a page in the middle, to the letter', () => {
  const { Location, Link } = respond('Name=a|b&PageSize=5&page=2', 30).headers
  const link = (page: number, relation: string) => `<${URL}?Name=a%7Cb&PageSize=5&page=${page}>; rel="${relation}"`
  expect(Location).toBe([link(1, 'first'), link(1, 'previous'), link(3, 'next'), link(6, 'last')].join(', '))
  expect(Link).toBe([link(1, 'first'), link(1, 'prev'), link(3, 'next'), link(6, 'last')].join(', '))
})

test('what no URI has is percent-encoded in links, wherever it stands and in each answer anew', () => {
  for (let turn = 0; turn < 3; turn++)
    expect(respond('Name=#|\\^`{}&PageSize=5', 12).headers.Location).toStartWith(
      `<${URL}?Name=%23%7C%5C%5E%60%7B%7D&PageSize=5&page=2>`,
    )
})

describe('D32: with a secret, links to the next and the previous page have a cursor', () => {
  const cursors = new Cursors('secret')
  const row = (id: number, name: string | null): Row => ['in front', String(id), name, 'f']
  const rows = [row(3, 'c'), row(2, null), row(9, 'a'), row(8, 'a'), row(7, '')]

  function respondTo(query: string, answered: Row[], seek: Seek | null = null) {
    const page = { ...parseList(company, query), seek }
    const { headers, body } = shown(respondPage(company, page, { rows: answered, total: 30 }, URL, cursors))
    const links = [...(headers.Location ?? '').matchAll(/<[^>]*page=(\d+)(?:&cursor=([\w-]+))?>; rel="(\w+)"/g)]
    const read = (text: string) => cursors.read(company, page, text)
    const seeks = links.map(([, number, text, relation]) => [relation, number, text === undefined ? null : read(text)])
    return { ids: JSON.parse(body).map(({ id }: { id: number }) => id), seeks, headers }
  }

  test('of the row that the link leads away from', () => {
    expect(respondTo('sort=Name,-Enabled&PageSize=5&page=3', rows).seeks).toEqual([
      ['first', '1', null],
      ['previous', '2', { side: 'before', position: ['c', 'f', '3'] }],
      ['next', '4', { side: 'behind', position: ['', 'f', '7'] }],
      ['last', '6', null],
    ])
  })

  test('the row beyond what was sought is not shown, whichever side it is on', () => {
    const more = [...rows, row(5, 'e')]
    const behind = respondTo('PageSize=5&page=2', more, { side: 'behind', position: ['1'] })
    expect([behind.ids, behind.seeks[2]]).toEqual([
      [3, 2, 9, 8, 7],
      ['next', '3', { side: 'behind', position: ['7'] }],
    ])
    const before = respondTo('PageSize=5&page=2', more, { side: 'before', position: ['1'] })
    expect([before.ids, before.seeks[1]]).toEqual([
      [2, 9, 8, 7, 5],
      ['previous', '1', { side: 'before', position: ['2'] }],
    ])
  })
})
