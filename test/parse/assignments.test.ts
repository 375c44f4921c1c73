import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { ApiError } from '../../src/errors.ts'
import { computed, defineEntity, type Entity, group, identity, text } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import { parsePartial } from '../../src/parse/assignments.ts'

// What bodies mean is in test/api/bodies.test.ts, test/api/operations.test.ts and test/api/resources.test.ts; here is the rest.

type Body = Record<string, unknown>

function fault(entity: Entity, body: Body): ApiError {
  try {
    parsePartial(entity, body)
  } catch (error) {
    return error as ApiError
  }
  throw new Error(`${JSON.stringify(body)} was accepted`)
}

describe('faults', () => {
  test.each([
    [
      'D9: a part outside its object',
      { Days: new JsonNumber('1') },
      'UnknownProperty',
      'Days',
      'Did you mean {"Period":{"Days":...}}?',
    ],
    [
      'D9: a part with a dot',
      { 'Period.Days': new JsonNumber('1') },
      'UnknownProperty',
      'Period.Days',
      'Did you mean {"Period":{"Days":...}}?',
    ],
    ['D9: a name by its words', { StartDate: null }, 'UnknownProperty', 'StartDate', 'Did you mean Start?'],
    ['D9: a property inside an object', { Period: { Status: 'x' } }, 'UnknownProperty', 'Period.Status', 'Period has no'],
    ['an object where a value belongs', { Status: {} }, 'InvalidValue', 'Status', 'Status must be a text'],
    ['a text where an object belongs', { Period: 'x' }, 'InvalidValue', 'Period', 'Period must be an object, or null.'],
    ['an array where an object belongs', { Period: [] }, 'InvalidValue', 'Period', 'Period must be an object, or null.'],
    ['a number where one belongs', { Period: new JsonNumber('1') }, 'InvalidValue', 'Period', 'Period must be an object'],
  ])('%s', (_, body, code, target, message) => {
    expect(fault(absence, body)).toMatchObject({ code, target, message: expect.stringContaining(message) })
  })

  test('a body that consists of faults gets a bounded error, and long names are truncated in it', () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x${index}`, null]))
    expect(fault(company, body).details?.length).toBeLessThanOrEqual(100)
    const { target, message } = fault(company, { ['x'.repeat(100_000)]: 1 })
    expect([target.length <= 100, message.length < 300]).toEqual([true, true])
  })
})

test('an object that is null sets only its writable parts to null', () => {
  const size = group({ net: text(), label: computed(['size_net']) })
  const thing = defineEntity('Thing', { id: identity(), size })
  expect([...parsePartial(thing, { Size: null })].map(([{ name }, value]) => [name, value])).toEqual([['Size.Net', null]])
})
