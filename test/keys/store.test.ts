import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { generateKey, hashKey, idOf } from '../../src/admit/apiKey.ts'
import { Refused } from '../../src/errors.ts'
import { Database } from '../../src/execute/database.ts'
import { KeyStore, keySource, touchKeys } from '../../src/keys/store.ts'
import type { KeyRecord, KeySource } from '../../src/model/key.ts'
import { connect, createDatabase } from '../support/postgres.ts'

let url: string
let sql: postgres.Sql
let store: KeyStore
let database: Database
let source: KeySource
beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  store = new KeyStore(sql)
  database = new Database({ url, poolSize: 1, prepare: true })
  source = keySource(database)
})
afterEach(() => database.end())

const HOUR_MS = 3_600_000

function recordOf(name: string, text = generateKey()): KeyRecord {
  return {
    id: idOf(text),
    name,
    hash: hashKey(text).toString('hex'),
    rights: 'Companies:read',
    addresses: null,
    role: null,
    limits: '10/1m',
  }
}

const statesOf = async () => (await store.list()).map(({ id, name, state }) => ({ id, name, state }))
const idsOf = (keys: readonly { id: string }[]) => keys.map(({ id }) => id).sort()

describe('create', () => {
  test('is refused without effect for a name that has a current key; the name of a revoked key can be used again', async () => {
    const [key, next] = [recordOf('ci'), recordOf('ci')]
    await store.create(key)
    const version = await source.version()
    await expect(store.create(next)).rejects.toThrow(
      new Refused('a key named "ci" exists already: rotate it, or revoke it first'),
    )
    expect([await source.current(), await source.version()]).toEqual([[key], version])
    await store.revoke('ci')
    await store.create(next)
    expect(await source.current()).toEqual([next])
  })

  test('creates only one key if several keys with the same name are requested at the same time', async () => {
    const stores = Array.from({ length: 6 }, () => new KeyStore(connect(url)))
    const results = await Promise.allSettled(stores.map((one) => one.create(recordOf('ci'))))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(Refused)
    expect(await source.current()).toHaveLength(1)
  })
})

describe('revoke', () => {
  test('ends the key and the keys that it has replaced, and no other key', async () => {
    const [old, fresh, other] = [recordOf('ci'), recordOf('ci'), recordOf('other')]
    await store.create(old)
    await store.create(other)
    await store.rotate('ci', fresh, HOUR_MS)
    expect((await store.revoke('ci')).sort()).toEqual(idsOf([old, fresh]))
    expect(await source.current()).toEqual([other])
    expect((await statesOf()).map(({ state }) => state)).toEqual(['revoked', 'revoked', 'active'])
  })

  test.each([
    ['an unknown name', 'deploy', 'there is no valid key named "deploy".'],
    ['a misspelt name', 'Cii', 'there is no valid key named "Cii". Did you mean ci?'],
    ['a name revoked before', 'gone', 'there is no valid key named "gone".'],
  ])('is refused for %s, and the version of the keys does not change', async (_, name, message) => {
    for (const made of ['ci', 'gone']) await store.create(recordOf(made))
    await store.revoke('gone')
    const version = await source.version()
    await expect(store.revoke(name)).rejects.toThrow(new Refused(message))
    expect(await source.version()).toBe(version)
  })
})

