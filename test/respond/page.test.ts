import { expect, test } from 'bun:test'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { FoundPage } from '../../src/columns/listSearch.ts'
import { Cursors } from '../../src/model/cursor.ts'
import { defineEntity, identity, text } from '../../src/model/entity.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseList } from '../../src/parse/list.ts'
import { type CodedRows, respondPage } from '../../src/respond/page.ts'
import { codeUnitTexts } from '../support/codeUnitOrder.ts'

const person = defineEntity('Person', { id: identity(), name: text() })
const cursors = new Cursors('secret')
const query = parseList(wholeView(person), '', cursors)

const texts = codeUnitTexts(() => [])
const table = new ColumnTable(person, 2, texts, { has: () => true })
table.put(['1', 'Ada'])
table.put(['2', 'Grace'])
const found = table.lists.find(query) as FoundPage

function bodyOf(rows: CodedRows): string {
  const { body } = respondPage(wholeView(person), query, { rows, total: 2 }, 'http://localhost/People', cursors)
  return Buffer.from(body).toString()
}

test('a page has no byte of an earlier page that failed while a value was written', () => {
  const { rows } = found
  const faulty: CodedRows = {
    length: rows.length,
    print: (index, place) => rows.print(index, place),
    hasValue: (index, place) => rows.hasValue(index, place),
    write(index, place, into) {
      if (index === 1) throw new Error('a cell that cannot be written')
      rows.write(index, place, into)
    },
  }
  const whole = bodyOf(rows)
  expect(JSON.parse(whole)).toEqual([
    { id: 1, name: 'Ada' },
    { id: 2, name: 'Grace' },
  ])
  expect(() => bodyOf(faulty)).toThrow('a cell that cannot be written')
  expect(bodyOf(rows)).toBe(whole)
})
