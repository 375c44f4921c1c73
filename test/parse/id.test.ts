import { expect, test } from 'bun:test'
import { parseId } from '../../src/parse/id.ts'

test('D6: 1 to 2^53-1 are ids, and nothing else', () => {
  const ids = ['1', '42', '9007199254740991']
  expect(ids.map(parseId)).toEqual(ids)
  const others = ['0', '-1', '+1', '01', '1.0', '1e3', '0x1', '', ' 1', '1 ', '1\n', 'abc', '١', '9'.repeat(400)]
  for (const text of [...others, '9007199254740992', '9999999999999999', '10000000000000000'])
    expect([text, parseId(text)]).toEqual([text, null])
})
