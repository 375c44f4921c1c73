import { expect, test } from 'bun:test'
import { FairSemaphore } from '../../src/execute/fairSemaphore.ts'

test('20,000 waiting calls of a semaphore, each of which ends immediately, run without a stack overflow', async () => {
  const semaphore = new FairSemaphore(1)
  const end = await semaphore.take('first')
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`)
  const many = Array.from({ length: 200 }, () => keys.map((key) => semaphore.take(key).then((end) => end()))).flat()
  expect(semaphore.waitingOf('key 7')).toBe(200)
  end()
  await Promise.all(many)
  expect(keys.map((key) => semaphore.waitingOf(key))).toEqual(keys.map(() => 0))
})
