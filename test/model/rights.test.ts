import { describe, expect, test } from 'bun:test'
import { allows, formatRights, parseRights, readRights } from '../../src/model/rights.ts'

const plurals = ['Absences', 'Companies', 'Employees']
const parse = (text: string) => parseRights(text, plurals)

test('D34: a right to one entity does not become a right to all through an entity with the name *', () => {
  expect(allows(parse('Companies:read'), '*', 'read')).toBe(false)
})

describe('parseRights', () => {
  test('accepts names and actions in upper or lower case, ignores spaces around them, and returns repeated rights once', () => {
    expect(formatRights(parse('companies:READ, ABSENCES:write ,Companies:read'))).toBe('Companies:read,Absences:write')
  })

  test('refuses invalid rights and unknown entities', () => {
    for (const text of ['', 'Companies', 'Companies:', ':read', 'Companies:read:write'])
      expect(() => parse(text)).toThrow(new RangeError(`"${text}" is not a right like Companies:read`))
    expect(() => parse('Companies:read,')).toThrow('"" is not a right like Companies:read')
  })

  test.each([
    ['Compnies:read', '"Compnies:read" names no entity. Did you mean Companies?'],
    ['Company:read,*:read', '"Company:read" names no entity. Did you mean Companies?'],
    ['Planets:read', '"Planets:read" names no entity. There are Absences, Companies, Employees.'],
    ['*:raed', '"*:raed" must end in :read or :write. Did you mean read?'],
    ['Companies:admin', '"Companies:admin" must end in :read or :write.'],
  ])('refuses %s', (text, message) => {
    expect(() => parse(text)).toThrow(new RangeError(message))
  })
})

test('formatRights writes a text that parseRights reads as the same rights', () => {
  for (const text of ['*:read', '*:read,*:write', 'Employees:read,Companies:write', 'Absences:read,Absences:write'])
    for (const read of [parse, readRights]) expect(formatRights(read(text))).toBe(text)
})

test('readRights leaves out invalid rights, and keeps entities that no longer exist', () => {
  expect(formatRights(readRights('Gone:read,x,:read,Companies:fly,,Companies:read'))).toBe('Gone:read,Companies:read')
  expect(formatRights(readRights(''))).toBe('')
})
