import { describe, expect, test } from 'bun:test'
import { parsePage, parsePageSize } from '../../src/parse/page.ts'

describe('PageSize', () => {
  for (const [text, size] of [
    ['75', 50],
    ['51', 50],
    ['50', 50],
    ['49', 49],
    ['5', 5],
    ['4', 5],
    ['0', 5],
    ['-1', 5],
    ['-99999999999999999999', 5],
    ['9'.repeat(400), 50],
    ['007', 7],
  ] as const)
    test(`${text.slice(0, 22)} yields ${size} (spec 4.2, Paging 2)`, () => expect(parsePageSize(text)).toBe(size))

  for (const text of ['', ' ', '5.0', '1e1', '0x10', '+5', ' 5', '5 ', 'ten', '--5', '-', 'NaN', '٥'])
    test(`D28: ${JSON.stringify(text)} is InvalidPageSize`, () => {
      expect(() => parsePageSize(text)).toThrow('PageSize must be an integer; 5 to 50 make a difference.')
    })
})

describe('page', () => {
  test('D28: 1 upwards, however large', () => {
    expect(['1', '2', '0012', '999999'].map(parsePage)).toEqual([1, 2, 12, 999_999])
  })

  test('the largest page times the largest size is a safe integer', () => {
    for (const text of ['9007199254740993', '9'.repeat(400)]) {
      expect(parsePage(text)).toBeGreaterThan(1e9)
      expect(Number.isSafeInteger(parsePage(text) * 50)).toBe(true)
    }
  })

  for (const text of ['', '0', '-1', '-0', '1.0', '1e3', '0x1', '+1', ' 1', 'two', '-99999999999999999999'])
    test(`D28: ${JSON.stringify(text)} is InvalidPage`, () => {
      expect(() => parsePage(text)).toThrow('page must be an integer of 1 or more.')
    })
})

test('the errors name code and parameter', () => {
  for (const [parse, code, target] of [
    [parsePageSize, 'InvalidPageSize', 'PageSize'],
    [parsePage, 'InvalidPage', 'page'],
  ] as const) {
    let thrown: unknown
    try {
      parse('x')
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code, target })
  }
})
