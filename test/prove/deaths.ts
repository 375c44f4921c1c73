// A process dies at a random atomic step of a decision; the next process must find the state before it or after it. A separate
// program, because it replaces the atomic operations before the window is loaded.
import type { Decision, Rule } from '../../src/model/limits.ts'
import { Random } from '../support/random.ts'

const operations = ['load', 'store', 'compareExchange'] as const
/** Atomic steps until the death; -1 for none. */
let fuse = -1
/** Atomic steps until another process intervenes; -1 for none. */
let pause = -1
let intrude = () => {}
class Death extends Error {}
for (const name of operations) {
  const original = Atomics[name] as (...values: unknown[]) => unknown
  Object.assign(Atomics, {
    [name]: (...values: unknown[]) => {
      if (pause >= 0 && pause-- === 0) intrude()
      if (fuse >= 0 && fuse-- === 0) throw new Death()
      return original(...values)
    },
  })
}
const { SlidingWindows, wordsFor } = await import('../../src/admit/window.ts')
const { Oracle } = await import('./limiterOracle.ts')
const { privateRegion } = await import('../support/region.ts')
type Windows = InstanceType<typeof SlidingWindows>

const [rounds, seed] = process.argv.slice(2).map(Number) as [number, number]
const random = new Random(seed)
const found = { deaths: 0, before: 0, after: 0, checked: 0, intrusions: 0, lags: 0 }
for (let round = 0; round < rounds; round++) {
  checkRound()
  checkIntrusions()
  checkLag(round % 60)
  checkSilence(round % 60)
}
console.log(JSON.stringify(found))

/** Checks a round with seven clients and four entries, so that processes also die while entries change their client. */
function checkRound() {
  const rules: Rule[] = [
    { limit: 1 + random.below(5), periodMs: 1_000, period: '' },
    { limit: 1 + random.below(12), periodMs: 10_000, period: '' },
  ]
  let nowMs = 1_000_000
  const windows = new SlidingWindows(privateRegion(wordsFor(4, rules), seed), 4, rules, () => nowMs)
  const logs = new Map<number, number[]>()
  for (let step = 0; step < 300; step++) {
    nowMs += Math.floor((random.below(100) / 100) ** 3 * 4_000)
    const client = 1 + random.below(7)
    // A new client gets an entry, or shares one with other new clients, whose decisions are in no log.
    const log = hasOwn(windows, client) ? (logs.get(client) ?? []) : []
    const after = expectedAfter(rules, log, nowMs).log
    let possible = [log]
    if (log.length === 0 || random.chance(60)) {
      const survived = admitOrDie(windows, client, random.below(45))
      if (!hasOwn(windows, client)) continue
      possible = survived ? [after] : [log, after]
      nowMs += random.below(3)
    }
    const got = { ...windows.admit(client, client) }
    const outcomes = possible.map((entries) => expectedAfter(rules, entries, nowMs))
    const match = outcomes.findIndex(({ decision }) => Bun.deepEquals(decision, got))
    if (match === -1) throw new Error(JSON.stringify({ seed, step, client, nowMs, rules, got, outcomes }))
    if (outcomes.length === 2 && !Bun.deepEquals(outcomes[0]?.decision, outcomes[1]?.decision))
      found[match === 0 ? 'before' : 'after']++
    found.checked++
    logs.set(client, outcomes[match]?.log ?? [])
  }
}

/**
 * A process gives the entry of an idle client to a new one; meanwhile the client is back and is admitted, and a few steps later
 * the process dies: the admission must count all the same.
 */
function checkIntrusions() {
  const rules: Rule[] = [{ limit: 1 + random.below(3), periodMs: 1_000, period: '' }]
  let nowMs = 1_000_000
  const region = privateRegion(wordsFor(2, rules), seed)
  const [windows, other] = [1, 2].map(() => new SlidingWindows(region, 2, rules, () => nowMs)) as [Windows, Windows]
  for (let step = 1; step <= 200; step++) {
    const client = 1 + random.below(2)
    nowMs += 5_000 // long enough that every client is idle
    windows.admit(client, client)
    nowMs += 5_000
    const { overflowed } = windows
    const oracle = new Oracle(rules)
    const ask = () => {
      const got = { ...windows.admit(client, client) }
      // Without room, it shares an entry with others.
      const isAlone = windows.overflowed === overflowed
      const expected = oracle.admit(nowMs)
      if (isAlone && !Bun.deepEquals(got, expected)) throw new Error(JSON.stringify({ seed, step, rules, got, expected }))
    }
    intrude = () => {
      // Without an entry it would wait for the lock, which the other process has.
      if (!hasOwn(windows, client)) return
      fuse = -1
      found.intrusions++
      ask()
      fuse = random.below(8)
    }
    pause = random.below(60)
    admitOrDie(other, 10 + step, -1)
    pause = -1
    for (let request = 0; request < 3; request++) ask()
  }
}

/**
 * A process that read its clock a second earlier decides while a client is admitted after a long pause: the entry must not say
 * that the client was last seen in that second, or it counts as idle too early.
 */
function checkLag(steps: number) {
  const rules: Rule[] = [{ limit: 1, periodMs: 1_000, period: '' }]
  const region = privateRegion(wordsFor(2, rules), seed)
  let nowMs = 1_000_000
  const windows = new SlidingWindows(region, 2, rules, () => nowMs)
  const late = new SlidingWindows(region, 2, rules, () => 1_006_999)
  windows.admit(1, 1)
  nowMs = 1_007_001
  intrude = () => {
    found.lags++
    late.peek(1, 1)
  }
  pause = steps
  const { admitted } = windows.admit(1, 1)
  pause = -1
  nowMs = 1_008_000
  if (!admitted || windows.admit(1, 1).admitted) throw new Error(JSON.stringify({ seed, steps, admitted }))
}

/**
 * A client is back after 25 days, when times have wrapped around: neither a process that dies within a decision, nor one that
 * decides at the same time, may make its old admissions look new.
 */
function checkSilence(steps: number) {
  const rules: Rule[] = [{ limit: 2, periodMs: 1_000, period: '' }]
  for (const isDying of [true, false]) {
    let nowMs = 1_000_000
    const region = privateRegion(wordsFor(2, rules), seed)
    const [windows, other] = [1, 2].map(() => new SlidingWindows(region, 2, rules, () => nowMs)) as [Windows, Windows]
    for (let request = 0; request < 2; request++) windows.admit(1, 1)
    nowMs += 2 ** 31 + 100
    if (isDying) admitOrDie(other, 1, steps)
    intrude = () => other.peek(1, 1)
    pause = isDying ? -1 : steps
    const { admitted } = windows.admit(1, 1)
    pause = -1
    if (!admitted) throw new Error(JSON.stringify({ seed, steps, isDying }))
  }
}

/** Decides, and dies after `steps` atomic steps; with -1, when `intrude` starts the countdown. False if it died. */
function admitOrDie(windows: Windows, client: number, steps: number): boolean {
  fuse = steps
  try {
    windows.admit(client, client)
    return true
  } catch (error) {
    if (!(error instanceof Death)) throw error
    found.deaths++
    return false
  } finally {
    fuse = -1
  }
}

function hasOwn(windows: object, client: number): boolean {
  return (windows as { directory: { find(low: number, high: number): number | null } }).directory.find(client, client) !== null
}

function expectedAfter(rules: readonly Rule[], log: readonly number[], nowMs: number): { decision: Decision; log: number[] } {
  const oracle = new Oracle(rules, log)
  const decision = oracle.admit(nowMs)
  return { decision, log: decision.admitted ? [...log, nowMs] : [...log] }
}
