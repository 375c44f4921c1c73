import { describe, expect, test } from 'bun:test'
import { canonicalAuthorization, Keyring } from '../../src/admit/apiKey.ts'

describe('D33: the Authorization header', () => {
  for (const [header, canonical] of [
    ['ApiKey abc', 'ApiKey abc'],
    ['apikey abc', 'ApiKey abc'],
    ['APIKEY    abc', 'ApiKey abc'],
    ['ApiKey ~!"#$%&=,;', 'ApiKey ~!"#$%&=,;'],
    [`ApiKey ${'k'.repeat(256)}`, `ApiKey ${'k'.repeat(256)}`],
  ] as const)
    test(`${header.slice(0, 24)} holds a key`, () => expect(canonicalAuthorization(header)).toBe(canonical))

  for (const header of [
    '',
    'ApiKey',
    'ApiKey ',
    'ApiKeyabc',
    'ApiKeyZ abc',
    'ApiKey\tabc',
    'ApiKey a b',
    'ApiKey abc ',
    ' ApiKey abc',
    'ApiKey abc, ApiKey def',
    'Bearer abc',
    'Basic ApiKey abc',
    'abc',
    'ApiKey ä',
    'ApiKey a\x7f',
    'ApiKey a\nb',
    'ApiKey abc\n',
    `ApiKey ${'k'.repeat(257)}`,
  ])
    test(`${JSON.stringify(header.slice(0, 24))} holds none`, () => expect(canonicalAuthorization(header)).toBeNull())
})

describe('Keyring', () => {
  const keyring = new Keyring(['first-key', 'second-key'])

  test('accepts each of its keys', () => {
    expect([keyring.accepts('first-key'), keyring.accepts('second-key')]).toEqual([true, true])
  })

  test('accepts nothing else, near misses neither', () => {
    for (const key of [undefined, '', 'first-ke', 'first-key2', 'First-Key', 'first-key ', 'first-keysecond-key'])
      expect(keyring.accepts(key)).toBe(false)
  })

  test('of no key at all accepts none', () => {
    expect([new Keyring([]).accepts(''), new Keyring([]).accepts('x')]).toEqual([false, false])
  })

  test('D34: holds hashes, not keys', () => {
    const held = Object.values(keyring).flat().map(String).join()
    expect(held.length).toBeGreaterThan(0)
    expect(held).not.toContain('first-key')
  })
})
