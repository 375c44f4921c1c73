import { describe, expect, test } from 'bun:test'
import { allows, formatRights, parseRights, readRights } from '../../src/model/rights.ts'

const plurals = ['Absences', 'Companies', 'Employees']
const parse = (text: string) => parseRights(text, plurals)

describe('D34: what a key may do', () => {
  const matrix: [rights: string, allowed: string[]][] = [
    ['Companies:read', ['Companies read']],
    ['Companies:write', ['Companies write']],
    ['Companies:read,Companies:write', ['Companies read', 'Companies write']],
    ['Companies:read,Absences:write', ['Absences write', 'Companies read']],
    ['*:read', ['Absences read', 'Companies read', 'Employees read']],
    ['*:write', ['Absences write', 'Companies write', 'Employees write']],
    ['*:read,Employees:write', ['Absences read', 'Companies read', 'Employees read', 'Employees write']],
  ]
  for (const [text, allowed] of matrix)
    test(`${text} allows ${allowed.join(', ')} and nothing else`, () => {
      const asked = plurals.flatMap((plural) => (['read', 'write'] as const).map((action) => ({ plural, action })))
      for (const rights of [parse(text), readRights(text)]) {
        const answered = asked.filter(({ plural, action }) => allows(rights, plural, action))
        expect(answered.map(({ plural, action }) => `${plural} ${action}`)).toEqual(allowed)
      }
    })

  test('a right to one entity is none to one called *', () => {
    expect(allows(parse('Companies:read'), '*', 'read')).toBe(false)
  })
})

describe('parseRights', () => {
  test('takes names and actions in any case, spaces around them, and each right once', () => {
    expect(formatRights(parse('companies:READ, ABSENCES:write ,Companies:read'))).toBe('Companies:read,Absences:write')
  })

  for (const [text, message] of [
    ['', '"" is not a right like Companies:read'],
    ['Companies', '"Companies" is not a right like Companies:read'],
    ['Companies:', '"Companies:" is not a right like Companies:read'],
    [':read', '":read" is not a right like Companies:read'],
    ['Companies:read:write', '"Companies:read:write" is not a right like Companies:read'],
    ['Companies:read,', '"" is not a right like Companies:read'],
    ['Compnies:read', '"Compnies:read" names no entity. Did you mean Companies?'],
    ['Company:read,*:read', '"Company:read" names no entity. Did you mean Companies?'],
    ['Planets:read', '"Planets:read" names no entity. There are Absences, Companies, Employees.'],
    ['*:raed', '"*:raed" must end in :read or :write. Did you mean read?'],
    ['Companies:admin', '"Companies:admin" must end in :read or :write.'],
  ] as const)
    test(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parse(text)).toThrow(new RangeError(message))
    })
})

describe('formatRights', () => {
  for (const text of ['*:read', '*:read,*:write', 'Employees:read,Companies:write', 'Absences:read,Absences:write'])
    test(`${text} comes back as it was`, () => {
      expect(formatRights(parse(text))).toBe(text)
      expect(formatRights(readRights(text))).toBe(text)
    })
})

test('readRights leaves out what cannot be a right, and keeps an entity that is gone', () => {
  expect(formatRights(readRights('Gone:read,x,:read,Companies:fly,,Companies:read'))).toBe('Gone:read,Companies:read')
  expect(formatRights(readRights(''))).toBe('')
})
