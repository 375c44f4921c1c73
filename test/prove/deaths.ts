// A process dies at a random atomic step of a decision. The next process must find the state before or after the decision. This
// is a separate program, because it replaces the atomic operations before it loads the window.
import type { Decision, Rule } from '../../src/model/limits.ts'
import { Random } from '../support/random.ts'

const operations = ['load', 'store', 'compareExchange'] as const
/** Number of atomic steps until the process dies; -1: it does not die. */
let fuse = -1
/** Number of atomic steps until another process intervenes; -1: none intervenes. */
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

/** Checks a round with seven clients and four entries, so that processes also die while an entry gets another client. */
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
    // If a new client shares an entry with other new clients, its decisions are in no log.
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
 * A process gives the entry of an idle client to a new client. Meanwhile the idle client is admitted again, and a few steps later
 * the process dies. The admission must count nevertheless.
 */
function checkIntrusions() {
  const rules: Rule[] = [{ limit: 1 + random.below(3), periodMs: 1_000, period: '' }]
  let nowMs = 1_000_000
  const region = privateRegion(wordsFor(2, rules), seed)
  const [windows, other] = [1, 2].map(() => new SlidingWindows(region, 2, rules, () => nowMs)) as [Windows, Windows]
  for (let step = 1; step <= 200; step++) {
    const client = 1 + random.below(2)
    nowMs += 5_000 // This is long enough for every client to be idle.
    windows.admit(client, client)
    nowMs += 5_000
    const { overflowed } = windows
    const oracle = new Oracle(rules)
    const ask = () => {
      const got = { ...windows.admit(client, client) }
      // Without a free entry, the client shares an entry with other clients.
      const isAlone = windows.overflowed === overflowed
      const expected = oracle.admit(nowMs)
      if (isAlone && !Bun.deepEquals(got, expected)) throw new Error(JSON.stringify({ seed, step, rules, got, expected }))
    }
    intrude = () => {
      // Without an entry, the client would wait for the lock, which the other process holds.
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
 * A process decides by a clock that it read a second earlier, while a client is admitted after a long pause. The entry must not
 * get the earlier time as the client's last request, because the client would count as idle too early.
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
 * A client returns after 25 days, when times have wrapped around. Neither a process that dies within a decision, nor a process
 * that decides at the same time, may make the client's old admissions look new.
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

/**
 * Decides, and dies after `steps` atomic steps. With -1, it dies only if `intrude` starts the countdown. Returns false if it
 * died.
 */
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
