import { expect, test } from 'bun:test'
import { PreparedShapes } from '../../src/execute/prepared.ts'

const uses = (shapes: PreparedShapes, text: string, count: number) =>
  Array.from({ length: count }, () => shapes.shouldPrepare(text))

test('a text is prepared from its third use on', () => {
  expect(uses(new PreparedShapes(true), 'a', 5)).toEqual([false, false, true, true, true])
})

test('texts are counted apart', () => {
  const shapes = new PreparedShapes(true)
  uses(shapes, 'a', 2)
  expect(shapes.shouldPrepare('b')).toBe(false)
  expect(shapes.shouldPrepare('a')).toBe(true)
})

test('behind a pooler nothing is prepared', () => {
  const shapes = new PreparedShapes(false)
  expect(uses(shapes, 'a', 5)).toEqual([false, false, false, false, false])
  expect(shapes.full).toBe(false)
})

test('is full at 200, and forgets when the connections are new', () => {
  const shapes = new PreparedShapes(true)
  for (let index = 0; index < 199; index++) uses(shapes, `text ${index}`, 3)
  expect(shapes.full).toBe(false)
  uses(shapes, 'the last', 3)
  expect(shapes.full).toBe(true)
  shapes.forget()
  expect(shapes.full).toBe(false)
  expect(uses(shapes, 'the last', 3)).toEqual([false, false, true])
})

test('texts seen once do not pile up: the one seen longest ago is forgotten', () => {
  const shapes = new PreparedShapes(true)
  uses(shapes, 'old', 2)
  for (let index = 0; index < 2_000; index++) shapes.shouldPrepare(`other ${index}`)
  expect(shapes.shouldPrepare('old')).toBe(false)
  uses(shapes, 'recent', 2)
  for (let index = 0; index < 1_000; index++) shapes.shouldPrepare(`more ${index}`)
  expect(shapes.shouldPrepare('recent')).toBe(true)
})
