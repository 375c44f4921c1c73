import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { ApiError } from '../../src/errors.ts'
import type { Entity } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Assignments } from '../../src/model/query.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'

// What bodies mean is in test/api/bodies.test.ts, test/api/operations.test.ts and test/api/resources.test.ts; here is the rest.

type Body = Record<string, unknown>

const shown = (changes: Assignments) => Object.fromEntries([...changes].map(([{ name }, value]) => [name, value]))
const partial = (entity: Entity, body: Body) => shown(parsePartial(entity, body))

function fault(entity: Entity, body: Body): ApiError {
  try {
    parsePartial(entity, body)
  } catch (error) {
    return error as ApiError
  }
  throw new Error(`${JSON.stringify(body)} was accepted`)
}

test('D8: a complete body sets every writable property and no read-only one', () => {
  const writable = employee.properties.filter((property) => property.writable).map(({ name }) => name)
  const changes = shown(parseComplete(employee, { Id: new JsonNumber('5'), DisplayName: 'x' }))
  expect(Object.keys(changes)).toEqual(writable)
})

test('D14: an object of a partial body is merged part by part; null clears it', () => {
  expect(partial(absence, { Period: { Days: new JsonNumber('2') } })).toEqual({ 'Period.Days': '2' })
  const cleared = { 'Period.Prefered': null, 'Period.Days': null, 'Period.Hours': null }
  expect(partial(absence, { period: null })).toEqual(cleared)
  expect(partial(absence, { period: {} })).toEqual({})
})

describe('faults', () => {
  test.each([
    ['D9: a part outside its object', { Days: new JsonNumber('1') }, 'UnknownProperty', 'Days', 'Absence has no property'],
    ['D9: a part with a dot', { 'Period.Days': new JsonNumber('1') }, 'UnknownProperty', 'Period.Days', 'Absence has no'],
    ['D9: a property inside an object', { Period: { Status: 'x' } }, 'UnknownProperty', 'Period.Status', 'Period has no'],
    ['an object where a value belongs', { Status: {} }, 'InvalidValue', 'Status', 'Status must be a text'],
    ['a text where an object belongs', { Period: 'x' }, 'InvalidValue', 'Period', 'Period must be an object, or null.'],
    ['an array where an object belongs', { Period: [] }, 'InvalidValue', 'Period', 'Period must be an object, or null.'],
    ['a number where one belongs', { Period: new JsonNumber('1') }, 'InvalidValue', 'Period', 'Period must be an object'],
  ])('%s', (_, body, code, target, message) => {
    expect(fault(absence, body)).toMatchObject({ code, target, message: expect.stringContaining(message) })
  })

  test('D13: an end before the start, where the body has both', () => {
    const start = '2024-01-02T00:00:00Z'
    const message = 'End must not be before Start.'
    expect(fault(absence, { Start: start, End: '2024-01-01T00:00:00Z' })).toMatchObject({ target: 'End', message })
    for (const End of [start, null]) expect(partial(absence, { Start: start, End })).toEqual({ Start: start, End })
    // Offsets count: what looks earlier is later.
    expect(partial(absence, { Start: '2024-01-02T05:00:00+05:00', End: '2024-01-02T00:00:00Z' }).End).toBe(start)
  })

  test('a body of nothing but faults does not make an endless answer, nor is a long name repeated whole', () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x${index}`, null]))
    expect(fault(company, body).details?.length).toBeLessThanOrEqual(100)
    const { target, message } = fault(company, { ['x'.repeat(100_000)]: 1 })
    expect([target.length <= 100, message.length < 300]).toEqual([true, true])
  })
})
