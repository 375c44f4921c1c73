import { expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import employee from '../../src/entities/employee.ts'
import { findMember, Names } from '../../src/parse/names.ts'

test('a name is found in any case', () => {
  const names = new Names([
    ['Name', 1],
    ['knownAs', 2],
  ])
  for (const name of ['Name', 'name', 'NAME', 'nAmE']) expect(names.find(name)).toBe(1)
  for (const name of ['knownAs', 'KnownAs', 'knownas']) expect(names.find(name)).toBe(2)
  for (const name of ['', 'Nam', 'names', 'Name ', '__proto__', 'constructor']) expect(names.find(name)).toBeUndefined()
})

test('of names that differ by case the last counts, in whatever case it is asked for', () => {
  const names = new Names([
    ['Page', 'property'],
    ['page', 'reserved'],
  ])
  expect(['Page', 'page', 'PAGE'].map((name) => names.find(name))).toEqual(['reserved', 'reserved', 'reserved'])
})

test('every property, object and part is found by its name, in any case', () => {
  for (const entity of [absence, employee])
    for (const member of [...entity.members, ...entity.properties])
      for (const name of [member.name, member.name.toLowerCase(), member.name.toUpperCase()])
        expect(findMember(entity, name)).toBe(member)
  expect(findMember(absence, 'Period.')).toBeUndefined()
  expect(findMember(absence, 'Days')).toBeUndefined()
  // One entity's names are not another's.
  expect(findMember(employee, 'Period.Days')).toBeUndefined()
})
