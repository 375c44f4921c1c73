import { expect, test } from 'bun:test'
import { groupsInOrder } from '../../src/columns/groupOrder.ts'
import { Random } from '../support/random.ts'

const GROUPS = 6_000

test.each([
  [false, [Infinity]],
  [true, [Infinity, -Infinity]],
  [false, [-Infinity, Number.NaN]],
  [true, [Number.NaN, Infinity]],
])('groups are in order, descending: %p, with values such as %p', (isDescending, odd) => {
  const random = new Random(1)
  const values = Array.from({ length: GROUPS }, () => (random.chance(20) ? random.pick(odd) : random.below(GROUPS)))
  const numberOf = (group: number) => values[group] as number
  const byId = { isDescending: false, numberOf: (group: number) => group }
  const steps = groupsInOrder(Int32Array.from(values.keys()), [{ isDescending, numberOf }, byId], 0, GROUPS)
  let found = steps.next()
  // Without a bound, a range that has no width would be divided for ever.
  for (let left = 10_000; !found.done && left > 0; left--) found = steps.next()
  const rank = (group: number) => (Number.isNaN(numberOf(group)) ? Number.POSITIVE_INFINITY : numberOf(group))
  const none = (group: number) => Number(Number.isNaN(numberOf(group)))
  const compare = (one: number, other: number) => none(one) - none(other) || Math.sign(rank(one) - rank(other)) || 0
  const sorted = [...values.keys()].sort(
    (one, other) => (isDescending ? compare(other, one) : compare(one, other)) || one - other,
  )
  expect([found.done, [...(found.value ?? [])]]).toEqual([true, sorted])
})
