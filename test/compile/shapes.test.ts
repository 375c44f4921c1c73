import { expect, test } from 'bun:test'
import { shapeCache } from '../../src/compile/parts.ts'

/** `made`: the shapes whose statement had to be made, in that order. */
function counted(sizeMax: number) {
  const textOf = shapeCache<string>(sizeMax)
  const made: string[] = []
  const get = (shape: string) =>
    textOf(shape, () => {
      made.push(shape)
      return `text of ${shape}`
    })
  return { made, get }
}

test('a full cache of statements evicts statements that are not used, and keeps the used ones', () => {
  const { made, get } = counted(2)
  for (const shape of ['a', 'b', 'a', 'c']) expect(get(shape)).toBe(`text of ${shape}`)
  expect(made).toEqual(['a', 'b', 'c'])
  get('a') // used after b, so still there
  expect(made).toEqual(['a', 'b', 'c'])
  get('b')
  expect(made).toEqual(['a', 'b', 'c', 'b'])
})

test('a full cache of statements holds at least half of its maximum size, and never more than all of it', () => {
  const { made, get } = counted(10)
  for (let n = 0; n < 1_000; n++) get(String(n))
  let held = 0
  while (made.length === 1_000) get(String(999 - held++))
  // The last one was not held any more.
  expect(held - 1).toBeGreaterThanOrEqual(5)
  expect(held - 1).toBeLessThanOrEqual(10)
})
