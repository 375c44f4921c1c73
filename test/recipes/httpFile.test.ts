import { expect, test } from 'bun:test'
import { exchangesOf, readPage } from '../support/documents.ts'

test('roster.http has the requests of its page in order, and no other', () => {
  const shown = exchangesOf(readPage('docs/recipes/http-file.md')).filter(({ program }) => program === 'http')
  expect(readPage('docs/recipes/roster.http')).toBe(`${shown.map(({ command }) => command).join('\n\n')}\n`)
  expect(shown.length).toBeGreaterThan(2)
})
