import { expect, test } from 'bun:test'
import { defineEntity, identity, reference, text } from '../../src/model/entity.ts'
import { listCostOf } from '../../src/model/listCost.ts'
import { unionFilter } from '../../src/model/query.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'

const note = defineEntity('Note', {
  id: identity(),
  title: text(),
  body: text({ indexed: false }),
  code: text({ indexed: false, unique: true }),
  authorId: reference('Author'),
})

test.each([
  ['', false],
  ['Title=a&Title=>b&Title=!=c&sort=-Title', false],
  ['sort=Title,-Id,Body', false],
  ['Code=a&sort=Code', false],
  ['page=9', false],
  ['Title[contains]=a', true],
  ['Id=1&Title[begins]=a', true],
  ['sort=Body', true],
  ['Body=a', true],
  ['sort=Title,Code', true],
])('a list of %p is costly: %p', (query, isCostly) => {
  expect(listCostOf(note, parseList(wholeView(note), query))).toEqual({ parentRow: null, isCostly })
})

test('a list with an equality filter on a reference has the referenced row as its parent; a list with a range has no parent', () => {
  expect(listCostOf(note, parseList(wholeView(note), 'Title[contains]=a&AuthorId=3'))).toEqual({
    parentRow: 'author_id 3',
    isCostly: true,
  })
  expect(listCostOf(note, parseList(wholeView(note), 'AuthorId=>3')).parentRow).toBe(null)
})

test.each([
  [['AuthorId=3', 'AuthorId=4'], 'author_id 3 | author_id 4', false],
  [['AuthorId=3', 'Title=a&AuthorId=4'], 'author_id 3 | author_id 4', false],
  [['AuthorId=3', 'Title=a'], null, false],
  [['AuthorId=3', 'Title[contains]=a'], null, true],
  [['AuthorId=3', 'Body=a&AuthorId=4'], 'author_id 3 | author_id 4', true],
] as const)(
  'a union has the parent rows of its alternatives if each has one, and is costly if one of them is: %p',
  (alternatives, parentRow, isCostly) => {
    const union = unionFilter(
      note,
      alternatives.map((query) => parseList(wholeView(note), query).filters),
    )
    expect(listCostOf(note, { filters: [union], sorts: [] })).toEqual({ parentRow, isCostly })
  },
)
