import { expect, test } from 'bun:test'
import { suggest } from '../../src/model/nearest.ts'
import { titled } from '../support/titles.ts'

const KNOWN = ['Id', 'Name', 'page', 'Period.Days', 'Enabled', 'EmployeeNumber', 'a'.repeat(65)]

const neighbors = titled<readonly [string, string | null]>([
  ['nmae', 'Name'],
  ['ENABLD', 'Enabled'],
  ['EmployeNumbr', 'EmployeeNumber'],
  ['xd', 'Id'],
  ['Days', 'Period.Days'],
  ['dasy', 'Period.Days'],
  ['Period.Dys', 'Period.Days'],
  ['a'.repeat(64), 'a'.repeat(65)],
  // The shorter a name, the fewer letters may differ; names that are too long are not compared.
  ...['Colour', 'Date', 'Months', '', 'xy', 'a'.repeat(65)].map((name) => [name, null] as const),
])
test.each(neighbors)('the nearest known name is suggested for "%s", or none if no name is near', (_, name, near) => {
  expect(suggest(name, KNOWN)).toBe(near === null ? '' : ` Did you mean ${near}?`)
})
