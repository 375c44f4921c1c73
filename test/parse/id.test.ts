import { expect, test } from 'bun:test'
import { parseId } from '../../src/parse/id.ts'

test('D6: 1 to 2^53-1 are ids', () => {
  expect(['1', '42', '9007199254740991'].map(parseId)).toEqual(['1', '42', '9007199254740991'])
})

for (const segment of [
  '0',
  '-1',
  '+1',
  '01',
  '1.0',
  '1e3',
  '0x1',
  '',
  ' 1',
  '1 ',
  '1\n',
  'abc',
  '9007199254740992',
  '9999999999999999',
  '10000000000000000',
  '9'.repeat(400),
  '١',
])
  test(`D6: ${JSON.stringify(segment.slice(0, 20))} is none`, () => expect(parseId(segment)).toBeNull())
