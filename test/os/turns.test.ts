import { expect, test } from 'bun:test'
import { takeTurns } from '../../src/os/time.ts'

test('others have their turn once it is time, and not before', async () => {
  expect(takeTurns(60_000)()).toBeNull()
  const turn = takeTurns(0)
  let others = 0
  const timer = setInterval(() => others++, 0)
  while (others < 3) await turn()
  clearInterval(timer)
  expect(turn()).toBeInstanceOf(Promise)
})
