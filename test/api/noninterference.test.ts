import { expect, test } from 'bun:test'
import { provePairs } from '../support/rightsPairs.ts'

test('the answers of two equal databases to a key of whole entities are equal', async () => {
  const { differences, pairs } = await provePairs({ seed: 1, keys: 2, reads: 64, writes: 40, isWhole: true })
  expect(differences).toEqual([])
  expect(pairs).toBeGreaterThan(200)
})
