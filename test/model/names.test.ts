import { expect, test } from 'bun:test'
import { pascalCase, pluralOf, snakeCase } from '../../src/model/names.ts'

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
