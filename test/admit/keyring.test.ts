import { describe, expect, test } from 'bun:test'
import { generateKey, hashKey, idOf } from '../../src/admit/apiKey.ts'
import { Keyring } from '../../src/admit/keyring.ts'
import type { KeyRecord } from '../../src/model/key.ts'
import { allows } from '../../src/model/rights.ts'

function recordOf(text: string, more: Partial<KeyRecord> = {}): KeyRecord {
  const hash = hashKey(text).toString('hex')
  return { id: idOf(text), name: 'ci', hash, rights: 'Companies:read', limits: null, ...more }
}

const [first, second] = [generateKey(), generateKey()]

describe('D34: the keys of the database', () => {
  test('each is found, with its name, rights and limits', () => {
    const keyring = new Keyring([recordOf(first, { limits: '100/1m' }), recordOf(second, { name: 'other' })], [])
    expect(keyring.find(first)).toMatchObject({ id: idOf(first), name: 'ci' })
    expect(keyring.find(first)?.limits).toEqual([{ limit: 100, periodMs: 60_000, period: '1m' }])
    expect(keyring.find(second)).toMatchObject({ id: idOf(second), name: 'other', limits: null })
    const { rights } = keyring.find(first) ?? { rights: { read: new Set<string>(), write: new Set<string>() } }
    expect([allows(rights, 'Companies', 'read'), allows(rights, 'Companies', 'write')]).toEqual([true, false])
  })

  test('nothing else is, near misses neither', () => {
    const keyring = new Keyring([recordOf(first)], [])
    const wrongSecret = first.slice(0, -1) + (first.endsWith('a') ? 'b' : 'a')
    const otherId = first.replace(idOf(first), idOf(second))
    const texts = [
      undefined,
      '',
      second,
      wrongSecret,
      otherId,
      first.slice(0, -1),
      `${first}x`,
      ` ${first}`,
      idOf(first),
    ]
    for (const text of [...texts, first.toLowerCase(), recordOf(first).hash]) expect(keyring.find(text)).toBeNull()
  })

  test('without any, nothing is found; not the text of the hash that stands in for an unknown id either', () => {
    const keyring = new Keyring([], [])
    for (const text of ['', 'x', first]) expect(keyring.find(text)).toBeNull()
  })

  test('rights and limits that this program does not know stop nothing', () => {
    const keyring = new Keyring([recordOf(first, { rights: 'Gone:read,Companies:fly,,x,*:write', limits: '5/1y' })], [])
    const key = keyring.find(first)
    expect(key?.limits).toBeNull()
    expect(key && allows(key.rights, 'Companies', 'read')).toBe(false)
    expect(key && allows(key.rights, 'Companies', 'write')).toBe(true)
  })

  test('hashes are held, not keys', () => {
    const keyring = new Keyring([recordOf(first)], ['a-bootstrap-key'])
    keyring.find(first)
    const held = Bun.inspect(keyring, { depth: 10 })
    expect(held).toContain(idOf(first))
    expect(held).not.toContain(first.slice(18))
    expect(held).not.toContain('a-bootstrap-key')
  })
})

describe('replace', () => {
  test('what is gone is not found any more, what is new is', () => {
    const keyring = new Keyring([recordOf(first)], [])
    keyring.replace([recordOf(second)])
    expect([keyring.find(first), keyring.find(second)?.id]).toEqual([null, idOf(second)])
  })

  test('a key that stays the same is the same object, though its record is a copy', () => {
    const keyring = new Keyring([recordOf(first), recordOf(second)], ['boot'])
    const before = [keyring.find(first), keyring.find('boot')]
    keyring.replace([structuredClone(recordOf(first))])
    expect(keyring.find(first)).toBe(before[0] as never)
    expect(keyring.find('boot')).toBe(before[1] as never)
  })

  for (const change of [{ rights: '*:read' }, { limits: '5/1s' }, { name: 'renamed' }])
    test(`a key with other ${Object.keys(change)} is another object`, () => {
      const keyring = new Keyring([recordOf(first)], [])
      const before = keyring.find(first)
      keyring.replace([recordOf(first, change)])
      expect(keyring.find(first)).not.toBe(before)
      expect(keyring.find(first)?.id).toBe(idOf(first))
    })
})

describe('bootstrap keys', () => {
  test('have all rights, of whatever form they are', () => {
    const keyring = new Keyring([recordOf(first)], ['k', 'second key?', second])
    for (const text of ['k', 'second key?', second]) {
      const key = keyring.find(text)
      expect(key?.name).toBe('bootstrap')
      for (const action of ['read', 'write'] as const) expect(key && allows(key.rights, 'Whatever', action)).toBe(true)
    }
    expect(new Set(['k', 'second key?', second].map((text) => keyring.find(text)?.id)).size).toBe(3)
  })

  test('one that looks like a key of ours is found beside a key of the database with the same id', () => {
    const twin = first.slice(0, 18) + second.slice(18)
    const keyring = new Keyring([recordOf(first)], [twin])
    expect([keyring.find(first)?.name, keyring.find(twin)?.name]).toEqual(['ci', 'bootstrap'])
  })

  test('one that is in the database too has all rights', () => {
    expect(new Keyring([recordOf(first)], [first]).find(first)?.name).toBe('bootstrap')
  })
})

describe('takeUsed', () => {
  test('has each key of the database that was found since the last call, once', () => {
    const keyring = new Keyring([recordOf(first), recordOf(second)], ['boot'])
    for (const text of [first, first, 'boot', 'unknown', first]) keyring.find(text)
    expect(keyring.takeUsed()).toEqual([idOf(first)])
    expect(keyring.takeUsed()).toEqual([])
    keyring.find(second)
    keyring.find(first)
    expect(keyring.takeUsed().sort()).toEqual([idOf(first), idOf(second)].sort())
  })

  test('has a key that was used and then replaced away', () => {
    const keyring = new Keyring([recordOf(first)], [])
    keyring.find(first)
    keyring.replace([])
    expect(keyring.takeUsed()).toEqual([idOf(first)])
  })
})

test('an unknown id takes about as long as a wrong secret', () => {
  const keyring = new Keyring([recordOf(first)], [])
  const wrongSecret = first.slice(0, 18) + second.slice(18)
  const timeMs = (text: string) => {
    const startMs = performance.now()
    for (let round = 0; round < 2_000; round++) keyring.find(text)
    return performance.now() - startMs
  }
  // In turns and the least of many: on a busy machine some round of each runs undisturbed.
  const least = { unknownId: Number.POSITIVE_INFINITY, wrongSecret: Number.POSITIVE_INFINITY }
  for (let turn = 0; turn < 200; turn++) {
    least.unknownId = Math.min(least.unknownId, timeMs(second))
    least.wrongSecret = Math.min(least.wrongSecret, timeMs(wrongSecret))
  }
  const ratio = least.unknownId / least.wrongSecret
  expect(ratio).toBeGreaterThan(0.4)
  expect(ratio).toBeLessThan(2.5)
})
