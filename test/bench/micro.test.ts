import { expect, test } from 'bun:test'
import { measureWindow } from '../../bench/micro/window.ts'

test('the micro bench of the window runs, and gives a cost for each number of clients', () => {
  const costs = measureWindow(2_000, 1)
  expect(costs.map(({ clients }) => clients)).toEqual([1, 1_000, 100_000])
  for (const { decisionNs, standingNs } of costs) expect([decisionNs > 0, standingNs > 0]).toEqual([true, true])
})