describe('rotate', () => {
  test('ends the old key immediately if the overlap is 0; the new key takes over rights and limits', async () => {
    const [old, fresh] = [{ ...recordOf('ci'), rights: '*:write', limits: null }, recordOf('ci')]
    await store.create(old)
    expect(await store.rotate('ci', fresh, 0)).toMatchObject({ id: old.id, expires: null })
    expect(await source.current()).toEqual([{ ...fresh, rights: '*:write', limits: null }])
    expect(await statesOf()).toContainEqual({ id: old.id, name: 'ci', state: 'revoked' })
  })

  test('runs concurrent rotations one after the other, and in the end one key is active', async () => {
    await store.create(recordOf('ci'))
    const stores = Array.from({ length: 5 }, () => new KeyStore(connect(url)))
    await Promise.all(stores.map((one) => one.rotate('ci', recordOf('ci'), HOUR_MS)))
    const states = (await statesOf()).map(({ state }) => state)
    // Each replaced one has its own end.
    expect(states.toSorted()).toEqual(['active', ...Array<string>(5).fill('expiring')] as never)
  })

  test('leaves no valid key if a revocation runs at the same time, whether the rotation succeeds or is refused', async () => {
    for (let round = 0; round < 10; round++) {
      const other = new KeyStore(connect(url))
      await store.create(recordOf(`ci${round}`))
      const [revoked, rotated] = await Promise.allSettled([
        store.revoke(`ci${round}`),
        other.rotate(`ci${round}`, recordOf(`ci${round}`), HOUR_MS),
      ])
      expect(revoked.status).toBe('fulfilled')
      if (rotated.status === 'rejected') expect(rotated.reason).toBeInstanceOf(Refused)
      expect(await source.current()).toEqual([])
    }
  })
})

const addressesOf = (addresses: string) => ({ rights: '', addresses, role: null })
const lineOf = async (name: string) => (await store.list()).find((key) => key.name === name)
/** Moves the end of all keys of this name into the past, as time does. */
const endNow = (name: string) => sql`update api_key set ends = now() - interval '1 second' where name = ${name}`

describe('rights as addresses', () => {
  test('are stored with an empty list of rights, which servers of earlier versions read', async () => {
    const key = { ...recordOf('payroll'), ...addressesOf('read Absences?Status=x,*:read') }
    await store.create(key)
    expect(await source.current()).toEqual([key])
    const [row] = await sql`select rights, addresses from api_key`
    expect(row).toEqual({ rights: '', addresses: 'read Absences?Status=x,*:read' })
  })

  test('are refused by the table if the key also has a list of rights', async () => {
    const key = { ...recordOf('payroll'), rights: '*:read', addresses: 'read Absences' }
    await expect(store.create(key)).rejects.toThrow('api_key_one_form')
  })

  test('stay the same in a rotation', async () => {
    await store.create({ ...recordOf('payroll'), ...addressesOf('read Absences') })
    const fresh = recordOf('payroll')
    expect(await store.rotate('payroll', fresh, 0)).toMatchObject(addressesOf('read Absences'))
    expect(await source.current()).toEqual([{ ...fresh, ...addressesOf('read Absences') }])
  })
})

describe('a key with an end time', () => {
  test('is valid until its end time', async () => {
    const key = recordOf('ci')
    const ends = await store.create(key, HOUR_MS)
    expect(Math.abs(Date.parse(ends ?? '') - Date.now() - HOUR_MS)).toBeLessThan(60_000)
    expect(await lineOf('ci')).toMatchObject({ ends, expires: null, state: 'expiring' })
    expect(await source.current()).toEqual([key])
    const version = await source.version()
    await endNow('ci')
    expect(await source.current()).toEqual([])
    expect(await lineOf('ci')).toMatchObject({ state: 'expired' })
    expect(await source.version()).not.toBe(version)
  })

  test('reserves its name until it ends; then a new key can have the name', async () => {
    await store.create(recordOf('ci'), HOUR_MS)
    await expect(store.create(recordOf('ci'), HOUR_MS)).rejects.toThrow('a key named "ci" exists already')
    await endNow('ci')
    const next = recordOf('ci')
    expect(await store.create(next)).toBeNull()
    expect(await source.current()).toEqual([next])
    expect((await statesOf()).map(({ state }) => state)).toEqual(['active', 'expired'])
  })

  test('can be rotated, and the new key has the same end time', async () => {
    await store.create(recordOf('ci'), HOUR_MS)
    const [old] = await sql`select ends from api_key`
    const fresh = recordOf('ci')
    const { ends, expires } = await store.rotate('ci', fresh, 60_000)
    expect([ends, expires]).toEqual([expect.any(String), expect.any(String)])
    const [row] = await sql`select ends from api_key where id = ${fresh.id}`
    expect(row).toEqual(old as never)
    expect((await statesOf()).map(({ state }) => state)).toEqual(['expiring', 'expiring'])
    await endNow('ci')
    expect(await source.current()).toEqual([])
  })

  test('cannot be rotated, changed or revoked after it has ended', async () => {
    await store.create(recordOf('ci'), HOUR_MS)
    await endNow('ci')
    const refusal = new Refused('there is no valid key named "ci".')
    await expect(store.rotate('ci', recordOf('ci'), HOUR_MS)).rejects.toThrow(refusal)
    await expect(store.changeTerms('ci', { lifetimeMs: null })).rejects.toThrow(refusal)
    await expect(store.revoke('ci')).rejects.toThrow(refusal)
  })
})

