import { expect, test } from 'bun:test'
import { Pace } from '../../src/changes/pace.ts'

/** Whether a piece with which a transaction ends is followed by a pause. */
function endTransaction(pace: Pace, resume: () => void): boolean {
  pace.note()
  return pace.rest(resume)
}

/** A pause that has begun, however late this process has its turns, and what ends with it. */
function pausing(): { pace: Pace; resumed: Promise<void>; count: () => number } {
  const pace = new Pace()
  const { promise, resolve } = Promise.withResolvers<void>()
  let resumes = 0
  const resume = () => {
    resumes++
    resolve()
  }
  expect(endTransaction(pace, resume)).toBe(false)
  while (!endTransaction(pace, resume));
  return { pace, resumed: promise, count: () => resumes }
}

test('one transaction right after another is followed by a pause, which ends by itself, once', async () => {
  const { resumed, count } = pausing()
  expect(count()).toBe(0)
  await resumed
  await Bun.sleep(20)
  expect(count()).toBe(1)
})

test('a piece with which no transaction ends is followed by none', async () => {
  const { pace, resumed } = pausing()
  await resumed
  for (let piece = 0; piece < 10; piece++) expect(pace.rest(() => undefined)).toBe(false)
})

test('there are no pauses while a position is awaited; one that has begun ends at once', () => {
  const { pace, count } = pausing()
  pace.hurry(true)
  expect(count()).toBe(1)
  for (let transaction = 0; transaction < 10; transaction++) expect(endTransaction(pace, () => undefined)).toBe(false)
  pace.hurry(false)
  while (!endTransaction(pace, () => undefined));
  pace.hurry(true)
})

test('transactions that are far from each other have none between them', async () => {
  const pace = new Pace()
  for (let transaction = 0; transaction < 5; transaction++) {
    expect(endTransaction(pace, () => undefined)).toBe(false)
    await Bun.sleep(20)
  }
})
