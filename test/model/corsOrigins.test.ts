import { describe, expect, test } from 'bun:test'
import { parseOrigins } from '../../src/model/corsOrigins.ts'
import { titled } from '../support/titles.ts'

test('CORS origins are read as a set without spaces around commas, or as every origin for *', () => {
  const label = 'a'.repeat(61)
  const long = `https://${[label, label, label, label].join('.')}.aaaa:65535`
  expect(parseOrigins(`https://app.example.com, http://localhost:5173,http://[::1]:8080,${long}`)).toEqual(
    new Set(['https://app.example.com', 'http://localhost:5173', 'http://[::1]:8080', long]),
  )
  expect(parseOrigins('*')).toBe('*')
})

describe('CORS origins: a text that is no origin of a browser is refused with a suggestion', () => {
  const written = [
    ['https://app.example.com/', 'https://app.example.com'],
    ['https://a.example/x', 'https://a.example'],
    ['https://a.example?x', 'https://a.example'],
    ['https://A.example', 'https://a.example'],
    ['HTTPS://a.example', 'https://a.example'],
    ['https://a.example:443', 'https://a.example'],
    ['https://u:p@a.example', 'https://a.example'],
    ['https://ä.example', 'https://xn--4ca.example'],
  ]
  const refused = titled([
    ...written.map(([text, sent]) => [text as string, `"${text}" is not as browsers send it: write ${sent}`] as const),
    ...['a.example', 'ftp://a.example', 'null'].map(
      (text) => [text, `"${text}" does not begin with http:// or https://`] as const,
    ),
    ['', '"" does not begin with http:// or https://'],
    ['https://', '"https://" is not an address'],
    ['https://a b', '"https://a b" is not an address'],
    ['https://*.example', '"https://*.example" is a pattern: write each origin out, or * alone'],
    [`https://${'a'.repeat(300)}`, `"https://${'a'.repeat(52)}..." is too long for a name`],
  ])
  test.each(refused)('%s', (_, text, fault) => {
    expect(() => parseOrigins(text)).toThrow(new RangeError(fault))
  })

  test('the error about CORS origins names each faulty one', () => {
    expect(() => parseOrigins('*,https://a.example,b.example,https://c.example/')).toThrow(
      '"*" stands alone, without other origins; "b.example" does not begin with http:// or https://; "https://c.example/" is not as browsers send it: write https://c.example',
    )
    expect(() => parseOrigins('https://a.example,')).toThrow('"" does not begin with')
  })
})