describe('changeTerms', () => {
  test('changes all valid keys of the name, and no other key', async () => {
    const [gone, old, fresh, other] = [recordOf('gone'), recordOf('ci'), recordOf('ci'), recordOf('other')]
    await store.create(gone)
    await store.revoke('gone')
    await store.create(old)
    await store.create(other)
    await store.rotate('ci', fresh, HOUR_MS)
    const changed = await store.changeTerms('ci', { rights: addressesOf('read Absences') })
    expect(changed.map(({ id }) => id)).toEqual([fresh.id, old.id])
    expect(changed[0]).toMatchObject({ ...addressesOf('read Absences'), limits: '10/1m', ends: null })
    const rights = new Map((await source.current()).map(({ id, addresses }) => [id, addresses]))
    expect(rights).toEqual(
      new Map([old.id, fresh.id, other.id].sort().map((id) => [id, id === other.id ? null : 'read Absences'])),
    )
  })

  test('keeps the terms that the call does not name', async () => {
    await store.create({ ...recordOf('ci'), ...addressesOf('read Absences') }, HOUR_MS)
    await store.changeTerms('ci', { limits: null })
    expect(await lineOf('ci')).toMatchObject({ ...addressesOf('read Absences'), limits: null, ends: expect.any(String) })
    await store.changeTerms('ci', { lifetimeMs: null, rights: { rights: '*:read', addresses: null, role: null } })
    expect(await lineOf('ci')).toMatchObject({ rights: '*:read', addresses: null, limits: null, ends: null, state: 'active' })
  })

  test('is refused for an unknown name, with the nearest name as a hint', async () => {
    await store.create(recordOf('payroll'))
    await expect(store.changeTerms('payrol', { limits: null })).rejects.toThrow('Did you mean payroll?')
  })
})

test('the version of the keys differs after each change of a key, and stays the same while keys are only used', async () => {
  const key = recordOf('ci')
  const changes = [
    () => store.create(key),
    () => store.changeTerms('ci', { limits: null }),
    () => store.rotate('ci', recordOf('ci'), HOUR_MS),
    () => store.revoke('ci'),
  ]
  const seen = [await source.version()]
  for (const change of changes) {
    await change()
    seen.push(await source.version())
    await database.read(touchKeys([key.id]))
    expect(await source.version()).toBe(seen.at(-1) as string)
  }
  expect(new Set(seen).size).toBe(5)
})

describe('touch', () => {
  test('records the use of the given keys only, and ignores unknown ids', async () => {
    const [used, unused] = [recordOf('a'), recordOf('b')]
    await store.create(used)
    await store.create(unused)
    await database.read(touchKeys([used.id, 'unknown000']))
    const [first, second] = await store.list()
    expect(Math.abs(Date.parse(first?.lastUsed ?? '') - Date.now())).toBeLessThan(60_000)
    expect(second?.lastUsed).toBeNull()
  })

  test('does not wait for a row that another transaction has locked', async () => {
    const [busy, free] = [recordOf('a'), recordOf('b')]
    await store.create(busy)
    await store.create(free)
    await sql.begin(async (transaction) => {
      await transaction`select from api_key where id = ${busy.id} for update`
      await database.read(touchKeys([busy.id, free.id]))
    })
    expect((await store.list()).map(({ lastUsed }) => lastUsed !== null)).toEqual([false, true])
  })
})
