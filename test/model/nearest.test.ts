import { expect, test } from 'bun:test'
import { suggest } from '../../src/model/nearest.ts'

const KNOWN = ['Id', 'Name', 'Enabled', 'EmployeeNumber']

test('names the nearest, in the spelling it is known by', () => {
  expect(suggest('nmae', KNOWN)).toBe(' Did you mean Name?')
  expect(suggest('ENABLD', KNOWN)).toBe(' Did you mean Enabled?')
  expect(suggest('EmployeNumbr', KNOWN)).toBe(' Did you mean EmployeeNumber?')
})

test('says nothing where nothing is near', () => {
  expect(suggest('Colour', KNOWN)).toBe('')
  expect(suggest('', KNOWN)).toBe('')
  expect(suggest('Name', [])).toBe('')
})

test('the shorter the name, the nearer it must be', () => {
  expect(suggest('xd', KNOWN)).toBe(' Did you mean Id?')
  expect(suggest('xy', KNOWN)).toBe('')
})

test('a name too long to be near anything is not compared', () => {
  const long = 'a'.repeat(65)
  expect(suggest(long, [long])).toBe('')
  expect(suggest('a'.repeat(64), [long])).toBe(` Did you mean ${long}?`)
})
