import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import { parseFields } from '../../src/parse/ownParameters.ts'

const chosen = (text: string) => parseFields(absence, text).properties.map(({ name }) => name)

describe('D56: fields', () => {
  test.each([
    ['Id', ['Id']],
    ['Type,Id', ['Id', 'Type']],
    ['id,ID,iD', ['Id']],
    ['period.DAYS', ['Period.Days']],
    ['Period', ['Period.Prefered', 'Period.Days', 'Period.Hours']],
    ['Period.Hours,Period', ['Period.Prefered', 'Period.Days', 'Period.Hours']],
  ])('%s chooses, in the order of the entity', (text, names) => {
    expect(chosen(text)).toEqual(names)
  })

  test('names that are none are refused, with the nearest', () => {
    expect(() => chosen('Nmae')).toThrow('Absences have no property "Nmae".')
    expect(() => chosen('Id,Period.Day')).toThrow('Absences have no property "Period.Day". Did you mean Period.Days?')
    expect(() => chosen('Id, Type')).toThrow('Absences have no property " Type". Did you mean Type?')
    for (const text of ['', 'Id,'])
      expect(() => chosen(text)).toThrow('fields is names of properties with commas between; one of them is empty.')
  })
})
