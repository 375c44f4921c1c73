import { beforeEach, describe, expect, test } from 'bun:test'
import { Admission } from '../../src/admit/admission.ts'
import { KeyRefresh } from '../../src/admit/keyRefresh.ts'
import { Keyring } from '../../src/admit/keyring.ts'
import { Limiters, type SharedStore } from '../../src/admit/limiter.ts'
import { LimiterFiles } from '../../src/admit/limiterFiles.ts'
import { RedisWindows } from '../../src/admit/redis.ts'
import { Database } from '../../src/execute/database.ts'
import { KeyStore, keySource } from '../../src/keys/store.ts'
import type { KeySource } from '../../src/model/key.ts'
import { parseRules } from '../../src/model/limits.ts'
import { useDatabase } from '../support/database.ts'
import { leaveOut, temporaryFolder, until } from '../support/process.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { wholeRights } from '../support/rights.ts'
import { makeKey, type TestKey } from '../support/server.ts'

const LIMIT = 10

const { sql, poolOf } = useDatabase()
const database = poolOf({ poolSize: 4 })

let files: LimiterFiles
beforeEach(() => (files = filesOf(`${LIMIT}/1h`)))

function settingsOf(anonymous: string) {
  return {
    rateLimits: parseRules('100000/1h'),
    rateLimitsAnonymous: parseRules(anonymous),
    rateLimitClients: 300,
    rateLimitsPersons: parseRules('100/1h'),
    oidcIssuer: null,
  }
}

function filesOf(anonymous: string): LimiterFiles {
  return new LimiterFiles(temporaryFolder().path, settingsOf(anonymous))
}

/** The admission of one worker; `looks`: how often it has asked the database for keys. */
function workerOf(anonymous = `${LIMIT}/1h`, source: KeySource = keySource(database), store: SharedStore | null = null) {
  let looks = 0
  const keyring = new Keyring(null, () => wholeRights())
  const tables = files.ensure(null, () => undefined)
  const counted = {
    ...source,
    version() {
      looks++
      return source.version()
    },
  }
  const refresh = new KeyRefresh(counted, {
    async onKeys(records) {
      keyring.replace(records)
      return true
    },
    onError: () => undefined,
    onBack: () => undefined,
  })
  const limiters = new Limiters(settingsOf(anonymous), tables, store)
  const admission = new Admission(keyring, limiters, null, refresh)
  /** Outcomes of requests that come together: `key`, 401, 429 or 503. */
  const ask = async (texts: readonly string[], address = '203.0.113.1', isOpen = false) => {
    const answers = await Promise.all(texts.map((text) => admission.admit({ kind: 'key', text }, address, isOpen)))
    return answers.map(({ principal, isConfirmed, rateLimit }) => {
      if (!rateLimit.admitted) return 429
      return principal !== null ? 'key' : isConfirmed ? 401 : 503
    })
  }
  const left = async (address = '203.0.113.1') => Number((await admission.charge(null, address)).remaining) + 1
  return { ask, left, looks: () => looks }
}

const count = (outcomes: readonly unknown[], wanted: unknown) => outcomes.filter((outcome) => outcome === wanted).length
const unknownKeys = (number: number) => Array.from({ length: number }, () => makeKey().text)
async function storedKeys(number: number): Promise<TestKey[]> {
  const keys = Array.from({ length: number }, () => makeKey())
  for (const { record } of keys) await new KeyStore(sql).create(record)
  return keys
}

describe('A valid key costs its address nothing', () => {
  test.each([false, true])(
    'when its first 200 requests are concurrent and share look-ups of the key (to a page that needs no key: %p)',
    async (isOpen) => {
      const worker = workerOf()
      const [key] = await storedKeys(1)
      const outcomes = await worker.ask(Array(200).fill(key?.text), undefined, isOpen)
      expect([count(outcomes, 'key'), await worker.left()]).toEqual([200, LIMIT])
      expect(worker.looks()).toBeLessThanOrEqual(2)
    },
  )

  test('when 200 new keys come from one address to each of two workers', async () => {
    const workers = [workerOf(), workerOf()]
    const keys = (await storedKeys(200)).map(({ text }) => text)
    for (const worker of workers) expect(count(await worker.ask(keys), 'key')).toBe(200)
    expect(await workers[0]?.left()).toBe(LIMIT)
  })

  test('while others send unknown keys from the same address', async () => {
    const worker = workerOf()
    const [key] = await storedKeys(1)
    const texts = unknownKeys(100).flatMap((text) => [text, key?.text as string])
    const outcomes = await worker.ask(texts)
    expect([count(outcomes, 'key'), count(outcomes, 401), count(outcomes, 429)]).toEqual([100, LIMIT, 90])
    // The key is known now, so that it is admitted whatever its address has left.
    expect(await worker.ask([key?.text as string])).toEqual(['key'])
  })

  test.each([
    [
      'the database does not answer',
      () => keySource(new Database({ url: 'postgres://a@127.0.0.1:1/a', poolSize: 1, prepare: true })),
    ],
    [
      'the keys cannot be read',
      () => ({ ...keySource(database), current: () => database.read({ text: 'select 1/0', values: [] }) as never }),
    ],
  ])('while the key cannot be looked up (503): %s', async (_, source) => {
    const worker = workerOf(undefined, source())
    const [key] = await storedKeys(1)
    expect(count(await worker.ask(Array(50).fill(key?.text)), 503)).toBe(50)
    expect(await worker.left()).toBe(LIMIT)
  })
})

