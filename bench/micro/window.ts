// What one decision costs: `node src/launch.mjs bench/micro/window.ts`. In a region of one process, by the product's own clock.
import { Limiter } from '../../src/admit/limiter.ts'
import { SlidingWindows, wordsFor } from '../../src/admit/window.ts'
import { parseRules } from '../../src/model/limits.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { Random } from '../../test/support/random.ts'
import { privateRegion } from '../../test/support/region.ts'
import { type Case, measure, printCosts, ROUND_MS, ROUNDS } from './measure.ts'

const WINDOWS = [
  { clients: 1, rules: '750/1m,2500/15m,25000/12h' },
  { clients: 1_000, rules: '750/1m,2500/15m,25000/12h' },
  { clients: 100_000, rules: '60/1m' },
]

/** Enough that a client among many comes again only after most of the others. */
const TURNS = 2 ** 18

/**
 * A decision alone, and one with the texts of its headers: at 1, 1,000 and 100,000 clients, in random order of clients.
 * A few clients reach their limits at once, so theirs are refusals; of 100,000 clients most are admitted.
 */
export function windowCases(): Case[] {
  return WINDOWS.flatMap(({ clients, rules: text }): Case[] => {
    const rules = parseRules(text)
    const slots = Math.ceil(clients * 1.25)
    // As the tables of keys and of addresses are made.
    const reach = clients > 1_000 ? 64 : slots
    const windows = new SlidingWindows(privateRegion(wordsFor(slots, rules)), slots, rules, monotonicMs, reach)
    const limiter = new Limiter(windows, rules, null)
    const random = new Random(1)
    const order = Array.from({ length: TURNS }, () => ({ low: 1 + random.below(clients), high: 7, text: '' }))
    const clientOf = (turn: number) => order[turn % TURNS] as { low: number; high: number; text: string }
    const name = `${clients} client${clients === 1 ? '' : 's'}, ${text}`
    return [
      { name, operation: 'SlidingWindows.admit', work: (turn) => windows.admit(clientOf(turn).low, 7) },
      { name, operation: 'Limiter.charge', work: (turn) => limiter.charge(clientOf(turn)) },
    ]
  })
}

if (import.meta.main) printCosts(await measure(windowCases(), ROUND_MS, ROUNDS))
