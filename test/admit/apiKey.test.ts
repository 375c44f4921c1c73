import { describe, expect, test } from 'bun:test'
import { canonicalAuthorization, generateKey, hashKey, idOf } from '../../src/admit/apiKey.ts'

describe('D34: a new key', () => {
  const keys = Array.from({ length: 2_000 }, generateKey)

  test('has a prefix, an id of 10 letters or digits, and a secret of 43', () => {
    for (const key of keys) expect(key).toMatch(/^roster_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}$/)
    expect(canonicalAuthorization(`ApiKey ${keys[0]}`)).toBe(`ApiKey ${keys[0]}`)
  })

  test('has each of the 62 characters equally often, at every position', () => {
    const letters = keys.map((key) => key.slice(7, 17) + key.slice(18))
    const counts = new Map<string, number>()
    for (const letter of letters.join('')) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    const expected = (letters.length * 53) / 62
    expect(counts.size).toBe(62)
    // A fair draw exceeds this bound once in many billions of runs; bytes modulo 62 always exceed it.
    const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    expect(chiSquared).toBeLessThan(61 + 12 * Math.sqrt(2 * 61))
    for (let place = 0; place < 53; place++) expect(new Set(letters.map((text) => text[place])).size).toBe(62)
  })
})

describe('idOf', () => {
  const secret = 's'.repeat(43)
  test('returns the characters between prefix and secret', () => expect(idOf(`roster_0123456789_${secret}`)).toBe('0123456789'))

  for (const text of [
    '',
    `roster_012345678_${secret}`,
    `roster_0123456789_${secret}s`,
    `roster_0123456789-${secret}`,
    `Roster_0123456789_${secret}`,
    `xroster_123456789_${secret}`,
    `roster_dev_${'0'.repeat(48)}`,
  ])
    test(`finds no id in ${JSON.stringify(text.slice(0, 20))} of ${text.length} characters`, () => expect(idOf(text)).toBe(''))
})

test('hashKey returns the SHA-256 of a key, and writes it into a buffer if one is given', () => {
  const into = Buffer.alloc(32)
  expect(hashKey('abc', into)).toBe(into)
  for (const hash of [into, hashKey('abc')])
    expect(hash.toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})
