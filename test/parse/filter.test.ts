import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Filter } from '../../src/model/query.ts'
import { addFilter, parseFilter } from '../../src/parse/filter.ts'

function parsed(entity: Entity, name: string, value: string) {
  const filter = parseFilter(entity, { name, value, raw: '' })
  return [filter.property.name, filter.operator.sign, filter.value]
}

function fault(entity: Entity, name: string, value: string): { code: string; target: string; message: string } {
  try {
    parsed(entity, name, value)
  } catch (error) {
    return error as { code: string; target: string; message: string }
  }
  throw new Error(`${name}=${value} was accepted`)
}

test('D71: [] in any case and in words, with the values of all parameters of one property', () => {
  const filters: Filter[] = []
  for (const [name, value] of [
    ['Id[]', '9'],
    ['id[ANY]', '7'],
    ['ID[]', '9'],
    ['Id[]', ''],
  ] as const)
    addFilter(filters, parseFilter(company, { name, value, raw: '' }))
  expect(filters.map(({ property, anyOf }) => [property.name, anyOf])).toEqual([['Id', ['7', '9', null]]])
  for (let value = 10; value < 107; value++)
    addFilter(filters, parseFilter(company, { name: 'Id[]', value: `${value}`, raw: '' }))
  const more = () => addFilter(filters, parseFilter(company, { name: 'Name[]', value: 'x', raw: '' }))
  expect(more).toThrow('A request may have up to 100 values in parameters such as Name[].')
})

describe('names', () => {
  test('D21: an unknown name is refused, with the nearest known one', () => {
    expect(fault(company, 'Nmae', 'x')).toMatchObject({
      code: 'UnknownParameter',
      target: 'Nmae',
      message: 'Companies has no parameter "Nmae". Did you mean Name?',
    })
    expect(fault(company, 'Colour', 'x').message).not.toContain('Did you mean')
  })

  test('a name near a parameter that is no filter gets that as the hint', () => {
    expect(fault(company, 'pagesise', '5').message).toContain('Did you mean PageSize?')
  })

  test('D21: a part of an object needs the dot, and the object itself is no filter', () => {
    expect(fault(absence, 'Days', '1').code).toBe('UnknownParameter')
    expect(fault(absence, 'period', '1')).toMatchObject({
      code: 'InvalidFilter',
      target: 'Period',
      message: 'Period is an object: filter by one of Period.Prefered, Period.Days, Period.Hours.',
    })
    for (const name of ['Period[]', 'Period[Days]', 'Period[gte]', 'Period[0]'])
      expect(fault(absence, name, '1')).toMatchObject({ code: 'InvalidFilter', target: 'Period' })
  })

  test('names that every object has are unknown too', () => {
    for (const name of ['constructor', '__proto__', 'toString']) expect(fault(company, name, 'x').code).toBe('UnknownParameter')
  })

  test('an operator in front of the = is explained', () => {
    const { code, message } = fault(absence, 'Start>', '2024-01-01T00:00:00Z')
    expect([code, message]).toEqual([
      'UnknownParameter',
      'Absences has no parameter "Start>". An operator stands behind the first =, as in Start=>=<value>.',
    ])
  })

  test('a long name is not repeated whole', () => {
    expect(fault(company, 'x'.repeat(5_000), '').message.length).toBeLessThan(300)
  })
})

describe('values', () => {
  test('D24: an empty value is "no value" for = and !=', () => {
    for (const name of ['Status', 'Start', 'EmployeeId', 'Period.Days']) {
      expect(parsed(absence, name, '')).toEqual([name, '=', null])
      expect(parsed(absence, name, '=')).toEqual([name, '=', null])
      expect(parsed(absence, name, '!=')).toEqual([name, '!=', null])
    }
  })

  for (const _prefix of ['<', '<=', '>', '>='])
    for (const _prefix of ['<', '<=', '>', '>='])
      test('are normalized for PostgreSQL', () => {
        expect(parsed(company, 'Enabled', '!=TRUE')).toEqual(['Enabled', '!=', 'true'])
        expect(parsed(absence, 'Start', '<2024-01-01T01:00:00+01:00')).toEqual(['Start', '<', '2024-01-01T00:00:00Z'])
        expect(parsed(absence, 'Period.Days', '>2.50')).toEqual(['Period.Days', '>', '2.5'])
      })
})
