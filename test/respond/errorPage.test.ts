import { describe, expect, test } from 'bun:test'
import { type ErrorCode, errorTable } from '../../src/errors.ts'
import { errorPage } from '../../src/respond/errorPage.ts'

describe('D38: every code has a page', () => {
  for (const code of Object.keys(errorTable) as ErrorCode[])
    test(code, () => {
      const { status, title, explanation, remedy } = errorTable[code]
      const page = errorPage(code)
      expect(page?.status).toBe(200)
      for (const text of [
        `<title>${code}</title>`,
        `<h1>${code}</h1>`,
        `HTTP status ${status}. ${Bun.escapeHTML(title)}.`,
        Bun.escapeHTML(explanation),
        Bun.escapeHTML(remedy),
      ])
        expect(page?.body).toContain(text)
    })
})

test('is HTML that loads and runs nothing', () => {
  expect(errorPage('NotFound')?.headers).toEqual({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
    'X-Content-Type-Options': 'nosniff',
  })
})

test('operators in an explanation are text, not tags', () => {
  expect(errorPage('InvalidFilter')?.body).toContain('&lt;Property&gt;=')
})

test('case does not count; the page has the code in its own spelling', () => {
  expect(errorPage('notfound')?.body).toBe(errorPage('NotFound')?.body as string)
})

test('an unknown code has none', () => {
  for (const code of ['', 'Nothing', 'constructor', '__proto__', 'NotFound ']) expect(errorPage(code)).toBeNull()
})
