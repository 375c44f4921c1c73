import { beforeAll, describe, expect, test } from 'bun:test'
import company from '../../src/entities/company.ts'
import { ResponseCache } from '../../src/memory/responseCache.ts'
import { CHANGES_MAX } from '../../src/memory/statements.ts'
import { readSamples } from '../../src/metrics/counts.ts'
import type { BytesReply } from '../../src/respond/reply.ts'
import { until } from '../support/process.ts'
import { useServer } from '../support/start.ts'

const server = useServer()
beforeAll(async () => {
  await server.sql`insert into company (name) select 'c' || n from generate_series(1, 30) as n`
})

const count = (metric: 'lists' | 'summaries', from: string) =>
  readSamples()[metric]?.find(({ labels }) => labels.from === from)?.values[0] ?? 0

/** Asks until the response comes from the cache. */
const untilCached = (metric: 'lists' | 'summaries', path: string) =>
  until(async () => {
    const before = count(metric, 'kept')
    await server.get(path)
    return count(metric, 'kept') > before
  })

describe.each([
  ['lists', '/Companies?sort=-Name', 'A list'],
  ['summaries', '/Companies/Summary?groupBy=Enabled', 'A summary'],
] as const)('%s', (metric, path, name) => {
  test(`${name} is sent from the cache until a row changes`, async () => {
    await untilCached(metric, path)
    const before = count(metric, 'kept')
    const cached = await server.get(path)
    expect((await server.get(path)).text).toBe(cached.text)
    expect(count(metric, 'kept')).toBe(before + 2)
    await server.post('/Companies', { Name: `new ${metric}`, Enabled: metric === 'lists' })
    expect((await server.get(path)).text).not.toBe(cached.text)
    expect(count(metric, 'kept')).toBe(before + 2)
  })

  test(`${name} is not sent from the cache if the copy falls behind while the request waits for it`, async () => {
    await untilCached(metric, path)
    const cached = await server.get(path)
    await server.sql`insert into company (name) select 'many' || n from generate_series(1, ${CHANGES_MAX + 1}::int) as n`
    const answer = await server.get(path)
    await server.sql`delete from company where name like 'many%'`
    expect(answer.text + answer.headers.get('x-total-count')).not.toBe(cached.text + cached.headers.get('x-total-count'))
  })

  test(`${name} with an unknown parameter gets 400 while the copy waits for PostgreSQL; a valid request waits`, async () => {
    await untilCached(metric, path)
    await server.sql.begin(async (transaction) => {
      await transaction`lock table row_change in access exclusive mode`
      const valid = server.get(path)
      const faulty = await Promise.race([server.get(`${path}&Nmae=x`), Bun.sleep(2_000)])
      expect(faulty?.status).toBe(400)
      expect(await Promise.race([valid, Bun.sleep(50)])).toBeUndefined()
    })
  })
})

describe('ResponseCache', () => {
  const reply: BytesReply = { status: 200, headers: {}, body: new Uint8Array(10) }

  test('A response is found by its target and the version of the copy that it was made from', () => {
    const cache = new ResponseCache(2 ** 20)
    cache.set('/Companies', [company], 1, reply)
    expect(cache.get('/Companies', 1)).toBe(reply)
    expect(cache.get('/Companies', 2)).toBeNull()
    expect(cache.get('/Employees', 1)).toBeNull()
    expect(cache.get('/Employees', null)).toBeNull()
  })

  test('The tables of a target are known from a cached response of any version', () => {
    const cache = new ResponseCache(2 ** 20)
    expect(cache.tablesOf('/Companies')).toBeNull()
    cache.set('/Companies', [company], 1, reply)
    expect(cache.tablesOf('/Companies')).toEqual([company])
  })

  test('A response for which there is no room is not cached', () => {
    const cache = new ResponseCache(1_000)
    cache.set('/Companies', [company], 1, reply)
    expect(cache.tablesOf('/Companies')).toBeNull()
  })
})
