import { describe, expect, test } from 'bun:test'
import absence from '../../src/entities/absence.ts'
import { parseFields } from '../../src/parse/fields.ts'

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

  test.each([
    ['Nmae', 'Absences have no property "Nmae".'],
    ['Statsu', 'Absences have no property "Statsu". Did you mean Status?'],
    ['Id,Period.Day', 'Absences have no property "Period.Day". Did you mean Period.Days?'],
    ['Id, Type', 'Absences have no property " Type". Did you mean Type?'],
    ['', 'fields is names of properties with commas between; one of them is empty.'],
    ['Id,', 'fields is names of properties with commas between; one of them is empty.'],
  ])('%s is refused', (text, message) => {
    expect(() => parseFields(absence, text)).toThrow(message)
  })
})
