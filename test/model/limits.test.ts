import { describe, expect, test } from 'bun:test'
import { formatRules, longestOf, parseRules } from '../../src/model/limits.ts'

describe('parseRules', () => {
  test('D35: reads the limit and the period with its unit of each rule', () => {
    expect(parseRules('750/1m,2500/15m,25000/12h')).toEqual([
      { limit: 750, periodMs: 60_000, period: '1m' },
      { limit: 2_500, periodMs: 900_000, period: '15m' },
      { limit: 25_000, periodMs: 43_200_000, period: '12h' },
    ])
  })

  test('refuses an invalid rule', () => {
    for (const text of ['', '750', '750/m', '0/1m', '-1/1m', '1.5/1m', '1/0m', '1/1w', '1/1m;2/1h'])
      expect(() => parseRules(text)).toThrow(new RangeError(`"${text}" is not a limit like 750/1m`))
    expect(() => parseRules('1/1m,')).toThrow('"" is not a limit like 750/1m')
  })

  test.each([
    ['1000001/1m', '"1000001/1m" has a limit over 1000000'],
    ['1/7d', '"1/7d" has a period over 6 days'],
    ['1/145h', '"1/145h" has a period over 6 days'],
    ['1/1m,2/60s', 'two limits are for the same period, 60s'],
    ['1/1s,1/2s,1/3s,1/4s,1/5s,1/6s,1/7s,1/8s,1/9s', 'there may be up to 8 limits, not 9'],
  ])('refuses "%s"', (text, message) => {
    expect(() => parseRules(text)).toThrow(new RangeError(message))
  })
})

test('formatRules writes the rules that parseRules has read, in seconds, hours and days, without spaces after commas', () => {
  expect(formatRules(parseRules('1/1s, 1000000/6d,25000/12h'))).toBe('1/1s,1000000/6d,25000/12h')
})

test('longestOf returns the index of the rule with the longest period, wherever it is', () => {
  expect(longestOf(parseRules('750/1m,2500/15m,25000/12h'))).toBe(2)
  expect(longestOf(parseRules('9/1h,1/1s'))).toBe(0)
})
