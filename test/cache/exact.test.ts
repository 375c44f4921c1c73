import { expect, test } from 'bun:test'
import { proveLists } from '../prove/lists.ts'

const TIMEOUT_MS = 120_000

test(
  'cached lists equal PostgreSQL’s after writes of clients and other machines, and after a worker is killed',
  async () => {
    const faults = ['a worker is killed']
    const { counts, differences, remembered } = await proveLists({
      seed: 1,
      alone: 5,
      together: 1,
      outside: 3,
      faults,
      states: 1,
      statesForMs: 800,
      faultsAtAnyMoment: ['a worker is killed at any moment'],
    })
    expect(differences).toEqual([])
    expect(counts.exact).toBeGreaterThan(300)
    expect(counts['POST 201']).toBeGreaterThan(5)
    expect(counts['marked 200']).toBeGreaterThan(5)
    expect(counts.states).toBeGreaterThan(2)
    expect(counts.fresh).toBeGreaterThan(20)
    expect(counts['pages by cursor']).toBeGreaterThan(20)
    expect(remembered).toBeGreaterThan(0.5)
  },
  TIMEOUT_MS,
)
