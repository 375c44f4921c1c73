import { describe, expect, test } from 'bun:test'
import { type RowForm, readNotification } from '../../src/changes/notification.ts'

/** Of a table with columns a, b, c; the rows wanted are c, a. */
const FORM: RowForm = { places: [2, 0], width: 3 }
const read = (payload: string) => readNotification(payload, (table) => (table === 'shop' ? FORM : undefined))
const ROW = 'shop there 77 0a1b.1 '

describe('of a notification', () => {
  test('rows have the wanted columns, in the wanted order', () =>
    expect(read(`${ROW}(1,x,t)(1,y,f)`)).toEqual({
      table: 'shop',
      machine: 'there',
      change: { transaction: 77, before: ['t', '1'], after: ['f', '1'] },
    }))

  test('a row that came has none before; a writer without a name is none', () =>
    expect(read('shop  77 0a1b.1 -(1,x,t)')).toEqual({
      table: 'shop',
      machine: '',
      change: { transaction: 77, before: null, after: ['t', '1'] },
    }))

  test('a row that went has none after', () =>
    expect(read(`${ROW}(1,x,t)-`).change).toEqual({ transaction: 77, before: ['t', '1'], after: null }))

  test('nulls, empty texts, quotes, backslashes, brackets, commas and lines are those of the row', () => {
    const values: [printed: string, value: string | null][] = [
      ['', null],
      ['""', ''],
      ['"a ""b"" c"', 'a "b" c'],
      ['"\\\\"', '\\'],
      ['"\\\\"""', '\\"'],
      ['"),("', '),('],
      ['")(1,x,t)-"', ')(1,x,t)-'],
      ['"a\nb\tc"', 'a\nb\tc'],
      ['-', '-'],
      ['日本😀', '日本😀'],
    ]
    for (const [printed, value] of values) {
      expect(read(`${ROW}(1,x,${printed})-`).change?.before).toEqual([value, '1'])
      expect(read(`${ROW}(${printed},x,t)(${printed},,t)`).change?.after).toEqual(['t', value])
    }
  })
})

test('of what is not whole, or of another form, the table alone is known', () => {
  const payloads = [
    'shop there',
    'shop ',
    'shop there 77 0a1b.1 ',
    `${ROW}(1,x,t)`,
    `${ROW}(1,x)-`,
    `${ROW}(1,x,t,u)-`,
    `${ROW}-(1,x,t`,
    `${ROW}-(1,x,"t)`,
    `${ROW}(1,x,t)(1,x,t)-`,
    `${ROW}(1,x,t)- `,
    // Who names a machine so deceives only about who wrote.
    'shop a b 77 0a1b.1 -(1,x,t)',
    'shop a 5 b 77 0a1b.1 -(1,x,t)',
    'shop a 5 b (1,x,t)- 77 0a1b.1 -(1,x,t)',
  ]
  for (const payload of payloads) expect(read(payload)).toMatchObject({ table: 'shop', change: null })
  expect(read('other there 77 0a1b.1 (1,x,t)-')).toEqual({ table: 'other', machine: 'there', change: null })
})
