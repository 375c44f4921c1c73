import { expect, test } from 'bun:test'
import { pascalCase, pluralOf, snakeCase, withArticle } from '../../src/model/names.ts'

test.each([
  ['columns of properties and tables of entities', snakeCase, 'employeeNumber JobRole id', 'employee_number job_role id'],
  ['names of parameters and messages (spec 1, rule 5)', pascalCase, 'id employeeId', 'Id EmployeeId'],
  ['path segments', pluralOf, 'Company Absence Holiday Category', 'Companies Absences Holidays Categories'],
])('names are converted to %s', (_, nameOf, names, expected) => {
  expect(names.split(' ').map(nameOf)).toEqual(expected.split(' '))
})

test('withArticle chooses "a" or "an" by the sound with which a name begins', () => {
  const vowels = ['absence', 'Employee', 'office', 'hour', 'umbrella', 'Invoice']
  expect(vowels.map(withArticle)).toEqual(vowels.map((name) => `an ${name}`))
  const consonants = ['company', 'user', 'unit', 'house']
  expect(consonants.map(withArticle)).toEqual(consonants.map((name) => `a ${name}`))
})
