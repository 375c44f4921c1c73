// A process dies at a random atomic step of a decision; whoever comes next must find the state before it or after it.
// A program of its own, since it replaces the atomic operations before the window is loaded.
import type { Decision, Rule } from '../../src/model/limits.ts'
import { Random } from '../../test/support/random.ts'

const operations = ['load', 'store', 'compareExchange'] as const
/** Atomic steps until the death; -1: none is planned. */
let fuse = -1
class Death extends Error {}
for (const name of operations) {
  const original = Atomics[name] as (...values: unknown[]) => unknown
  Object.assign(Atomics, {
    [name]: (...values: unknown[]) => {
      if (fuse >= 0 && fuse-- === 0) throw new Death()
      return original(...values)
    },
  })
}
const { SlidingWindows, wordsFor } = await import('../../src/admit/window.ts')
const { Model, privateRegion } = await import('./model.ts')

const [rounds, seed] = process.argv.slice(2).map(Number) as [number, number]
const random = new Random(seed)
const found = { deaths: 0, before: 0, after: 0, checked: 0 }
for (let round = 0; round < rounds; round++) checkRound()
console.log(JSON.stringify(found))

/** Seven clients, of whom four have room: so deaths also hit the passing on of entries. */
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
    // Who comes new finds an entry, or shares one with other strangers, whose decisions belong to nobody's log.
    const log = hasOwn(windows, client) ? (logs.get(client) ?? []) : []
    const after = expectedAfter(rules, log, nowMs).log
    let possible = [log]
    if (log.length === 0 || random.chance(60)) {
      const survived = admitOrDie(windows, client)
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

/** False: it died on the way. */
function admitOrDie(windows: InstanceType<typeof SlidingWindows>, client: number): boolean {
  fuse = random.below(45)
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
  return (
    (windows as { directory: { find(low: number, high: number): number | null } }).directory.find(client, client) !==
    null
  )
}

function expectedAfter(
  rules: readonly Rule[],
  log: readonly number[],
  nowMs: number,
): { decision: Decision; log: number[] } {
  const model = new Model(rules, log)
  const decision = model.admit(nowMs)
  return { decision, log: decision.admitted ? [...log, nowMs] : [...log] }
}
