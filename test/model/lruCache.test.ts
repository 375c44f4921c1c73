import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LruCache } from '../../src/model/lruCache.ts'

test('a cache never exceeds its bound, and keeps the most recently used values', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 40 })), { maxLength: 300 }), (uses) => {
      const cache = new LruCache<number>(100, (weight) => weight)
      for (const [name, weight] of uses) {
        const key = `${name}`
        if (cache.get(key) === undefined) cache.set(key, weight)
        expect(cache.get(key)).toBeDefined()
      }
      const kept = Array.from({ length: 31 }, (_, name) => cache.get(`${name}`) ?? 0)
      expect(kept.reduce((total, weight) => total + weight, 0)).toBeLessThanOrEqual(100)
    }),
  )
})

test('the least recently used value is evicted first', () => {
  const cache = new LruCache<string>(6, () => 1)
  for (const key of ['a', 'b', 'c']) cache.set(key, key)
  cache.set('d', 'd')
  cache.get('a')
  for (const key of ['e', 'f']) cache.set(key, key)
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual(['a', undefined, undefined])
})

test('a value that is set again counts once', () => {
  const cache = new LruCache<number>(8, () => 1)
  for (let time = 0; time < 100; time++) cache.set('same', time)
  cache.set('other', 1)
  expect([cache.get('same'), cache.get('other')]).toEqual([99, 1])
})
