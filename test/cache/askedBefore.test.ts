import { expect, test } from 'bun:test'
import { AskedBefore } from '../../src/cache/askedBefore.ts'

test('a key is known from the second time on', () => {
  const asked = new AskedBefore()
  expect([asked.note('a'), asked.note('b'), asked.note('a'), asked.note('a')]).toEqual([false, false, true, true])
})

test('thousands of others are hardly ever taken for known, and leave most of what is known', () => {
  const asked = new AskedBefore()
  for (let key = 0; key < 4_000; key++) asked.note(`known ${key}`)
  let known = 0
  for (let key = 0; key < 4_000; key++) known += Number(asked.note(`other ${key}`))
  expect(known).toBeLessThan(10)
  for (let key = 0; key < 4_000; key++) known += Number(asked.note(`known ${key}`))
  expect(known).toBeGreaterThan(2_500)
})
