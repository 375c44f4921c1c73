import { expect, test } from 'bun:test'
import { demandOf } from '../../src/model/demand.ts'
import { defineEntity, identity, reference, text } from '../../src/model/entity.ts'
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
  expect(demandOf(note, parseList(note, query))).toEqual({ owner: null, isCostly })
})

test('a list of one row has it as its owner', () => {
  expect(demandOf(note, parseList(note, 'Title[contains]=a&AuthorId=3'))).toEqual({ owner: 'author_id 3', isCostly: true })
  expect(demandOf(note, parseList(note, 'AuthorId=>3')).owner).toBe(null)
})
