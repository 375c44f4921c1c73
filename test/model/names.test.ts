import { expect, test } from 'bun:test'
import { pascalCase, pluralOf, snakeCase, withArticle } from '../../src/model/names.ts'

test('snakeCase makes columns of properties and tables of entities', () => {
  const names = ['id', 'employeeNumber', 'Company', 'JobRole', 'continuousStart']
  expect(names.map(snakeCase)).toEqual(['id', 'employee_number', 'company', 'job_role', 'continuous_start'])
})

test('pascalCase makes the names of parameters and messages (spec 1, rule 5)', () => {
  expect(['id', 'employeeId', 'prefered'].map(pascalCase)).toEqual(['Id', 'EmployeeId', 'Prefered'])
})

test('pluralOf makes path segments', () => {
  expect(['Company', 'Employee', 'Absence', 'Holiday', 'Category'].map(pluralOf)).toEqual([
    'Companies',
    'Employees',
    'Absences',
    'Holidays',
    'Categories',
  ])
})

test('withArticle goes by the sound with which a name begins', () => {
  const names = ['absence', 'Employee', 'company', 'office', 'hour', 'user', 'unit', 'umbrella', 'house', 'Invoice']
  expect(names.map(withArticle)).toEqual([
    'an absence',
    'an Employee',
    'a company',
    'an office',
    'an hour',
    'a user',
    'a unit',
    'an umbrella',
    'a house',
    'an Invoice',
  ])
})
