import { describe, expect, test } from 'bun:test'
import { pathOf, readTarget } from '../../src/http/target.ts'
import { titled } from '../support/titles.ts'

const HOST = { host: 'api.example' }
/** A request as Bun gives it: `Request` itself would not take a relative URL. */
const requestOf = (url: string, headers: Record<string, string> = HOST) => ({ url, headers: new Headers(headers) }) as Request

describe('readTarget', () => {
  test.each([
    ['https://[::1]:3000/Companies', '/Companies', ''],
    ['http://api.example/Companies?', '/Companies', ''],
    ['http://api.example/Companies?Name=a?b/c', '/Companies', 'Name=a?b/c'],
    ['http://api.example/?x=http://y/z', '/', 'x=http://y/z'],
    ['http://api.example/Com%70anies?a=%20+', '/Com%70anies', 'a=%20+'],
  ])('reads %s as the path %s and the query "%s"', (url, path, query) =>
    expect(readTarget(requestOf(url))).toEqual({ path, query, fault: null }),
  )

  test.each(['a:80', 'api.example', 'http://api.example'])('reads %s, which has no path, as the path /', (url) => {
    expect(readTarget(requestOf(url))).toEqual({ path: '/', query: '', fault: null })
    expect(pathOf(url)).toBe('/')
  })

  const codeOf = (target: string) => readTarget(requestOf(`http://api.example${target}`)).fault?.code

  test.each(Array.from('#|\\^`{}'))('D19: counts a raw %s as the three characters of its percent escape', (raw) => {
    expect(codeOf(`/x?${raw.repeat(1_023)}`)).toBeUndefined()
    expect(codeOf(`/x?${raw.repeat(1_024)}`)).toBe('UriTooLong')
  })

  test('D19: counts every character except the page number that links add at the end of the query', () => {
    const longest = `/x?${'y'.repeat(3 * 1024 - 3)}`
    for (const end of ['&page=2', '&page=1234567890123456']) expect(codeOf(longest + end)).toBeUndefined()
    for (const end of ['&page=', '&page=x', '&page=12345678901234567', '&page=2&', '&age=2', '&Page=2', '&page=2&page=2'])
      expect({ end, code: codeOf(longest + end) }).toEqual({ end, code: 'UriTooLong' })
    expect(codeOf(`${longest}y&page=2`)).toBe('UriTooLong')
  })
})

describe('pathOf', () => {
  const logged = titled([
    ['http://api.example/Companies?Name=somebody', '/Companies'],
    ['http://api.example/Companies/1', '/Companies/1'],
    ['/Companies?Name=somebody', '/Companies'],
    ['http://api.example/?x=/y', '/'],
    ['/Companies/roster_0123456789_abcdefghijklmnopqrstuvwxyz0123456789abcdefg/x', '/Companies/roster_.../x'],
    [`http://api.example/${'x'.repeat(500)}?y`, `/${'x'.repeat(199)}`],
    [`/${'x'.repeat(500)}`, `/${'x'.repeat(199)}`],
  ])
  test.each(logged)('returns %s without its query and secrets, and at most 200 characters', (_, url, path) => {
    expect(pathOf(url)).toBe(path)
  })
})
