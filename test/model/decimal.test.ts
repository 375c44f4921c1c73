import { expect, test } from 'bun:test'
import { printDecimal } from '../../src/model/decimal.ts'

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
