import { expect, test } from 'bun:test'
import { LoadPauses } from '../../src/memory/loadPauses.ts'

/** Returns the pauses if each copy lives for `livedMs` after a load of `loadMs`, and the final share of loads in the time. */
function pausesOf(loadMs: number, livedMs: number, losses: number) {
  const pauses = new LoadPauses()
  let nowMs = 0
  const found = Array.from({ length: losses }, () => {
    nowMs += loadMs
    pauses.noteLoad(loadMs, nowMs)
    nowMs += livedMs
    const pauseMs = pauses.afterLoss(nowMs)
    nowMs += pauseMs
    return pauseMs
  })
  return { found, share: loadMs / (loadMs + livedMs + (found.at(-1) as number)) }
}

test('a copy that lived ten times as long as its load took is loaded again without a pause, each time', () => {
  expect(pausesOf(400, 4_000, 4).found).toEqual([0, 0, 0, 0])
})

test.each([
  ['a second', 1_000],
  ['a minute', 60_000],
])('if copies of %s are soon lost, the pauses between loads grow until loads take less than a tenth of the time', (_, loadMs) => {
  const { found, share } = pausesOf(loadMs, 0, 12)
  expect(found.toSorted((one, other) => one - other)).toEqual(found)
  expect([found[0], found[1]]).toEqual([4 * loadMs, 8 * loadMs])
  expect(share).toBeLessThan(0.1)
})

test('pauses between loads become short again after a long-lived copy, but grow after a load that writes made useless', () => {
  const pauses = new LoadPauses()
  pauses.noteLoad(100, 0)
  expect([pauses.afterLoss(1), pauses.afterOvertaken(100)]).toEqual([400, 800])
  pauses.noteLoad(100, 5_000)
  expect(pauses.afterLoss(6_000)).toBe(0)
  pauses.noteLoad(100, 7_000)
  expect(pauses.afterLoss(7_001)).toBe(400)
})
