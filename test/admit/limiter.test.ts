import { beforeEach, describe, expect, test } from 'bun:test'
import { keyClient } from '../../src/admit/address.ts'
import { Limiter, type SharedStore } from '../../src/admit/limiter.ts'
import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import { seriesOf } from '../../src/metrics/counts.ts'
import { type Decision, parseRules, type Rule } from '../../src/model/limits.ts'
import type { Client } from '../../src/model/principal.ts'
import { privateRegion } from '../support/region.ts'

const client = keyClient('ci')
let nowMs = 1_000_000
beforeEach(() => {
  nowMs += 500_000_000
})

function meterOf(limits: string, store: SharedStore | null = null) {
  const rules = parseRules(limits)
  const windows = new SlidingWindows(privateRegion(wordsFor(16, rules)), 16, rules, () => nowMs)
  return { limiter: new Limiter(windows, rules, store), windows }
}

/** A store that answers as the test asks it to, and remembers what it was asked. */
function storeOf(decisions: (Decision | null)[]) {
  const asked: { client: string; rules: readonly Rule[] }[] = []
  const decide = async (text: string, rules: readonly Rule[]) => {
    asked.push({ client: text, rules })
    return decisions.shift() ?? null
  }
  return { decide, asked }
}

const yes: Decision = { admitted: true, rule: 0, remaining: 41, waitMs: 30_000 }
const no: Decision = { admitted: false, rule: 0, remaining: 0, waitMs: 30_000 }
const refusals = () => seriesOf('limited', 'key', 'refused').values[0] as number
const secondOf = (text: string) => Date.parse(text) / 1_000

describe('the status of a client', () => {
  test.each([1, 250, 999, 1_000, 1_001, 59_999, 60_000, 43_200_000, 518_400_000])(
    'D37: rounds a wait of %d ms up to seconds, and X-RateLimit-Reset is not before the end of the wait',
    async (waitMs) => {
      const { limiter } = meterOf('5/1m', storeOf(Array(50).fill({ ...no, waitMs })))
      for (let round = 0; round < 50; round++) {
        const beforeMs = Date.now()
        const { reset, retryAfterSeconds } = await limiter.charge(client)
        expect(retryAfterSeconds).toBe(Math.ceil(waitMs / 1_000))
        expect(reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
        expect(secondOf(reset) * 1_000).toBeGreaterThanOrEqual(beforeMs + waitMs)
        expect(secondOf(reset) * 1_000).toBeLessThanOrEqual(Date.now() + waitMs + 1_001)
      }
    },
  )

  test('does not mix up reset times that share an entry of the cache', async () => {
    const waits = Array.from({ length: 40 }, (_, index) => (index % 8) * 256_000)
    const { limiter } = meterOf('5/1m', storeOf(waits.map((waitMs) => ({ ...no, waitMs }))))
    for (const waitMs of waits) {
      const beforeMs = Date.now()
      const late = secondOf((await limiter.charge(client)).reset) * 1_000 - beforeMs - waitMs
      expect(late).toBeGreaterThanOrEqual(0)
      expect(late).toBeLessThan(60_000)
    }
  })
})

describe('a store that several machines share', () => {
  const used = (windows: SlidingWindows, { low, high }: Client) => 5 - windows.peek(low, high).remaining

  test('decides whether a request is admitted; this machine also counts the admitted requests, but not the refused ones', async () => {
    const store = storeOf([yes, no, yes, no, no])
    const { limiter, windows } = meterOf('5/1m', store)
    expect(await limiter.charge(client)).toMatchObject({ admitted: true, remaining: '41', retryAfterSeconds: 0 })
    expect(await limiter.charge(client)).toMatchObject({ admitted: false, remaining: '0', retryAfterSeconds: 30 })
    for (let round = 0; round < 3; round++) await limiter.charge(client)
    expect(store.asked).toEqual(Array(5).fill({ client: 'key:ci', rules: parseRules('5/1m') }))
    expect(used(windows, client)).toBe(2)
  })
})

describe('D59: charging several requests together', () => {
  test('counts as one refusal in the metrics if the limit does not allow all of them', async () => {
    const { limiter } = meterOf('5/1m', null)
    for (let count = 0; count < 3; count++) await limiter.charge(client)
    const before = refusals()
    expect(await limiter.chargeMore(client, 4)).toMatchObject({ admitted: false })
    expect(refusals() - before).toBe(1)
  })

  test('leaves the requests charged that the store has admitted before it refuses one', async () => {
    const store = storeOf([yes, yes, no])
    const { limiter } = meterOf('50/1m', store)
    expect(await limiter.chargeMore(client, 5)).toMatchObject({ admitted: false, retryAfterSeconds: 30 })
    expect(store.asked).toHaveLength(3)
  })
})
