import { describe, expect, test } from 'bun:test'
import { STATUS_CODES } from 'node:http'
import { errorTable } from '../src/errors.ts'

describe('the table', () => {
  for (const [code, { status, title, explanation, remedy }] of Object.entries(errorTable))
    test(`${code} has a status that exists, a title, an explanation and a remedy`, () => {
      expect(code).toMatch(/^[A-Z][A-Za-z]+$/)
      expect([status >= 400, STATUS_CODES[status] !== undefined]).toEqual([true, true])
      expect(title).toMatch(/^\p{L}.*[^.]$/u)
      expect(explanation).toMatch(/^\p{L}.*\.$/u)
      expect(remedy).toMatch(/^\p{L}.*\.$/u)
    })

  test('the statuses that the decisions name', () => {
    const statuses = Object.entries(errorTable).map(([code, { status }]) => [code, status])
    expect(Object.fromEntries(statuses)).toMatchObject({
      InvalidQueryString: 400, // D4
      DuplicateProperty: 400, // D2
      UnknownProperty: 400, // D9
      ValidationFailed: 400, // D9
      InvalidValue: 400, // D10
      ReferenceNotFound: 409, // D16
      StillReferenced: 409, // D16
      UnsupportedMediaType: 415, // D18
      InvalidJson: 400, // D18
      PayloadTooLarge: 413, // D18
      MethodNotAllowed: 405, // D19
      NotFound: 404, // D19
      UriTooLong: 414, // D19
      UnknownParameter: 400, // D21
      InvalidFilter: 400, // D25
      TooManyFilters: 400, // D25
      InvalidSort: 400, // D27
      InvalidPageSize: 400, // D28
      InvalidPage: 400, // D28
      InvalidCursor: 400, // D32
      InvalidFields: 400, // D56
      InvalidForm: 400, // D55
      InvalidRows: 400, // D59
      InvalidDryRun: 400, // D59
      Unauthorized: 401, // D33
      ServiceUnavailable: 503, // D39
      ReadOnly: 405, // D51
      InternalError: 500, // D39
    })
  })
})
