import { describe, expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, watch } from '../prove/http.ts'
import { useDatabase } from '../support/database.ts'
import { leaveOut } from '../support/process.ts'
import { headersOf } from '../support/requests.ts'
import { KEY } from '../support/server.ts'
import { dataFolder, startProcess } from '../support/start.ts'

const { url: DATABASE_URL } = useDatabase('empty')

const start = (environment: Record<string, string>) => startProcess({ DATABASE_URL, RATE_LIMIT_CLIENTS: '4', ...environment })

async function once(url: string) {
  const { status, headers } = await fetch(url, { headers: headersOf(KEY) })
  return {
    status,
    remaining: Number(headers.get('x-ratelimit-remaining')),
    reset: Date.parse(headers.get('x-ratelimit-reset') ?? ''),
    retryAfterMs: 1_000 * Number(headers.get('retryafter')),
  }
}

describe('rate limits of two workers', () => {
  test('D36: two workers admit exactly the limit in any period, measured by a client that sends without a pause', async () => {
    let isReached = false
    // A busy machine sends fewer requests in a second than a limit allows; then a smaller one is tried.
    for (const limit of [150, 40, 10]) {
      const { url } = await start({ RATE_LIMITS: `${limit}/1s` })
      // One connection, because the client's times are exact only if answers are quick.
      const found = await watch(url, KEY, { limit, periodMs: 1_000 }, 2_200, 1)
      expect(found).toMatchObject({ overAdmissions: 0, falseRefusals: 0 })
      isReached = found.admitted > limit && found.refused > 0
      if (isReached) break
    }
    expect(isReached).toBe(true)
  })

  test('D36: with a limit of 600, two workers answer exactly 600 of 800 requests over 32 connections, and others get 429', async () => {
    const { url } = await start({ RATE_LIMITS: '600/1h' })
    const { statuses, remaining } = await ask(url, KEY, 800, 32)
    expect(statuses).toEqual({ 200: 600, 429: 200 })
    // Each admission has another number, so each request was counted exactly once.
    expect(new Set(remaining).size).toBe(600)
    expect(Math.min(...remaining)).toBe(0)
  })
})

describe('the wall clock', () => {
  const library = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu']
    .map((place) => join(place, 'faketime/libfaketime.so.1'))
    .find(existsSync)

  test('setting the wall clock forward and back by days changes only X-RateLimit-Reset, not which requests are admitted', async () => {
    if (!library) return leaveOut('CI_REQUIRES_FAKETIME', 'there is no libfaketime: apt-get install faketime')
    const file = join(dataFolder(), 'offset')
    const setClock = async (offset: string) => {
      writeFileSync(file, `${offset}\n`)
      await Bun.sleep(50)
    }
    await setClock('+0')
    const clock = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
    const { url } = await start({ RATE_LIMITS: '6/1h', WORKERS: '1', LD_PRELOAD: library, ...clock })
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
