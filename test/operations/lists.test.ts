import { expect, test } from 'bun:test'
import { Cursors } from '../../src/model/cursor.ts'
import { decimal, defineEntity, identity, text } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { suggestCheaperQuery } from '../../src/operations/lists.ts'
import { parseList } from '../../src/parse/list.ts'

const thing = defineEntity('Thing', {
  id: identity(),
  name: text(),
  weight: decimal(2),
  note: text({ indexed: false }),
})
const advice = (query: string) => suggestCheaperQuery(parseList(wholeView(thing), query, new Cursors('secret')))

test.each([
  ['', 'filter with = or a range that few rows match; !=, [begins], [contains] and no filter at all read every row'],
  ['Name=!=x', 'filter with = or a range that few rows match'],
  ['Name[contains]=x', 'filter with = or a range that few rows match'],
  ['Name=x', 'narrow the ranges, or add a filter that few rows match'],
  ['Name=x&sort=Weight,Name', 'sort by one property, such as Weight'],
  ['Name=x&sort=Note', 'sort by another property than Note, which has no index'],
  ['Name=x&page=70', 'follow the link "next" page by page instead of asking for page 70'],
])('the advice for a list of %p names cheaper queries. D39', (query, expected) => {
  expect(advice(query)).toContain(expected)
})

test('D39: the advice for a list names only the filters and sorts that make it costly', () => {
  expect(advice('Name=x&sort=Weight')).toBe('narrow the ranges, or add a filter that few rows match')
})
