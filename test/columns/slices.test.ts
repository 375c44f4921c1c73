import { expect, test } from 'bun:test'
import { Slices } from '../../src/columns/slices.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Slices, and lists that are looked for in them, each of which takes so long. */
function lists() {
  const slices = new Slices()
  const found: string[] = []
  return {
    found,
    /** `a1`: the first list of a. */
    async find(name: string, ms: number) {
      const waiting = slices.next(name[0] as string)
      if (waiting !== null) await waiting
      found.push(name)
      slices.note(ms)
    },
  }
}

test('beyond the time of a turn lists wait for the next ones, as many in each as it has time for', async () => {
  const { find, found } = lists()
  const all = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => find(name, 3))
  expect(found).toEqual(['a1', 'a2'])
  const foundBy: number[] = []
  while (found.length < 5) {
    await nextTurn()
    foundBy.push(found.length)
  }
  expect(foundBy.every((count, index) => count - (foundBy[index - 1] ?? 2) <= 2)).toBe(true)
  await Promise.all(all)
  expect(found).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
})

test('askers take turns, whatever one of them has waiting', async () => {
  const { find, found } = lists()
  const names = ['a1', ...Array.from({ length: 20 }, (_, index) => `a${index + 2}`), 'b1', 'c1']
  await Promise.all(names.map((name) => find(name, 5)))
  expect(found.length).toBe(23)
  expect(found.indexOf('b1')).toBeLessThan(5)
  expect(found.indexOf('c1')).toBeLessThan(5)
})
