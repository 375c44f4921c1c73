import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import { type Decision, parseRules, type Rule } from '../../src/model/limits.ts'
import { proveContention } from '../prove/contention.ts'
import { Oracle, proveWindow } from '../prove/limiterOracle.ts'
import { Random } from '../support/random.ts'
import { privateRegion } from '../support/region.ts'
import { firstSeed, rounds } from '../support/rounds.ts'

let nowMs = 1_000_000
const HOUR_MS = 3_600_000
const DECISIONS = rounds(150_000, 1_000_000)

function windowsFor(clients: number, rules: readonly Rule[]): SlidingWindows {
  return new SlidingWindows(privateRegion(wordsFor(clients, rules)), clients, rules, () => nowMs)
}

/** A copy: the window answers with one object for all. */
function decide(windows: SlidingWindows, client: number): Decision {
  return { ...windows.admit(client, client) }
}

describe('sliding windows in one process', () => {
  test('D36: decide like a simple reference implementation, for random rules and schedules', () => {
    const { decisions, refused } = proveWindow(DECISIONS, firstSeed)
    expect(decisions).toBeGreaterThanOrEqual(DECISIONS)
    expect(refused).toBeGreaterThan(DECISIONS / 6)
  })

  test('forget no client that is slow but never idle, when the clock of 31 bits wraps around', () => {
    const rules = parseRules('100/12h')
    const windows = windowsFor(16, rules)
    const oracle = new Oracle(rules)
    const random = new Random(7)
    for (let step = 0; step < 5_000; step++) {
      nowMs += random.below(43_000_000)
      expect(decide(windows, 9)).toEqual(oracle.admit(nowMs))
    }
  })

  test('D59: tell whether the limits allow several requests together, and how long to wait until they do', () => {
    const rules = parseRules('5/1s,12/1m')
    const random = new Random(5)
    let refusals = 0
    for (let step = 0; step < 3_000; step++) {
      // The requests are charged in one copy, and only checked in the other.
      const [windows, charged] = [windowsFor(4, rules), windowsFor(4, rules)]
      for (let before = random.below(14); before > 0; before--) {
        nowMs += random.below(600)
        for (const one of [windows, charged]) one.admit(1, 1)
      }
      const count = 1 + random.below(5)
      const { admitted, waitMs } = { ...windows.peek(1, 1, count) }
      const fits = Array.from({ length: count }, () => decide(charged, 1).admitted)
      expect(admitted).toBe(fits.every(Boolean))
      if (admitted) continue
      refusals++
      nowMs += waitMs - 1
      expect(windows.peek(1, 1, count).admitted).toBe(false)
      nowMs++
      expect(windows.peek(1, 1, count).admitted).toBe(true)
    }
    expect(refusals).toBeGreaterThan(500)
  })
})

describe('a table that is full', () => {
  test('gives an entry to another client only after its client was idle for the longest period of the rules', () => {
    const rules = parseRules('3/10s')
    const windows = windowsFor(16, rules)
    const oracles = new Map<number, Oracle>()
    const random = new Random(11)
    let [own, shared] = [0, 0]
    for (let step = 0; step < 60_000; step++) {
      nowMs += random.below(600)
      const client = 1 + random.below(60)
      const isKnown = windows.peek(client, client).waitMs > 0
      const decision = decide(windows, client)
      const oracle = isKnown ? (oracles.get(client) as Oracle) : new Oracle(rules)
      // The decision for a client without an entry is that of the shared entry; for a client with an entry it is wholly its own.
      if (!isKnown && windows.peek(client, client).waitMs === 0) {
        shared++
        continue
      }
      oracles.set(client, oracle)
      expect(decision).toEqual(oracle.admit(nowMs))
      own++
    }
    expect([own > 10_000, shared > 1_000]).toEqual([true, true])
  })

  test('counts the requests of all clients without an entry in one shared entry, so that no request is free', () => {
    const windows = windowsFor(4, parseRules('3/1m'))
    for (let client = 1; client <= 4; client++) decide(windows, client)
    const isForeseen = (client: number) => windows.foresee(client, client).admitted
    const others = Array.from({ length: 20 }, (_, index) => [isForeseen(100 + index), decide(windows, 100 + index).admitted])
    expect(others.filter(([foreseen, admitted]) => foreseen && admitted)).toHaveLength(3)
    expect(others.filter(([foreseen, admitted]) => foreseen !== admitted)).toEqual([])
    expect(windows.overflowed).toBe(20)
    expect(decide(windows, 1).admitted).toBe(true)
  })
})

describe('sliding windows in several processes', () => {
  test('admit exactly the limit with four processes, and refuse no request that fits', async () => {
    const rules = [{ limit: 20_000, periodMs: HOUR_MS }]
    const found = await proveContention({ rules, processes: 4, keys: 1, decisions: DECISIONS, seed: firstSeed })
    expect(found).toMatchObject({ admitted: 20_000, duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 })
    expect(found.refusalsChecked).toBeGreaterThan(DECISIONS / 25)
  })

  test('admit exactly the limits of several rules, some of which have periods of milliseconds', async () => {
    const rules = [
      { limit: 40, periodMs: 3 },
      { limit: 400, periodMs: 100 },
      { limit: 100_000, periodMs: HOUR_MS },
    ]
    const found = await proveContention({ rules, processes: 4, keys: 2, decisions: DECISIONS, seed: 1 + firstSeed })
    expect(found).toMatchObject({ duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 })
    expect(found.refusalsChecked).toBeGreaterThan(DECISIONS / 25)
  })

  test('admit no more than the limit while processes are killed at random moments', async () => {
    const rules = [
      { limit: 40, periodMs: 3 },
      { limit: 400, periodMs: 100 },
    ]
    const found = await proveContention({ rules, processes: 4, keys: 2, kills: 8, seed: 2 + firstSeed })
    expect(found).toMatchObject({ duplicates: 0, overAdmissions: 0, falseRefusals: 0 })
    expect(found.refusalsChecked).toBeGreaterThan(0)
  })

  test('show the state before or after a decision, never one in between, whenever its process dies', async () => {
    const program = join(import.meta.dir, '../prove/deaths.ts')
    const child = Bun.spawn([process.execPath, program, '200', '4'], { stdout: 'pipe', stderr: 'inherit' })
    const { deaths, before, after, intrusions, lags } = (await new Response(child.stdout).json()) as Record<string, number>
    expect(await child.exited).toBe(0)
    expect([Number(deaths) > 10_000, Number(before) > 1_000, Number(after) > 100]).toEqual([true, true, true])
    expect(intrusions).toBeGreaterThan(10_000)
    expect(lags).toBeGreaterThan(20)
  })
})
