import { expect, test } from 'bun:test'
import { noteUse, onWake, wasUsed } from '../../src/changes/demand.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { privateRegion } from '../support/region.ts'

const region = () => privateRegion(changeLogWords(2))

test('was used while the last use is that near, and not after it', () => {
  const log = region()
  noteUse(log, monotonicMs() - 400)
  expect(wasUsed(log, 10_000)).toBe(true)
  expect(wasUsed(log, 300)).toBe(false)
})

test('the first use after a rest wakes, and what follows does not', () => {
  const log = region()
  let wakes = 0
  onWake(log, () => void wakes++)
  noteUse(log, 10_000)
  expect(wakes).toBe(1)
  for (let ms = 10_000; ms < 14_000; ms += 300) noteUse(log, ms)
  expect(wakes).toBe(1)
  noteUse(log, 15_000)
  expect(wakes).toBe(2)
})

test('a use is noted also where no process is to be woken', () => {
  const log = region()
  noteUse(log)
  expect(wasUsed(log, 10_000)).toBe(true)
})

test('a use that another process noted after this one had looked at the clock is a use of just now', () => {
  const log = region()
  let wakes = 0
  onWake(log, () => void wakes++)
  const nowMs = monotonicMs()
  noteUse(log, nowMs + 400)
  expect([wasUsed(log, 300), wakes]).toEqual([true, 1])
  noteUse(log, nowMs)
  expect(wakes).toBe(1)
})
