import { expect, test } from 'bun:test'
import { Slices } from '../../src/columns/slices.ts'

/** Returns the names of found lists in their order, and a function that waits for a slice and uses `ms` of it for a list. */
function lists() {
  const slices = new Slices()
  const found: string[] = []
  return {
    found,
    /** Finds a list; its name is the key and a number, such as `a1`. */
    async find(name: string, ms: number) {
      const waiting = slices.next(name[0] as string)
      if (waiting !== null) await waiting
      found.push(name)
      slices.note(ms)
    },
  }
}

test('searches of all keys take turns, however many searches of one key wait', async () => {
  const { find, found } = lists()
  const names = ['a1', ...Array.from({ length: 20 }, (_, index) => `a${index + 2}`), 'b1', 'c1']
  await Promise.all(names.map((name) => find(name, 5)))
  expect(found.length).toBe(23)
  expect(found.indexOf('b1')).toBeLessThan(5)
  expect(found.indexOf('c1')).toBeLessThan(5)
})
