import { describe, expect, test } from 'bun:test'
import { parseOrigins } from '../../src/model/origins.ts'

test('origins are a set; spaces around commas do not count', () => {
  const origins = parseOrigins('https://app.example.com, http://localhost:5173,http://[::1]:8080')
  expect(origins).toEqual(new Set(['https://app.example.com', 'http://localhost:5173', 'http://[::1]:8080']))
})

test('* is every origin', () => {
  expect(parseOrigins('*')).toBe('*')
})

test('the longest name of DNS is taken', () => {
  const label = 'a'.repeat(61)
  const origin = `https://${[label, label, label, label].join('.')}.aaaa:65535`
  expect(parseOrigins(origin)).toEqual(new Set([origin]))
})

describe('what no browser sends is refused, with what it sends', () => {
  test.each([
    ['https://app.example.com/', '"https://app.example.com/" is not as browsers send it: write https://app.example.com'],
    ['https://a.example/x', '"https://a.example/x" is not as browsers send it: write https://a.example'],
    ['https://a.example?x', '"https://a.example?x" is not as browsers send it: write https://a.example'],
    ['https://A.example', '"https://A.example" is not as browsers send it: write https://a.example'],
    ['HTTPS://a.example', '"HTTPS://a.example" is not as browsers send it: write https://a.example'],
    ['https://a.example:443', '"https://a.example:443" is not as browsers send it: write https://a.example'],
    ['https://u:p@a.example', '"https://u:p@a.example" is not as browsers send it: write https://a.example'],
    ['https://ä.example', '"https://ä.example" is not as browsers send it: write https://xn--4ca.example'],
    ['a.example', '"a.example" does not begin with http:// or https://'],
    ['ftp://a.example', '"ftp://a.example" does not begin with http:// or https://'],
    ['null', '"null" does not begin with http:// or https://'],
    ['', '"" does not begin with http:// or https://'],
    ['https://', '"https://" is not an address'],
    ['https://a b', '"https://a b" is not an address'],
    ['https://*.example', '"https://*.example" is a pattern: write each origin out, or * alone'],
    [`https://${'a'.repeat(300)}`, `"https://${'a'.repeat(52)}..." is too long for a name`],
  ])('%s', (text, fault) => {
    expect(() => parseOrigins(text)).toThrow(new RangeError(fault))
  })

  test('each of them is named', () => {
    expect(() => parseOrigins('*,https://a.example,b.example,https://c.example/')).toThrow(
      '"*" stands alone, without other origins; "b.example" does not begin with http:// or https://; "https://c.example/" is not as browsers send it: write https://c.example',
    )
    expect(() => parseOrigins('https://a.example,')).toThrow('"" does not begin with')
  })
})
