import { describe, expect, test } from 'bun:test'
import { exchangesOf, readPage } from '../support/documents.ts'
import { curlOf, readRequests } from './httpFile.ts'

const FILE = `@address = http://127.0.0.1:3000
@key = secret

### Two filters
# a comment
GET {{address}}/Absences
  ?Status=Approved
  &Start=%3E2026-01-01T00:00:00Z
Authorization: ApiKey {{key}}

### Write
PATCH {{address}}/Companies/1
Content-Type: application/json

{ "Name": "it's" }
`

describe('a reader of .http files', () => {
  test('finds names, methods, addresses, headers and bodies', () => {
    expect(readRequests(FILE)).toEqual([
      {
        name: 'Two filters',
        method: 'GET',
        url: 'http://127.0.0.1:3000/Absences?Status=Approved&Start=%3E2026-01-01T00:00:00Z',
        headers: ['Authorization: ApiKey secret'],
        body: '',
      },
      {
        name: 'Write',
        method: 'PATCH',
        url: 'http://127.0.0.1:3000/Companies/1',
        headers: ['Content-Type: application/json'],
        body: '{ "Name": "it\'s" }',
      },
    ])
  })

  test('takes a given value instead of the own one', () => {
    expect(readRequests(FILE, { key: 'other' })[0]?.headers).toEqual(['Authorization: ApiKey other'])
  })

  test.each([
    ['### a\nGET {{host}}/', '{{host}} has no value'],
    ['GET http://127.0.0.1/', 'a request begins with ### and its name, not with "GET http://127.0.0.1/"'],
    ['### a\nhttp://127.0.0.1/', '"http://127.0.0.1/" is not a method and an address'],
    ['### a\nGET http://127.0.0.1/\n&page=2', '"&page=2" is not a header'],
  ])('refuses %j', (text, message) => {
    expect(() => readRequests(text)).toThrow(message)
  })

  test('writes the same request as a command, with quotes kept', () => {
    const [, write] = readRequests(FILE)
    expect(write && curlOf(write)).toBe(
      `curl '-i' '-X' 'PATCH' '-H' 'Content-Type: application/json' '--data-binary' '{ "Name": "it'\\''s" }' 'http://127.0.0.1:3000/Companies/1'`,
    )
  })
})

test('roster.http has the requests that its page shows, in their order, and no other', () => {
  const shown = exchangesOf(readPage('docs/recipes/http-file.md')).filter(({ program }) => program === 'http')
  expect(readPage('docs/recipes/roster.http')).toBe(`${shown.map(({ command }) => command).join('\n\n')}\n`)
  expect(shown.length).toBeGreaterThan(5)
})
