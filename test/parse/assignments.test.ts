import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import type { ApiError } from '../../src/errors.ts'
import type { Entity } from '../../src/model/entity.ts'
import { JsonNumber } from '../../src/model/kinds.ts'
import type { Assignments } from '../../src/model/query.ts'
import { parseComplete, parsePartial } from '../../src/parse/assignments.ts'

type Body = Record<string, unknown>

const shown = (changes: Assignments) => Object.fromEntries([...changes].map(([{ name }, value]) => [name, value]))
const complete = (entity: Entity, body: Body) => shown(parseComplete(entity, body))
const partial = (entity: Entity, body: Body) => shown(parsePartial(entity, body))

function fault(entity: Entity, body: Body, parse = parsePartial): ApiError {
  try {
    parse(entity, body)
  } catch (error) {
    return error as ApiError
  }
  throw new Error(`${JSON.stringify(body)} was accepted`)
}

describe('a complete body (spec 4.1, rule 2)', () => {
  test('D7: what is not given takes its default, booleans false and others null', () => {
    expect(complete(company, {})).toEqual({ Name: null, Enabled: 'false' })
    expect(complete(company, { Name: 'A' })).toEqual({ Name: 'A', Enabled: 'false' })
    expect(Object.values(complete(absence, {}))).toEqual(Array(9).fill(null))
  })

  test('D8: sets every writable property and no read-only one', () => {
    const writable = employee.properties.filter((property) => property.writable).map(({ name }) => name)
    expect(Object.keys(complete(employee, { Id: new JsonNumber('5'), DisplayName: 'x' }))).toEqual(writable)
  })
})

describe('a partial body (spec 4.1, rule 3)', () => {
  test('sets what it names and nothing else', () => {
    expect(partial(company, { Enabled: true })).toEqual({ Enabled: 'true' })
    expect(partial(company, {})).toEqual({})
  })

  test('an explicit null is a change', () => {
    expect(partial(company, { Name: null })).toEqual({ Name: null })
  })

  test('D14: an object is merged part by part; null clears it', () => {
    expect(partial(absence, { Period: { Days: new JsonNumber('2') } })).toEqual({ 'Period.Days': '2' })
    expect(partial(absence, { period: null })).toEqual({
      'Period.Prefered': null,
      'Period.Days': null,
      'Period.Hours': null,
    })
    expect(partial(absence, { period: {} })).toEqual({})
  })
})

test('D2: names match in any case', () => {
  expect(partial(company, { nAME: 'x', ENABLED: false })).toEqual({ Name: 'x', Enabled: 'false' })
})

test('D8: read-only properties are ignored, whatever they hold', () => {
  expect(partial(company, { id: 'anything', name: 'x' })).toEqual({ Name: 'x' })
  expect(partial(employee, { DisplayName: [], company: {}, Manager: null })).toEqual({})
  expect(partial(absence, { Employee: new JsonNumber('1') })).toEqual({})
})

describe('faults', () => {
  test('D9: an unknown property, with the nearest known one', () => {
    expect(fault(company, { Nmae: 'x' })).toMatchObject({
      code: 'UnknownProperty',
      target: 'Nmae',
      message: 'Company has no property "Nmae". Did you mean Name?',
    })
  })

  test('D9: a property of an object is known inside the object only', () => {
    expect(fault(absence, { Days: new JsonNumber('1') }).code).toBe('UnknownProperty')
    expect(fault(absence, { 'Period.Days': new JsonNumber('1') }).code).toBe('UnknownProperty')
    expect(fault(absence, { Period: { Status: 'x' } })).toMatchObject({
      code: 'UnknownProperty',
      target: 'Period.Status',
      message: 'Period has no property "Status".',
    })
  })

  test('names that every object has are unknown', () => {
    for (const key of ['constructor', 'toString', '__proto__'])
      expect(fault(company, JSON.parse(`{"${key}":"x"}`)).code).toBe('UnknownProperty')
  })

  test('D2: two names that differ by case', () => {
    expect(fault(company, { Name: 'a', name: 'b' })).toMatchObject({ code: 'DuplicateProperty', target: 'Name' })
    expect(fault(company, { Id: 'a', id: 'b' })).toMatchObject({ code: 'DuplicateProperty', target: 'Id' })
    expect(fault(absence, { Period: { days: null, Days: null } })).toMatchObject({
      code: 'DuplicateProperty',
      target: 'Period.Days',
    })
  })

  test('D7: null for a boolean', () => {
    expect(fault(company, { Enabled: null })).toMatchObject({
      code: 'InvalidValue',
      target: 'Enabled',
      message: 'Enabled must be true or false.',
    })
  })

  test('an object where a value belongs, a value where an object belongs', () => {
    expect(fault(company, { Name: {} })).toMatchObject({ code: 'InvalidValue', target: 'Name' })
    for (const value of ['x', true, [], new JsonNumber('1')])
      expect(fault(absence, { Period: value })).toMatchObject({
        code: 'InvalidValue',
        target: 'Period',
        message: 'Period must be an object, or null.',
      })
  })

  test('D13: an end before the start, where the body has both', () => {
    const start = '2024-01-02T00:00:00Z'
    expect(fault(absence, { Start: start, End: '2024-01-01T00:00:00Z' })).toMatchObject({
      code: 'InvalidValue',
      target: 'End',
      message: 'End must not be before Start.',
    })
    expect(partial(absence, { Start: start, End: start })).toEqual({ Start: start, End: start })
    expect(partial(absence, { Start: start, End: null })).toEqual({ Start: start, End: null })
    // Offsets count: what looks earlier is later.
    expect(partial(absence, { Start: '2024-01-02T05:00:00+05:00', End: '2024-01-02T00:00:00Z' }).End).toBe(start)
  })

  test('D9: one fault has its own code and target on top, and stands in Details too', () => {
    const { code, target, message, details } = fault(company, { Enabled: 'yes' })
    expect([code, target]).toEqual(['InvalidValue', 'Enabled'])
    expect(details).toEqual([{ code: 'InvalidValue', target: 'Enabled', message }])
  })

  test('D9: several are listed together under ValidationFailed, in the order of the body', () => {
    const body = { Colour: 'red', Status: 'x'.repeat(101), Period: { days: '1', Hourz: null }, status: null }
    const { code, target, message, details } = fault(absence, body, parseComplete)
    expect([code, target, message]).toEqual(['ValidationFailed', 'Body', 'The body has 5 faults; Details lists them.'])
    expect(details?.map((entry) => [entry.code, entry.target])).toEqual([
      ['UnknownProperty', 'Colour'],
      ['InvalidValue', 'Status'],
      ['InvalidValue', 'Period.Days'],
      ['UnknownProperty', 'Period.Hourz'],
      ['DuplicateProperty', 'Status'],
    ])
  })

  test('a body of nothing but faults does not make an endless answer', () => {
    const body = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x${index}`, null]))
    expect(fault(company, body).details?.length).toBeLessThanOrEqual(100)
  })

  test('a long name is not repeated whole', () => {
    const { target, message } = fault(company, { ['x'.repeat(100_000)]: 1 })
    expect([target.length <= 100, message.length < 300]).toEqual([true, true])
  })
})
