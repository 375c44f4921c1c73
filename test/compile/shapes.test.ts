import { expect, test } from 'bun:test'
import { ShapeCache } from '../../src/compile/shapes.ts'

function counted(cache: ShapeCache) {
  const made: string[] = []
  const get = (shape: string) =>
    cache.get(shape, () => {
      made.push(shape)
      return `text of ${shape}`
    })
  return { made, get }
}

test('makes a text once', () => {
  const { made, get } = counted(new ShapeCache(10))
  expect([get('a'), get('a'), get('b')]).toEqual(['text of a', 'text of a', 'text of b'])
  expect(made).toEqual(['a', 'b'])
})

test('beyond its size the least recently used goes', () => {
  const { made, get } = counted(new ShapeCache(2))
  for (const shape of ['a', 'b', 'a', 'c']) get(shape)
  expect(made).toEqual(['a', 'b', 'c'])
  get('a') // used after b, so still there
  expect(made).toEqual(['a', 'b', 'c'])
  get('b')
  expect(made).toEqual(['a', 'b', 'c', 'b'])
})

test('a text that cannot be made is not kept', () => {
  const cache = new ShapeCache(2)
  const fails = () => {
    throw new Error('no')
  }
  expect(() => cache.get('a', fails)).toThrow('no')
  expect(cache.get('a', () => 'made')).toBe('made')
})
