import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import { wholeView } from '../../src/model/view.ts'
import { parseFields, parseNoParameters, parseRowFields } from '../../src/parse/parameters.ts'
import { refusalOf } from '../support/refusal.ts'

test('D21: a path that takes no parameters refuses the first parameter', () => {
  for (const query of ['', '&', '&&']) expect(() => parseNoParameters(query)).not.toThrow()
  const { outcome, message } = refusalOf(() => parseNoParameters('N%61me=x&b=1'))
  expect([outcome, message]).toEqual([
    'UnknownParameter Name',
    expect.stringContaining('This address takes no query parameters.'),
  ])
  expect(refusalOf(() => parseNoParameters('a=%ZZ')).outcome).toBe('InvalidQueryString Api')
})

test('D56: the path of a row accepts only `fields`, in upper or lower case, once or several times', () => {
  expect(parseRowFields(wholeView(absence), 'FIELDS=Id')?.properties.length).toBe(1)
  expect(parseRowFields(wholeView(absence), '')).toBeNull()
  expect(parseRowFields(wholeView(absence), 'fields=Id&Fields=Id,Status')?.properties.map(({ name }) => name)).toEqual([
    'Id',
    'Status',
  ])
  expect(() => parseRowFields(wholeView(absence), 'fields=Id&fields=')).toThrow('one of them is empty')
  expect(() => parseRowFields(wholeView(absence), 'fields=Id&Id=1')).toThrow('takes no query parameter but fields')
})

const chosen = (text: string) => parseFields(wholeView(absence), text)?.properties.map(({ name }) => name)

describe('D56: the parameter fields', () => {
  test.each([
    ['Id', ['Id']],
    ['Type,Id', ['Id', 'Type']],
    ['id,ID,iD', ['Id']],
    ['period.DAYS', ['Period.Days']],
    ['Period', ['Period.Prefered', 'Period.Days', 'Period.Hours']],
    ['Period.Hours,Period', ['Period.Prefered', 'Period.Days', 'Period.Hours']],
  ])('%s selects properties, in the order of the entity', (text, names) => {
    expect(chosen(text)).toEqual(names)
  })

  test.each([
    ['Nmae', 'Absences have no property "Nmae".'],
    ['Id,Period.Day', 'Absences have no property "Period.Day". Did you mean Period.Days?'],
    ['Days', 'Absences have no property "Days". Did you mean Period.Days?'],
    ['EmployeeName', 'Did you mean Employee?'],
    ['colour', 'There are Id, Status, '],
    ['Id, Type', 'Absences have no property " Type". Did you mean Type?'],
    ['', 'fields is names of properties with commas between; one of them is empty.'],
    ['Id,', 'fields is names of properties with commas between; one of them is empty.'],
  ])('refuses the names "%s" with: %s', (text, message) => {
    expect(() => chosen(text)).toThrow(message)
  })
})
