import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import { computed, defineEntity, type Entity, group, identity, text } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import { parsePartial, wholeBody } from '../../src/parse/assignments.ts'
import { refusalOf } from '../support/refusal.ts'

// What bodies mean is in test/api/bodies.test.ts, test/api/operations.test.ts and test/api/resources.test.ts; here is the rest.

type Body = Record<string, unknown>
const ONE = new JsonNumber('1')

const fault = (entity: Entity, body: Body) => refusalOf(() => parsePartial(entity, wholeBody(entity), body))

describe('faults of a body', () => {
  test.each([
    ['a part outside its object', { Days: ONE }, 'UnknownProperty Days', 'Did you mean {"Period":{"Days":...}}?'],
    ['a part with a dot', { 'Period.Days': ONE }, 'UnknownProperty Period.Days', 'Did you mean {"Period":{"Days":...}}?'],
    ['a name by its words', { StartDate: null }, 'UnknownProperty StartDate', 'Did you mean Start?'],
    ['a property inside an object', { Period: { Status: 'x' } }, 'UnknownProperty Period.Status', 'Period has no'],
    ['an object where a value belongs', { Status: {} }, 'InvalidValue Status', 'Status must be a text'],
    ['a text where an object belongs', { Period: 'x' }, 'InvalidValue Period', 'Period must be an object, or null.'],
    ['an array where an object belongs', { Period: [] }, 'InvalidValue Period', 'Period must be an object, or null.'],
    ['a number where an object belongs', { Period: ONE }, 'InvalidValue Period', 'Period must be an object'],
  ])('D9: a body with %s is refused', (_, body, outcome, message) => {
    expect(fault(absence, body)).toMatchObject({ outcome, message: expect.stringContaining(message) })
  })

  test('a body with 10,000 faults gets an error with at most 100 details, and long names are truncated in errors', () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x${index}`, null]))
    expect(fault(company, body).details?.length).toBeLessThanOrEqual(100)
    const { outcome, message } = fault(company, { ['x'.repeat(100_000)]: 1 })
    expect(outcome.length).toBeLessThanOrEqual('UnknownProperty '.length + 100)
    expect(message.length).toBeLessThan(300)
  })
})

test('null in place of an object sets only its writable properties to null', () => {
  const size = group({ net: text(), label: computed(['size_net']) })
  const thing = defineEntity('Thing', { id: identity(), size })
  expect([...parsePartial(thing, wholeBody(thing), { Size: null })].map(([{ name }, value]) => [name, value])).toEqual([
    ['Size.Net', null],
  ])
})

test('a required text must not be empty or null, but a PATCH may leave it out', () => {
  const named = defineEntity('Named', { id: identity(), title: text({ required: true }), note: text() })
  const parse = (body: Body) => [...parsePartial(named, wholeBody(named), body).values()]
  expect([parse({ Title: 'x' }), parse({ Note: 'y' })]).toEqual([['x'], ['y']])
  for (const Title of ['', null]) expect(fault(named, { Title })).toMatchObject({ outcome: 'InvalidValue Title' })
})
