import { expect, test } from 'bun:test'
import { exchangesOf, readPage } from '../support/documents.ts'

test('roster.http has exactly the requests of docs/recipes/http-file.md, in order', () => {
  const shown = exchangesOf(readPage('docs/recipes/http-file.md')).filter(({ program }) => program === 'http')
  expect(readPage('docs/recipes/roster.http')).toBe(`${shown.map(({ command }) => command).join('\n\n')}\n`)
  expect(shown.length).toBeGreaterThan(2)
})
