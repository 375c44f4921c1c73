import { expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import type { Row } from '../../src/model/sql.ts'
import { parseList } from '../../src/parse/list.ts'
import { respondPage } from '../../src/respond/page.ts'

const URL = 'http://localhost:3000/Companies'

function respond(query: string, total: number) {
  const page = parseList(company, query)
  // Whatever stands in front of the columns of a row is passed over.
  const rows: Row[] = [['in front', '1', 'A', 't']]
  return respondPage(company, page, { rows, total }, URL)
}

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