describe('Unknown keys are charged to their address', () => {
  test.each([
    ['1,000 different keys', () => unknownKeys(1_000)],
    ['1,000 requests with one key', () => Array(1_000).fill(makeKey().text)],
  ])(
    'also concurrently: of %s, as many as the limit allows get 401, and the others 429, with at most two look-ups',
    async (_, make) => {
      const worker = workerOf()
      const outcomes = await worker.ask(make())
      expect([count(outcomes, 401), count(outcomes, 429)]).toEqual([LIMIT, 1_000 - LIMIT])
      const looks = worker.looks()
      expect(looks).toBeLessThanOrEqual(2)
      expect(count(await worker.ask(unknownKeys(100)), 429)).toBe(100)
      expect(worker.looks()).toBe(looks)
    },
  )

  test('unknown keys that come one after the other are looked up only until their address has reached its limit', async () => {
    const worker = workerOf()
    const outcomes: unknown[] = []
    for (const text of unknownKeys(LIMIT + 20)) outcomes.push(...(await worker.ask([text])))
    expect([count(outcomes, 401), worker.looks()]).toEqual([LIMIT, LIMIT])
  })

  test('two workers together answer 401 to exactly as many requests as the limit allows, and 429 to all others', async () => {
    const workers = [workerOf(), workerOf()]
    const outcomes = (await Promise.all(workers.map((worker) => worker.ask(unknownKeys(100))))).flat()
    expect([count(outcomes, 401), count(outcomes, 429)]).toEqual([LIMIT, 200 - LIMIT])
  })

  test('unknown keys are not charged to another address', async () => {
    const worker = workerOf()
    await worker.ask(unknownKeys(100))
    expect(await worker.ask(unknownKeys(1), '203.0.113.2')).toEqual([401])
    expect(await worker.left('203.0.113.2')).toBe(LIMIT - 1)
  })

  test('D36: no period admits more than the limit, and no request within the limit is refused', async () => {
    const [limit, periodMs] = [25, 1_000]
    files = filesOf(`${limit}/1s`)
    const worker = workerOf(`${limit}/1s`)
    type Seen = { sentMs: number; answeredMs: number }
    const seen = { admitted: [] as Seen[], refused: [] as Seen[] }
    const client = async () => {
      while (seen.admitted.length < 3 * limit) {
        const sentMs = performance.now()
        const [outcome] = await worker.ask([makeKey().text])
        seen[outcome === 401 ? 'admitted' : 'refused'].push({ sentMs, answeredMs: performance.now() })
        await Bun.sleep(1)
      }
    }
    await Promise.all(Array.from({ length: 8 }, client))
    const answeredMs = seen.admitted.map((own) => own.answeredMs).sort((one, other) => one - other)
    const sentMs = seen.admitted.map((own) => own.sentMs).sort((one, other) => one - other)
    // Of limit + 1 admitted requests, the last is answered at least a period after the first was sent.
    const tooSoon = answeredMs.slice(limit).filter((ms, index) => ms - (sentMs[index] as number) < periodMs)
    const mayCount = (refused: Seen) =>
      seen.admitted.filter((own) => own.sentMs < refused.answeredMs && own.answeredMs > refused.sentMs - periodMs - 2).length
    expect(seen.refused.length).toBeGreaterThan(0)
    expect([tooSoon, seen.refused.filter((refused) => mayCount(refused) < limit)]).toEqual([[], []])
  })

  test('with Redis, an address whose limit another machine has used up gets 429 without a look-up', async () => {
    if (!hasRedis) return leaveOut('CI_REQUIRES_REDIS', 'there is no redis-server: apt-get install redis-server')
    const redis = await startRedis()
    // On a busy machine an answer of Redis could be late; then each worker would decide by itself.
    const windowsOf = () => new RedisWindows(redis.url, () => undefined, Number.POSITIVE_INFINITY)
    const windows = [windowsOf(), windowsOf()] as const
    for (const own of windows) await until(async () => (await own.decide('none', parseRules('1/1h'), false)) !== null)
    const one = workerOf(undefined, undefined, windows[0])
    // Another machine has tables of its own.
    files = filesOf(`${LIMIT}/1h`)
    const other = workerOf(undefined, undefined, windows[1])
    const [key] = await storedKeys(1)
    expect(count(await one.ask(Array(100).fill(key?.text)), 'key')).toBe(100)
    const outcomes = await one.ask(unknownKeys(100))
    expect([count(outcomes, 401), count(outcomes, 429)]).toEqual([LIMIT, 100 - LIMIT])
    expect([count(await other.ask(unknownKeys(100)), 429), other.looks()]).toEqual([100, 0])
    for (const own of windows) own.close()
    await redis.stop()
  })
})
