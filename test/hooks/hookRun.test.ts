import { expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { BACK_OFF, HookRun, pauseAfter, type RunParts } from '../../src/hooks/hookRun.ts'
import type { Hook, Progress } from '../../src/hooks/session.ts'
import { createLog } from '../../src/log.ts'

const RUN = 'ffffffffffff'
const placeAt = (position: number) => ({ run: RUN, position: String(position), number: '0' })
const hook: Hook = {
  ...{ id: '0123456789', url: 'https://example.com/', secret: 'whsec_', events: ['*'], revision: '0' },
  ...{ place: placeAt(1), failingSinceMs: null, attempts: 0, nextAttemptMs: null },
}

/** A run without a database: each look at the feed finds no line, and a later end. */
function runOf(parts: Partial<RunParts>, from: Hook = hook) {
  const saved: Progress[] = []
  const ending = new AbortController()
  let reads = 1
  const all: RunParts = {
    entities: [company],
    changes: { pageAfter: async () => ({ lines: [], more: false, end: placeAt(++reads), seen: null }) },
    waits: { wait: async () => false },
    session: {
      async save(_, progress) {
        saved.push(progress)
        return true
      },
    },
    log: createLog('error', 'json'),
    backOff: BACK_OFF,
    deliver: async () => ({ isDelivered: true, status: '204', isGone: false }),
    nowMs: () => 0,
    random: () => 0,
    ...parts,
  }
  return { saved, end: () => ending.abort(), run: new HookRun(from, all, ending.signal) }
}

test('a place goes on without lines for the hook, and is written down each hour, so that it never grows too old', async () => {
  let hours = 0
  let looks = 0
  const { run, saved, end } = runOf({
    nowMs: () => hours * 3_600_001,
    waits: {
      async wait() {
        looks++
        if (looks % 3 === 0) hours++
        if (looks === 10) end()
        return false
      },
    },
  })
  await run.ended
  expect(saved.map(({ place }) => Number(place.position))).toEqual([5, 8, 11])
  expect(saved.every(({ status, parkedFor }) => status === null && parkedFor === null)).toBe(true)
})

test('an attempt that a server with another clock has put off for days is made after the longest pause', async () => {
  const reading = Promise.withResolvers<void>()
  const parts = {
    backOff: { ...BACK_OFF, mostMs: 1 },
    changes: {
      async pageAfter() {
        reading.resolve()
        throw new Error('away')
      },
    },
  }
  const { run } = runOf(parts, { ...hook, attempts: 1, failingSinceMs: 0, nextAttemptMs: 20 * 86_400_000 })
  await reading.promise
  expect(await run.ended.catch(({ message }) => message)).toBe('away')
})

test('pauses double up to a quarter of an hour, of which between half and all is waited', () => {
  const pauses = (random: number) => [1, 2, 3, 8, 9, 10, 1_000].map((attempts) => pauseAfter(attempts, BACK_OFF, random))
  expect(pauses(1)).toEqual([5_000, 10_000, 20_000, 640_000, 900_000, 900_000, 900_000])
  expect(pauses(0)).toEqual([2_500, 5_000, 10_000, 320_000, 450_000, 450_000, 450_000])
})
