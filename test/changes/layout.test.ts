import { expect, test } from 'bun:test'

import { changeLogWords, FLAGS_MAX, layoutOf, OWNER_RING_WORDS, RING_WORDS, ringOf } from '../../src/changes/layout.ts'
import { HEADER_WORDS, type Region } from '../../src/os/region.ts'

test.each([1, 2, 7, 515])(
  'the parts of %d writers lie behind the header, one behind the other, up to the end',
  (writers) => {
    const words = changeLogWords(writers)
    const places = layoutOf({ words: new Int32Array(words) } as unknown as Region)
    expect(places.writers).toBe(writers)
    const begin = HEADER_WORDS + 1
    const ends = [
      begin,
      begin + writers,
      begin + 2 * writers,
      begin + 3 * writers,
      begin + (3 + FLAGS_MAX) * writers,
      begin + (3 + 2 * FLAGS_MAX) * writers,
      begin + (3 + 3 * FLAGS_MAX) * writers,
      words - OWNER_RING_WORDS - (writers - 1) * RING_WORDS,
    ]
    expect(places.lag).toBe(HEADER_WORDS)
    const { heads, unknownOutcomes, counts, flags, bounds, marks, rings } = places
    expect([heads, unknownOutcomes, counts, flags, bounds, marks, rings, rings]).toEqual(ends)
    const all = Array.from({ length: writers }, (_, writer) => ringOf(places, writer))
    all.reduce((end, { base, length }) => {
      expect(base).toBe(end)
      return base + length
    }, rings)
    expect(all.reduce((sum, { length }) => sum + length, rings)).toBe(words)
  },
)

test('a ring is a power of two, since heads are counted modulo 2^32', () => {
  expect([RING_WORDS, OWNER_RING_WORDS].map((words) => Math.log2(words) % 1)).toEqual([0, 0])
})
