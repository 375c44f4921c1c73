// Values of forms: texts as people type them in their language, and the JSON that is sent for them.
import { describe, expect, test } from 'bun:test'
import { numberOf, printBody, textOf, typedOf } from '../../src/pages/explore/typed.ts'
import type { FormField } from '../../src/pages/explore/writable.ts'

const FIELD: FormField = {
  name: 'Reason',
  path: ['reason'],
  label: 'Reason',
  kind: 'text',
  values: [],
  isListed: false,
  lengthMax: 5,
  isNullable: true,
  isSigned: false,
  isRequired: false,
  isEnd: false,
  references: null,
  targets: [],
}
const ENGLISH = ['.', ','] as const
const GERMAN = [',', '.'] as const
const FRENCH = [',', '\u202f'] as const

describe('numbers in a language', () => {
  test.each([
    [ENGLISH, '4.5', '4.5'],
    [ENGLISH, '4,5', '4.5'],
    [ENGLISH, '1,234.5', '1234.5'],
    [ENGLISH, '1,234,567', '1234567'],
    [ENGLISH, '12345678901234567890.12345678', '12345678901234567890.12345678'],
    [ENGLISH, '-.5', '-0.5'],
    [ENGLISH, '\u22125', '-5'],
    [ENGLISH, '007', '7'],
    [ENGLISH, '5.', '5'],
    [ENGLISH, '\u0664', '4'],
    [GERMAN, '4,5', '4.5'],
    [GERMAN, '-3,5', '-3.5'],
    [GERMAN, '4.5', '4.5'],
    [GERMAN, '1.234,5', '1234.5'],
    [GERMAN, '1.234.567,891', '1234567.891'],
    [GERMAN, '1,234', '1.234'],
    [FRENCH, '1 234,5', '1234.5'],
    [FRENCH, '1\u202f234\u202f567', '1234567'],
  ] as const)('with the separators %j: %s is the number %s', (marks, text, json) => {
    expect(numberOf(text, marks)).toBe(json)
  })

  test.each([
    [GERMAN, '1.234'],
    [ENGLISH, '1,234'],
    [ENGLISH, '1.2.3'],
    [ENGLISH, '12,34,567'],
    [ENGLISH, '1e5'],
    [ENGLISH, 'NaN'],
    [ENGLISH, '-'],
    [ENGLISH, '.'],
    [ENGLISH, '1 2'],
    [ENGLISH, '?5'],
  ] as const)('with the separators %j: %s is not read as a number, or could be read as two', (marks, text) => {
    expect(numberOf(text, marks)).toBeNull()
  })
})

describe('the JSON of a text', () => {
  test.each([
    [{}, '', { json: 'null' }],
    [{ isNullable: false }, '', { json: '""' }],
    [{ isRequired: true }, '', { fault: 'Reason is needed.' }],
    [{}, '"\n\u2028', { json: '"\\"\\n\u2028"' }],
    [{}, '\u{1f469}\u{1f469}\u{1f469}\u{1f469}\u{1f469}', { json: '"\u{1f469}\u{1f469}\u{1f469}\u{1f469}\u{1f469}"' }],
    [{}, 'abcdef', { fault: 'Reason has 6 characters, and may have 5: shorten it.' }],
    [{ kind: 'boolean', isNullable: false }, 'false', { json: 'false' }],
    [{ kind: 'integer' }, '1.5', { fault: 'Reason is a whole number, such as 12.' }],
    [{ kind: 'integer' }, '12', { json: '12' }],
    [{ kind: 'integer', references: 'Employee' }, '?Ada', { fault: 'Reason: choose a row of the list.' }],
    [{ kind: 'decimal' }, 'much', { fault: 'Write a number, such as 4.5.' }],
    [{ kind: 'decimal' }, '1,234', { fault: 'Is this 1234, or 1.2340? Write it so.' }],
    [{ kind: 'instant', lengthMax: null }, 'T09:30', { fault: 'Reason: choose a day, too.' }],
    [{ kind: 'instant', lengthMax: null }, '2026-03-02T09:30:00Z', { json: '"2026-03-02T09:30:00Z"' }],
  ] as const)('for a field with %j, the text %j gives the expected JSON or fault', (field, text, typed) => {
    expect(typedOf({ ...FIELD, ...field }, text)).toEqual(typed)
  })
})

describe('the text of a field for a value', () => {
  test.each([
    ['decimal', 4.5, '4.5'],
    ['decimal', 1e-8, '0.00000001'],
    ['decimal', 100, '100'],
    ['decimal', '1234567890.12345670', '1234567890.1234567'],
    ['boolean', true, 'true'],
    ['text', null, ''],
  ] as const)('of the kind %s, %p, is as expected', (kind, value, text) => {
    expect(textOf({ kind, path: ['period', 'days'] }, { period: { days: value } })).toBe(text)
  })

  test('is empty for a part of an object without a value', () => {
    expect(textOf({ kind: 'decimal', path: ['period', 'days'] }, { period: null })).toBe('')
  })
})

test('a body of a form has the parts of an object together, and numbers with all digits', () => {
  const body = printBody([
    { name: 'Period.Days', json: '1234567890.12345678' },
    { name: 'Type', json: '"Holiday"' },
    { name: 'Period.Hours', json: 'null' },
  ])
  expect(body).toBe('{"Period":{"Days":1234567890.12345678,"Hours":null},"Type":"Holiday"}')
})
