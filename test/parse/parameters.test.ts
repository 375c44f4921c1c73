import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import { parseFields, parseNoParameters, parseRowFields } from '../../src/parse/parameters.ts'

const codeOf = (parse: () => unknown): unknown => {
  try {
    return parse()
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('D21: a path without parameters refuses the first one', () => {
  for (const query of ['', '&', '&&']) expect(codeOf(() => parseNoParameters(query))).toBeUndefined()
  expect(() => parseNoParameters('N%61me=x&b=1')).toThrow('This address takes no query parameters.')
  expect(codeOf(() => parseNoParameters('a=%ZZ'))).toBe('InvalidQueryString')
})

test('D56: the path of a row accepts `fields` in any case, once or joined, and nothing else', () => {
  expect(parseRowFields(absence, 'FIELDS=Id')?.properties.length).toBe(1)
  expect(parseRowFields(absence, '')).toBeNull()
  expect(parseRowFields(absence, 'fields=Id&Fields=Id,Status')?.properties.map(({ name }) => name)).toEqual(['Id', 'Status'])
  expect(() => parseRowFields(absence, 'fields=Id&fields=')).toThrow('one of them is empty')
  expect(() => parseRowFields(absence, 'fields=Id&Id=1')).toThrow('takes no query parameter but fields')
})

const chosen = (text: string) => parseFields(absence, text)?.properties.map(({ name }) => name)

describe('D56: the parameter fields', () => {
  test.each([
    ['Id', ['Id']],
    ['Type,Id', ['Id', 'Type']],
    ['id,ID,iD', ['Id']],
    ['period.DAYS', ['Period.Days']],
    ['Period', ['Period.Prefered', 'Period.Days', 'Period.Hours']],
    ['Period.Hours,Period', ['Period.Prefered', 'Period.Days', 'Period.Hours']],
  ])('%s chooses properties, in the order of the entity', (text, names) => {
    expect(chosen(text)).toEqual(names)
  })

  test('refuses unknown names, with the nearest one', () => {
    expect(() => chosen('Nmae')).toThrow('Absences have no property "Nmae".')
    expect(() => chosen('Id,Period.Day')).toThrow('Absences have no property "Period.Day". Did you mean Period.Days?')
    expect(() => chosen('Days')).toThrow('Absences have no property "Days". Did you mean Period.Days?')
    expect(() => chosen('EmployeeName')).toThrow('Did you mean Employee?')
    expect(() => chosen('colour')).toThrow('There are Id, Status, ')
    expect(() => chosen('Id, Type')).toThrow('Absences have no property " Type". Did you mean Type?')
    for (const text of ['', 'Id,'])
      expect(() => chosen(text)).toThrow('fields is names of properties with commas between; one of them is empty.')
  })
})
