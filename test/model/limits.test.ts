import { describe, expect, test } from 'bun:test'
import { formatRules, longestOf, parseRules } from '../../src/model/limits.ts'

describe('parseRules', () => {
  test('reads limit, period and unit of each rule. D35', () => {
    expect(parseRules('750/1m,2500/15m,25000/12h')).toEqual([
      { limit: 750, periodMs: 60_000, period: '1m' },
      { limit: 2_500, periodMs: 900_000, period: '15m' },
      { limit: 25_000, periodMs: 43_200_000, period: '12h' },
    ])
  })

  test('takes seconds and days, and spaces after commas', () => {
    expect(parseRules('1/1s, 1000000/6d').map(({ limit, periodMs }) => [limit, periodMs])).toEqual([
      [1, 1_000],
      [1_000_000, 518_400_000],
    ])
  })

  for (const [text, message] of [
    ['', '"" is not a limit like 750/1m'],
    ['750', '"750" is not a limit like 750/1m'],
    ['750/m', '"750/m" is not a limit like 750/1m'],
    ['0/1m', '"0/1m" is not a limit like 750/1m'],
    ['-1/1m', '"-1/1m" is not a limit like 750/1m'],
    ['1.5/1m', '"1.5/1m" is not a limit like 750/1m'],
    ['1/0m', '"1/0m" is not a limit like 750/1m'],
    ['1/1w', '"1/1w" is not a limit like 750/1m'],
    ['1/1m,', '"" is not a limit like 750/1m'],
    ['1/1m;2/1h', '"1/1m;2/1h" is not a limit like 750/1m'],
    ['1000001/1m', '"1000001/1m" has a limit over 1000000'],
    ['1/7d', '"1/7d" has a period over 6 days'],
    ['1/145h', '"1/145h" has a period over 6 days'],
    ['1/1m,2/60s', 'two limits are for the same period, 60s'],
    ['1/1s,1/2s,1/3s,1/4s,1/5s,1/6s,1/7s,1/8s,1/9s', 'there may be up to 8 limits, not 9'],
  ] as const)
    test(`refuses "${text}"`, () => {
      expect(() => parseRules(text)).toThrow(new RangeError(message))
    })
})

test('formatRules writes what parseRules reads', () => {
  expect(formatRules(parseRules('1/1s, 25000/12h'))).toBe('1/1s,25000/12h')
})

test('longestOf finds the longest period, wherever it stands', () => {
  expect(longestOf(parseRules('750/1m,2500/15m,25000/12h'))).toBe(2)
  expect(longestOf(parseRules('9/1h,1/1s'))).toBe(0)
})
