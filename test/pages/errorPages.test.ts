import { describe, expect, test } from 'bun:test'
import { errorTable } from '../../src/errors.ts'
import { errorCodes, errorJson, errorPage, errorsJson, errorsPage, findError } from '../../src/pages/errorPages.ts'
import type { StoredBody } from '../../src/respond/storedBody.ts'

const BASE = 'http://127.0.0.1:3000'
const textOf = (stored: StoredBody) => new TextDecoder().decode(stored.reply(new Headers()).body as Uint8Array)
const kindOf = (code: string) => findError(code) as NonNullable<ReturnType<typeof findError>>

describe('pages of error codes. D38', () => {
  test.each(Object.entries(errorTable))('the error code %s has a page', (code, texts) => {
    const { status, title, explanation, remedy, request } = texts
    const page = textOf(errorPage(kindOf(code), BASE, '../'))
    const parts = [`${title}.`, `HTTP status ${status} `, explanation, remedy, `HTTP/1.1 ${status} `, `"Code": "${code}"`]
    for (const text of [`<h1>${code}</h1>`, ...parts.map(Bun.escapeHTML)]) expect(page).toContain(text)
    expect(page).toContain(Bun.escapeHTML(`${request} HTTP/1.1`))
    // The JSON for programs:
    expect(JSON.parse(textOf(errorJson(kindOf(code), BASE)))).toMatchObject({
      ...{ code, status, title, explanation, remedy, reference: `${BASE}/errors/${code}` },
      example: { request: { method: expect.any(String) }, answer: { Error: { Code: code } } },
    })
  })
})

test('the page of all error codes links to each code, ordered by status, and its JSON has all codes', () => {
  const page = textOf(errorsPage('./'))
  const links = [...page.matchAll(/href="\.\/errors\/(\w+)"/g)].map(([, code]) => code)
  expect(links.toSorted()).toEqual(Object.keys(errorTable).sort())
  const statuses = [...page.matchAll(/<h2>(\d+) /g)].map(([, status]) => Number(status))
  expect(statuses).toEqual([...new Set(Object.values(errorTable).map(({ status }) => status))].sort())
  const { errors } = JSON.parse(textOf(errorsJson(BASE)))
  expect(errors.map(({ code }: { code: string }) => code)).toEqual(errorCodes)
})
