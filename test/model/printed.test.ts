import { describe, test } from 'bun:test'
import { compareCodes, compareInstants, compareIntegers } from '../../src/model/printed.ts'
import { expectAscending } from '../support/ascending.ts'

describe('order', () => {
  test('of integers beyond what a float holds', () => {
    expectAscending(compareIntegers, [
      ...['-9223372036854775808', '-9223372036854775807', '-9007199254740993', '-9007199254740992'],
      ...['-1000000000000000', '-999999999999999', '-99999999999999', '-10', '-9', '-1', '0', '1', '9', '10'],
      ...['999999999999999', '1000000000000000', '9007199254740992', '9007199254740993', '9223372036854775807'],
    ])
  })

  test('of instants, those before the year 1 and after 9999 and the infinite ones too', () => {
    expectAscending(compareInstants, [
      ...['-infinity', '4713-01-01 00:00:00+00 BC', '0044-03-15 00:00:00+00 BC', '0044-03-15 00:00:01+00 BC'],
      ...['0001-12-31 23:59:59+00 BC', '0001-01-01 00:00:00+00', '0044-03-15 00:00:00+00', '2024-01-31 09:00:00+00'],
      ...['2024-01-31 09:00:01+00', '2024-02-01 00:00:00+00', '9999-12-31 23:59:59+00', '10000-01-01 00:00:00+00'],
      ...['10000-01-01 00:00:01+00', '99999-12-31 23:59:59+00', '294276-12-31 23:59:59+00', 'infinity'],
    ])
  })

  test('of booleans', () => {
    expectAscending(compareCodes, ['f', 't'])
  })
})
