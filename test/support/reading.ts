import { boolean, decimal, defineEntity, identity, instant, integer, text } from '../../src/model/entity.ts'

/** An entity with a property of each kind that codes tell apart. */
export const reading = defineEntity('Reading', {
  id: identity(),
  label: text(),
  on: boolean(),
  at: instant(),
  amount: decimal(8),
  level: integer({ min: -1_000, max: 1_000 }),
})
