import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ask } from '../prove/http.ts'
import { useDatabase } from '../support/database.ts'
import { leaveOut, until } from '../support/process.ts'
import { hasRedis, type RunningRedis, startRedis } from '../support/redis.ts'
import { headersOf } from '../support/requests.ts'
import { KEY } from '../support/server.ts'
import { startProcess } from '../support/start.ts'

const ATTEMPTS_MAX = 10

function storeTests() {
  const { url: DATABASE_URL } = useDatabase('empty')
  let redis: RunningRedis

  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())

  /** Starts a server as on another machine: its own memory, two workers, the same database and Redis. */
  const startMachine = (RATE_LIMITS: string) =>
    startProcess({ DATABASE_URL, LOG_LEVEL: 'info', RATE_LIMITS, RATE_LIMIT_CLIENTS: '4', RATE_LIMIT_STORE: redis.url })

  const times = (text: string, part: string) => text.split(part).length - 1

  test('two machines with one Redis together admit exactly the limit, and each X-RateLimit-Remaining occurs once', async () => {
    for (let limit = 300; ; limit++) {
      const [one, two] = await Promise.all([startMachine(`${limit}/1h`), startMachine(`${limit}/1h`)])
      const answers = await Promise.all([one, two].map(({ url }) => ask(url, KEY, 225, 4)))
      // A machine that is too busy for the 30 ms of Redis counts by itself (next test); then this is repeated with another limit.
      if ([one, two].some(({ server }) => times(server.output(), 'store unreachable') > 0) && limit < 300 + ATTEMPTS_MAX) {
        await Promise.all([one, two].map(({ server }) => server.stop()))
        continue
      }
      const statuses = answers.map(({ statuses }) => statuses)
      const sum = (status: number) => statuses.reduce((total, each) => total + (each[status] ?? 0), 0)
      expect([sum(200), sum(429)]).toEqual([limit, 450 - limit])
      const remaining = answers.flatMap((each) => each.remaining)
      expect([new Set(remaining).size, Math.max(...remaining), Math.min(...remaining)]).toEqual([limit, limit - 1, 0])
      const refused = await fetch(one.url, { headers: headersOf(KEY) })
      expect(refused.headers.get('x-ratelimit-limit')).toBe('1h')
      expect(Number(refused.headers.get('retryafter'))).toBeGreaterThan(3_500)
      return
    }
  })

  test('a machine whose Redis is killed applies limits by its own counts, logs this once for all workers, and reconnects', async () => {
    const { server, url } = await startMachine('100/1h')
    expect((await ask(url, KEY, 40, 8)).statuses).toEqual({ 200: 40 })
    const outages = () => times(server.output(), 'rate limit store unreachable: limits hold per machine')
    const ends = () => times(server.output(), 'rate limit store reachable again')
    // On a busy machine Redis's answers may have been late before.
    await until(() => outages() === ends())
    const before = outages()
    await redis.kill()
    // The machine's own window was charged as well: 60 are left of it.
    const { statuses, remaining } = await ask(url, KEY, 80, 8)
    expect(statuses).toEqual({ 200: 60, 429: 20 })
    expect(Math.max(...remaining)).toBe(59)
    await until(() => outages() > before)
    await Bun.sleep(1_000)
    expect(outages()).toBe(before + 1)
    await redis.restart()
    await until(() => ends() > before)
    await Bun.sleep(300)
    // The new Redis is empty, but this machine knows its own admissions.
    expect((await ask(url, KEY, 50, 8)).statuses).toEqual({ 429: 50 })
    expect([outages(), ends()]).toEqual([before + 1, before + 1])
    expect(times(server.output(), ' error ')).toBe(0)
  })
}

if (hasRedis) describe('a store that machines share', storeTests)
else
  test('Redis is not tested, because redis-server is missing', () =>
    leaveOut('CI_REQUIRES_REDIS', 'there is no redis-server: apt-get install redis-server'))
