import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, judgeExchanges, watch } from '../prove/http.ts'
import { createDatabase } from '../support/postgres.ts'
import { dataFolder, endServers, headersOf, serve } from '../support/serve.ts'
import { KEY } from '../support/server.ts'

let DATABASE_URL: string
beforeAll(async () => {
  DATABASE_URL = await createDatabase('empty')
})
afterEach(endServers)

const start = (environment: Record<string, string>) => serve({ DATABASE_URL, RATE_LIMIT_CLIENTS: '4', ...environment })

/** Status, what is left, and when a retry is admitted. */
const PERIOD_MS = 4_000

async function once(url: string) {
  const { status, headers } = await fetch(url, { headers: headersOf(KEY) })
  return {
    status,
    remaining: Number(headers.get('x-ratelimit-remaining')),
    reset: Date.parse(headers.get('x-ratelimit-reset') ?? ''),
    retryAfterMs: 1_000 * Number(headers.get('retryafter')),
  }
}

describe('what judges a client’s answers', () => {
  const rule = { limit: 2, periodMs: 1_000 }
  const exchange = (sent: number, admitted = true) => ({ sent, answered: sent + 0.5, admitted })

  test('finds one admission too many, from the sending of the first to the answer of the last', () => {
    const judge = (last: number) =>
      judgeExchanges(
        [0, 600, last].map((sent) => exchange(sent)),
        rule,
      ).overAdmissions
    expect([judge(999.4), judge(999.5), judge(1_000)]).toEqual([1, 0, 0])
  })

  test('finds a refusal of what fits by a millisecond', () => {
    const judge = (last: number) => judgeExchanges([exchange(0), exchange(600), exchange(last, false)], rule).falseRefusals
    expect([judge(900), judge(1_001.4), judge(1_001.5)]).toEqual([0, 0, 1])
  })
})

describe('two workers', () => {
  test('by a client that never pauses, and a clock that is not cut: the limit in any period, and all of it. D36', async () => {
    const { url } = await start({ RATE_LIMITS: '150/1s' })
    // One connection: the sooner it is answered, the more its clock sees.
    const found = await watch(url, KEY, { limit: 150, periodMs: 1_000 }, 3_200, 1)
    expect(found).toMatchObject({ overAdmissions: 0, falseRefusals: 0 })
    expect([found.admitted > 150, found.refused > 0]).toEqual([true, true])
  })

  test('32 connections, limit + 500 requests: exactly the limit of 200, and 500 of 429. D36', async () => {
    const { url } = await start({ RATE_LIMITS: '3000/1h' })
    const { statuses, remaining } = await ask(url, KEY, 3_500, 32)
    expect(statuses).toEqual({ 200: 3_000, 429: 500 })
    // Each admission got another number: no request was counted twice, or not at all.
    expect(new Set(remaining).size).toBe(3_000)
    expect(Math.min(...remaining)).toBe(0)
  })

  test('a retry is admitted after exactly RetryAfter seconds, and not a second earlier. Spec 7, D37', async () => {
    const { url } = await start({ RATE_LIMITS: `3/${PERIOD_MS / 1_000}s` })
    const firstMs = performance.now()
    for (let request = 0; request < 3; request++) expect((await once(url)).status).toBe(200)
    // Half a second off the full one, so that a slow machine does not come to the other side of it.
    await Bun.sleep(firstMs + 500 - performance.now())
    const refusedMs = performance.now()
    const { status, retryAfterMs } = await once(url)
    const leastMs = 1_000 * Math.ceil((firstMs + PERIOD_MS - performance.now()) / 1_000)
    expect([status, Math.max(leastMs, Math.min(retryAfterMs, PERIOD_MS))]).toEqual([429, retryAfterMs])
    await Bun.sleep(refusedMs + retryAfterMs - 1_000 - performance.now())
    const early = await once(url)
    // On a machine that slept, the second before is over.
    if (performance.now() < firstMs + PERIOD_MS) expect(early.status).toBe(429)
    await Bun.sleep(refusedMs + retryAfterMs - performance.now())
    expect((await once(url)).status).toBe(200)
  })
})

describe('the wall clock', () => {
  const library = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu']
    .map((place) => join(place, 'faketime/libfaketime.so.1'))
    .find(existsSync)

  test('set days forward and back has no effect on decisions, only on the moment in X-RateLimit-Reset', async () => {
    if (!library) {
      // Debian's package faketime. CI has it, and says so, so that it never leaves this out.
      if (process.env.CI_REQUIRES_FAKETIME) throw new Error('libfaketime is not installed')
      console.warn('left out, since there is no libfaketime to set the clock with: apt-get install faketime')
      return
    }
    const file = join(dataFolder(), 'offset')
    const setClock = async (offset: string) => {
      writeFileSync(file, `${offset}\n`)
      await Bun.sleep(50)
    }
    await setClock('+0')
    const clock = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
    const { url } = await start({ RATE_LIMITS: '6/1h', LD_PRELOAD: library, ...clock })
    const DAY_MS = 86_400_000
    const { reset } = await once(url)
    expect((await once(url)).remaining).toBe(4)
    await setClock('+2d')
    const later = await once(url)
    expect([later.status, later.remaining]).toEqual([200, 3])
    expect(Math.abs(later.reset - reset - 2 * DAY_MS)).toBeLessThan(60_000)
    await setClock('-2d')
    const earlier = await once(url)
    expect([earlier.status, earlier.remaining]).toEqual([200, 2])
    expect(Math.abs(earlier.reset - reset + 2 * DAY_MS)).toBeLessThan(60_000)
    expect([(await once(url)).status, (await once(url)).status]).toEqual([200, 200])
    expect((await once(url)).status).toBe(429)
    await setClock('+30d')
    expect((await once(url)).status).toBe(429)
  })
})
