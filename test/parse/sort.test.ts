import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Sort } from '../../src/model/query.ts'
import { parseSort } from '../../src/parse/sort.ts'

function parsed(entity: Entity, ...texts: string[]): string[] {
  const sorts: Sort[] = []
  for (const text of texts) parseSort(entity, text, sorts)
  return sorts.map(({ property, direction }) => `${property.name} ${direction}`)
}

test('spec 4.2, Sorting 2 and 3: signs give the direction, commas the order', () => {
  expect(parsed(company, '-Enabled,+Name')).toEqual(['Enabled descending', 'Name ascending'])
})

test('D4: a space is a + that was decoded; D27: no sign is ascending', () => {
  expect(parsed(company, ' Name,Id')).toEqual(['Name ascending', 'Id ascending'])
})

test('spec 4.2, Sorting 4: only the first reference of a property counts', () => {
  expect(parsed(company, '+Name,-Enabled,-Name,+enabled')).toEqual(['Name ascending', 'Enabled descending'])
})

test('D27: sort given twice is concatenated, the first reference counting across both', () => {
  expect(parsed(company, '-Name', 'Name,Id')).toEqual(['Name descending', 'Id ascending'])
})

test('D27: an empty sort is as if absent', () => {
  expect(parsed(company, '')).toEqual([])
  expect(parsed(company, '', 'Name')).toEqual(['Name ascending'])
})

test('D1, D27: names in any case, parts of objects with a dot', () => {
  expect(parsed(absence, '-period.DAYS')).toEqual(['Period.Days descending'])
})

describe('InvalidSort', () => {
  for (const [text, message] of [
    ['Nmae', 'Companies cannot be sorted by "Nmae". Did you mean Name?'],
    ['--Name', 'Companies cannot be sorted by "-Name". Did you mean Name?'],
    ['+', 'one of them is empty'],
    ['-', 'one of them is empty'],
    [',', 'one of them is empty'],
    ['Name,', 'one of them is empty'],
    ['Name,,Id', 'one of them is empty'],
    ['constructor', 'cannot be sorted by "constructor"'],
    ['Name Id', 'cannot be sorted by'],
  ] as const)
    test(JSON.stringify(text), () => {
      expect(() => parsed(company, text)).toThrow(message)
      try {
        parsed(company, text)
      } catch (error) {
        expect(error).toMatchObject({ code: 'InvalidSort', target: 'sort' })
      }
    })

  for (const [text, hint] of [
    ['name:desc', 'Descending is -Name.'],
    ['name desc', 'Descending is -Name.'],
    ['Name DESCENDING', 'Descending is -Name.'],
    ['name.desc', 'Descending is -Name.'],
    ['desc(name)', 'Descending is -Name.'],
    ['Name-', 'Descending is -Name.'],
    ['-name:desc', 'Descending is -Name.'],
    ['Enabled,desc', 'Descending is -Enabled.'],
    ['name:asc', 'Ascending is Name, or +Name.'],
    ['asc(name)', 'Ascending is Name, or +Name.'],
    ['Name ', 'Ascending is Name, or +Name.'],
    ['Id,Name,asc', 'Ascending is Name, or +Name.'],
    ['nmae:desc', 'Did you mean Name?'],
  ] as const)
    test(`${JSON.stringify(text)}: ${hint}`, () => {
      expect(() => parsed(company, text)).toThrow(hint)
    })

  test('a direction alone has no hint, nor has a text of thousands of signs', () => {
    for (const text of ['desc', `${':'.repeat(3_000)}desc`])
      expect(() => parsed(company, text)).toThrow(/^Companies cannot be sorted by "[^"]*"\.$/)
  })

  test('D27: an object, with its parts in the message', () => {
    expect(() => parsed(absence, '+Period')).toThrow(
      'Period is an object: sort by one of Period.Prefered, Period.Days, Period.Hours.',
    )
  })
})
