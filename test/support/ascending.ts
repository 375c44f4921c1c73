import { expect } from 'bun:test'
import type { Compare } from './predicate.ts'

/** Compares each text with each, both ways and with itself. */
export function expectAscending(compare: Compare, texts: readonly string[]) {
  const signs = (order: (one: number, other: number) => number) =>
    texts.flatMap((one, index) => texts.map((other, place) => [one, other, order(index, place)]))
  expect(signs((one, other) => Math.sign(compare(texts[one] as string, texts[other] as string)))).toEqual(
    signs((one, other) => Math.sign(one - other)),
  )
}
