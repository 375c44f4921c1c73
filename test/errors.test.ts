import { expect, test } from 'bun:test'
import { STATUS_CODES } from 'node:http'
import { errorTable } from '../src/errors.ts'

// The statuses are in docs/errors.md, which test/house/tidy.test.ts compares.

test.each(Object.entries(errorTable))('%s has a status that exists, a title, an explanation and a remedy', (code, entry) => {
  const { status, title, explanation, remedy } = entry
  expect(code).toMatch(/^[A-Z][A-Za-z]+$/)
  expect([status >= 400, STATUS_CODES[status] !== undefined]).toEqual([true, true])
  expect(title).toMatch(/^\p{L}.*[^.]$/u)
  expect(explanation).toMatch(/^\p{L}.*\.$/u)
  expect(remedy).toMatch(/^\p{L}.*\.$/u)
})
