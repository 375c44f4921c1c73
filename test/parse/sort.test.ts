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

describe('InvalidSort', () => {
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
