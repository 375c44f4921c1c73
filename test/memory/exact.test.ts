import { expect, test } from 'bun:test'
import { proveLists } from '../prove/lists.ts'

const TIMEOUT_MS = 120_000

// D70: a read shows every write that had committed when it was asked for, whoever wrote.
test(
  'lists from memory equal PostgreSQL’s beside and after writes of clients, another server and psql, and after a worker is killed',
  async () => {
    const { counts, differences, remembered } = await proveLists({
      seed: Number(process.env.SEED ?? 1),
      alone: 5,
      together: 1,
      faults: ['a worker is killed', 'tables are truncated, rewritten and defined anew'],
      states: 2,
      statesForMs: 1_500,
    })
    expect(differences).toEqual([])
    expect(counts.exact).toBeGreaterThan(300)
    expect(counts.states).toBeGreaterThan(200)
    expect(counts['states, beside a write']).toBeGreaterThan(20)
    expect(counts['fresh, changed']).toBeGreaterThan(5)
    expect(remembered).toBeGreaterThan(0.5)
  },
  TIMEOUT_MS,
)
