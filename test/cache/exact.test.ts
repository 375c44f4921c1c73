import { expect, test } from 'bun:test'
import { proveLists } from '../prove/lists.ts'

const TIMEOUT_MS = 120_000

test(
  'cached lists equal PostgreSQL’s after writes of clients and other machines, and after a worker is killed',
  async () => {
    const disturbed = ['a worker is killed']
    const { counts, differences, remembered } = await proveLists({
      seed: 1,
      alone: 15,
      together: 2,
      outside: 4,
      disturbed,
      states: 2,
      statesForMs: 2_000,
      statesDisturbed: ['a worker is killed at any moment'],
    })
    expect(differences).toEqual([])
    expect(counts.exact).toBeGreaterThan(1_000)
    expect(counts['POST 201']).toBeGreaterThan(5)
    expect(counts['marked 200']).toBeGreaterThan(5)
    expect(counts.states).toBeGreaterThan(20)
    expect(counts.fresh).toBeGreaterThan(100)
    expect(counts['pages by cursor']).toBeGreaterThan(50)
    expect(remembered).toBeGreaterThan(0.5)
  },
  TIMEOUT_MS,
)
