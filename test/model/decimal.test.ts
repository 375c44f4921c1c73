import { describe, expect, test } from 'bun:test'
import { compareDecimals, printDecimal } from '../../src/model/decimal.ts'

/** Compares each text with each, both ways and with itself. */
function expectAscending(compare: (one: string, other: string) => number, texts: readonly string[]) {
  const signs = (order: (one: number, other: number) => number) =>
    texts.flatMap((one, index) => texts.map((other, place) => [one, other, order(index, place)]))
  expect(signs((one, other) => Math.sign(compare(texts[one] as string, texts[other] as string)))).toEqual(
    signs((one, other) => Math.sign(one - other)),
  )
}

describe('order', () => {
  test('of a column with decimals, and of finer numbers among its own', () => {
    expectAscending(compareDecimals, [
      ...['-10.00000000', '-9.50000000', '-9.00000000', '-1.000000001', '-1.00000000', '-0.00000001', '-0.000000001'],
      ...['0.00000000', '0.000000001', '0.00000001', '0.10000000', '2.99999999', '2.999999995', '3.00000000'],
      ...['3.000000001', '3.00000001', '9.00000000', '10.00000000', '9999999999.99999999', '10000000000.00000000'],
      'NaN',
    ])
  })

  test('of a column without decimals', () => {
    expectAscending(compareDecimals, ['-10', '-9.5', '-9', '0', '0.5', '1', '9', '9.5', '10'])
  })
})

test('a decimal is printed with the zeros of its scale, and loses no digit', () => {
  for (const [plain, scale, printed] of [
    ['3', 8, '3.00000000'],
    ['-1.5', 8, '-1.50000000'],
    ['0.0000000001', 8, '0.0000000001'],
    ['12', 0, '12'],
    ['12.5', 0, '12.5'],
  ] as const)
    expect(printDecimal(plain, scale)).toBe(printed)
})
