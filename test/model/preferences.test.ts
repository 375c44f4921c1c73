import { describe, expect, test } from 'bun:test'
import { prefersHtml, takesGzip } from '../../src/model/preferences.ts'

describe('only clients that prefer HTML to JSON get HTML:', () => {
  test.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', 'browsers'],
    ['text/html', 'no other'],
    ['TEXT/HTML;level=1', 'case and parameters do not count'],
    ['application/json;q=0.5, text/*', 'a range'],
    ['*/*;q=0.1, text/html ; Q=0.2', 'spaces'],
    ['text/html;q=0.1, text/html', 'the greater of two weights'],
    ['text/html, application/json;q=0', 'JSON not at all'],
  ])('HTML for Accept: %s (%s)', (accept) => {
    expect(prefersHtml(accept)).toBe(true)
  })

  test.each([
    [null, 'no header'],
    ['', 'an empty one'],
    ['*/*', 'curl, fetch, Requests'],
    ['application/json, text/plain, */*', 'axios'],
    ['application/json, text/html', 'both alike'],
    ['text/html;q=0', 'not at all'],
    ['text/html;q=0.0, */*', 'the specific entry counts, not the range'],
    ['text/html;q=0.9, application/*', 'JSON more'],
    ['text/htmlx', 'another type'],
    [',;q=1,,/;;;q', 'nothing that can be read'],
  ])('no HTML for Accept: %p (%s)', (accept) => {
    expect(prefersHtml(accept)).toBe(false)
  })

  test('no HTML for an Accept of the maximum length that does not name it', () => {
    expect(prefersHtml('a/b;q=0.1,'.repeat(1_500))).toBe(false)
  })

  test('an invalid weight is ignored, as if it were missing', () => {
    expect(prefersHtml('text/html;q=high, application/json;q=0.9')).toBe(true)
    expect(prefersHtml('text/html;q=0.5, application/json;q=-1')).toBe(false)
  })
})

test.each([
  ['gzip', true],
  ['br, GZIP;q=0.1', true],
  ['x-gzip', true],
  ['*', true],
  ['gzip;q=0, *', false],
  ['*;q=0', false],
  ['br, deflate', false],
  ['', false],
  [null, false],
] as const)('Accept-Encoding %p accepts gzip: %p', (header, isTaken) => {
  expect(takesGzip(header)).toBe(isTaken)
})
