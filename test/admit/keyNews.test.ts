import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { KeyNews } from '../../src/admit/keyNews.ts'
import { Keyring } from '../../src/admit/keyring.ts'
import { Database } from '../../src/execute/database.ts'
import { keySource } from '../../src/keys/source.ts'
import { KeyStore } from '../../src/keys/store.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { makeKey, type TestKey } from '../support/server.ts'

let sql: postgres.Sql
let store: KeyStore
let database: Database
beforeAll(async () => {
  const url = await createDatabase()
  sql = connect(url)
  store = new KeyStore(url)
  database = new Database({ url, poolSize: 2, prepare: true })
})
afterAll(() => Promise.all([sql.end(), store.end(), database.end(0)]))

let key: TestKey
let keyring: Keyring
beforeEach(async () => {
  await sql`delete from api_key`
  key = makeKey()
  keyring = new Keyring([key.record], [])
})

/** What a process knows whose supervisor was heard of so long ago. */
function newsOf(ageMs: number, of = database): KeyNews {
  const newsMs = (monotonicMs() - ageMs) | 0
  return new KeyNews(keyring, keySource(of), () => newsMs)
}

const isKnown = () => keyring.find(key.text) !== null

describe('D34: a key that the database has no more', () => {
  test('counts where the supervisor was heard of a moment ago, or where there is none', async () => {
    for (const news of [newsOf(0), newsOf(1_000), new KeyNews(keyring, keySource(database), () => 0)])
      expect([news.confirm(), isKnown()]).toEqual([true, true])
    await database.read({ text: 'select 1', values: [] }) // what had been asked for would be known by now
    expect(isKnown()).toBe(true)
  })

  test('counts after two seconds for as long as a question takes', async () => {
    const news = newsOf(2_100)
    expect([news.confirm(), isKnown()]).toEqual([true, true])
    await until(() => !isKnown())
  })

  test.each([5_000, 3_600_000, 2 ** 31 + 5_000, 2 ** 32 - 1_000])(
    'counts no more after %d ms: a request waits for the answer, the next one does not',
    async (ageMs) => {
      const news = newsOf(ageMs)
      expect([await news.confirm(), isKnown()]).toEqual([true, false])
      expect(news.confirm()).toBe(true)
    },
  )

  test('counts no more where only this question is not answered, and does again', async () => {
    const news = newsOf(6_000)
    await store.create(key.record)
    await sql`alter table api_key rename to gone`
    expect(await news.confirm()).toBe(false)
    expect(await news.confirm()).toBe(false)
    await sql`alter table gone rename to api_key`
    await until(async () => await news.confirm())
    expect(isKnown()).toBe(true)
  })

  test('counts while the database is away as a whole', async () => {
    const away = new Database({ url: 'postgres://nobody@127.0.0.1:1/nowhere', poolSize: 1, prepare: true })
    const news = newsOf(6_000, away)
    expect(news.confirm()).toBeInstanceOf(Promise)
    await until(async () => (await news.confirm()) === true)
    expect([news.confirm(), isKnown()]).toEqual([true, true])
    await away.end(0)
  })

  test('is not brought back by an answer that was on its way when the supervisor sent its end', async () => {
    await store.create(key.record)
    const news = newsOf(6_000)
    const confirmed = news.confirm()
    keyring.replace([])
    await confirmed
    expect(isKnown()).toBe(false)
  })
})

test('D34: a key that was found by a question, and has ended, is not asked for again once the keys were read', async () => {
  keyring.replace([])
  await store.create(key.record)
  const news = newsOf(6_000)
  expect((await news.find(key.text))?.id).toBe(key.record.id)
  await store.revoke(key.record.name)
  expect(await news.confirm()).toBe(true)
  expect([isKnown(), keyring.has(key.record.id)]).toEqual([false, true])
})

describe('D34: a key that is not known here', () => {
  beforeEach(() => keyring.replace([]))

  test('is found where the database has it, and known from then on', async () => {
    await store.create(key.record)
    expect((await newsOf(0).find(key.text))?.id).toBe(key.record.id)
    expect(isKnown()).toBe(true)
  })

  test('is none with another secret, or where it has ended, or never was', async () => {
    const news = newsOf(0)
    expect(await news.find(key.text)).toBeNull()
    await store.create(key.record)
    expect(await news.find(key.text.slice(0, -1) + (key.text.endsWith('a') ? 'b' : 'a'))).toBeNull()
    await sql`update api_key set expires = now()`
    expect(await news.find(key.text)).toBeNull()
    await sql`update api_key set expires = null, revoked = now()`
    expect(await news.find(key.text)).toBeNull()
    expect(isKnown()).toBe(false)
  })

  test('is found by every request that comes at the same time', async () => {
    await store.create(key.record)
    const news = newsOf(0)
    const found = await Promise.all(Array.from({ length: 64 }, () => news.find(key.text)))
    expect(new Set(found.map((one) => one?.id))).toEqual(new Set([key.record.id]))
  })

  test('is asked for again where the keys were replaced meanwhile', async () => {
    await store.create(key.record)
    const news = newsOf(0)
    const found = news.find(key.text)
    keyring.replace([])
    expect((await found)?.id).toBe(key.record.id)
  })

  test('is not charged by the limits of others: it waits until the supervisor sends its own', async () => {
    const record = { ...key.record, limits: '5/1m' }
    await store.create(record)
    const news = newsOf(0)
    let isFound = false
    const found = news.find(key.text).then(() => (isFound = true))
    await store.list() // over another connection; the answer to the question is there by then, or soon after
    expect([isFound, isKnown()]).toEqual([false, false])
    keyring.replace([record])
    news.noteReplaced()
    expect(await found).toBe(true)
    expect(keyring.find(key.text)?.limits?.[0]?.limit).toBe(5)
  })

  test('is not known while the database is away', async () => {
    const away = new Database({ url: 'postgres://nobody@127.0.0.1:1/nowhere', poolSize: 1, prepare: true })
    await expect(newsOf(0, away).find(key.text)).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    await away.end(0)
  })
})
