// What one decision costs: `node src/launch.mjs bench/micro/window.ts`. In a region of one process, by the product's own clock.
import { Meter } from '../../src/admit/meter.ts'
import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import { parseRules } from '../../src/model/limits.ts'
import { monotonicMs } from '../../src/share/clock.ts'
import { Random } from '../../test/support/random.ts'
import { privateRegion } from '../prove/model.ts'

interface Cost {
  clients: number
  rules: string
  /** Of a decision, and of one with the texts of its headers: the best of the rounds, since noise only adds. */
  decisionNs: number
  standingNs: number
}

const CASES = [
  { clients: 1, rules: '750/1m,2500/15m,25000/12h' },
  { clients: 1_000, rules: '750/1m,2500/15m,25000/12h' },
  { clients: 100_000, rules: '60/1m' },
]

/** Costs at 1, 1,000 and 100,000 clients, in random order of clients. */
export function measureWindow(decisions: number, rounds: number): Cost[] {
  return CASES.map(({ clients, rules: text }) => {
    const rules = parseRules(text)
    const slots = Math.ceil(clients * 1.25)
    // As the tables of keys and of addresses are made.
    const reach = clients > 1_000 ? 64 : slots
    const windows = new SlidingWindows(privateRegion(wordsFor(slots, rules)), slots, rules, monotonicMs, reach)
    const meter = new Meter(windows, rules, null)
    const random = new Random(1)
    const order = Array.from({ length: decisions }, () => 1 + random.below(clients))
    const everybody = order.map((low) => ({ low, high: 7, text: '' }))
    let [decisionNs, standingNs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (let round = 0; round < rounds; round++) {
      decisionNs = Math.min(
        decisionNs,
        nsOf(order, (low) => windows.admit(low, 7)),
      )
      standingNs = Math.min(
        standingNs,
        nsOf(everybody, (client) => meter.charge(client)),
      )
    }
    return { clients, rules: text, decisionNs: Math.round(decisionNs), standingNs: Math.round(standingNs) }
  })
}

function nsOf<T>(items: readonly T[], work: (item: T) => unknown): number {
  const startNs = Bun.nanoseconds()
  for (const item of items) work(item)
  return (Bun.nanoseconds() - startNs) / items.length
}

if (import.meta.main) console.table(measureWindow(300_000, 6))
