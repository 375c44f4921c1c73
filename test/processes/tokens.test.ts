import { describe, expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { useDatabase } from '../support/database.ts'
import { startIssuer } from '../support/issuer.ts'
import { startPlainIssuer } from '../support/plainIssuer.ts'
import { leaveOut, until } from '../support/process.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { retried } from '../support/requests.ts'
import { dataFolder, startProcess } from '../support/start.ts'

const { url: DATABASE_URL } = useDatabase('empty')

const start = (environment: Record<string, string>) => startProcess({ DATABASE_URL, RATE_LIMIT_CLIENTS: '4', ...environment })

/** Sends a request on a connection of its own, so that any worker may get it. /Rights needs no right. */
async function ask(url: string, token: string) {
  const headers = { authorization: `Bearer ${token}`, connection: 'close' }
  const answer = await retried(() => fetch(`${url}/Rights`, { headers, keepalive: false }))
  return { status: answer.status, remaining: answer.headers.get('x-ratelimit-remaining'), text: await answer.text() }
}

/** Sends requests, 16 at a time, with the tokens in turn; counts the answers by status. */
async function askMany(urls: readonly string[], tokens: readonly string[], requests: number) {
  const statuses: Record<number, number> = {}
  const remaining: (string | null)[] = []
  let sent = 0
  async function client() {
    while (sent < requests) {
      const turn = sent++
      const answer = await ask(urls[turn % urls.length] as string, tokens[turn % tokens.length] as string)
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      if (answer.status === 200) remaining.push(answer.remaining)
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  return { statuses, different: new Set(remaining).size }
}

describe('D99: limits of a person', () => {
  test('hold for two workers and two of her tokens together: exactly as many requests are admitted as the limit allows', async () => {
    const issuer = startPlainIssuer()
    const { url } = await start({ ...issuer.settings, RATE_LIMITS_PERSONS: '300/1h' })
    const tokens = [issuer.token(), issuer.token({ groups: ['hr'] })]
    const { statuses, different } = await askMany([url], tokens, 400)
    expect([statuses, different]).toEqual([{ 200: 300, 429: 100 }, 300])
    expect((await ask(url, issuer.token({ sub: 'ben' }))).remaining).toBe('299')
  })

  test('hold for two machines with one Redis together', async () => {
    if (!hasRedis) return leaveOut('CI_REQUIRES_REDIS', 'there is no redis-server: apt-get install redis-server')
    const redis = await startRedis()
    const issuer = startPlainIssuer()
    try {
      for (let limit = 200; ; limit++) {
        const settings = { ...issuer.settings, RATE_LIMITS_PERSONS: `${limit}/1h`, RATE_LIMIT_STORE: redis.url, WORKERS: '1' }
        const machines = await Promise.all([start(settings), start(settings)])
        const { statuses } = await askMany(
          machines.map(({ url }) => url),
          [issuer.token()],
          300,
        )
        // A machine that is too busy for the 30 ms of Redis counts by itself; then this is repeated with another limit.
        const isAlone = machines.some(({ server }) => server.output().includes('store unreachable'))
        if (isAlone && limit < 210) continue
        expect(statuses).toEqual({ 200: limit, 429: 300 - limit })
        return
      }
    } finally {
      await redis.stop()
    }
  })
})

describe('D97: a started server', () => {
  const library = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu']
    .map((place) => join(place, 'faketime/libfaketime.so.1'))
    .find(existsSync)

  test('refuses an accepted token with 401 once it has ended by the clock, and accepts it again when the clock is set back', async () => {
    if (!library) return leaveOut('CI_REQUIRES_FAKETIME', 'there is no libfaketime: apt-get install faketime')
    const issuer = await startIssuer()
    const file = join(dataFolder(), 'offset')
    const setClock = async (offset: string) => {
      writeFileSync(file, `${offset}\n`)
      await Bun.sleep(50)
    }
    await setClock('+0')
    const clock = { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' }
    const { url } = await start({ ...issuer.settings, WORKERS: '1', LD_PRELOAD: library, ...clock })
    const token = await issuer.tokenFor({ email: 'ann@example.com' }, { expiresInS: 600 })
    expect((await ask(url, token)).status).toBe(200)
    // The tolerance is a minute.
    await setClock('+10m')
    expect((await ask(url, token)).status).toBe(200)
    await setClock('+12m')
    const ended = await ask(url, token)
    expect([ended.status, ended.text]).toEqual([401, expect.stringContaining('The token ended at ')])
    await setClock('+0')
    expect((await ask(url, token)).status).toBe(200)
    await setClock('-12m')
    // The verified token was cached until its end, and a token is not refused only because its `iat` is in the future.
    expect((await ask(url, token)).status).toBe(200)
  })

  test('names a person in its log only by her pseudonym, which is the same on each worker', async () => {
    const issuer = await startIssuer()
    const { server, url } = await start({ ...issuer.settings, LOG_LEVEL: 'info' })
    const token = await issuer.tokenFor({ sub: 'subject-of-ann', email: 'ann@example.com' })
    for (let request = 0; request < 12; request++) await ask(url, token)
    await ask(url, token.replace(/.{4}$/, 'AAAA'))
    await until(
      () => (server.output().match(/GET \/Rights 200/g) ?? []).length === 12 && /GET \/Rights 401/.test(server.output()),
    )
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.includes('GET /Rights'))
    const names = new Set(lines.map((line) => / person=(\S+)/.exec(line)?.[1]))
    expect([...names].sort()).toEqual([expect.stringMatching(/^person-[\w-]{22}$/), undefined])
    expect(lines.filter((line) => line.includes(' key='))).toEqual([])
    for (const secret of ['subject-of-ann', 'ann@example.com', token, token.split('.')[2] as string])
      expect(server.output()).not.toContain(secret)
  })

  test('starts while its issuer does not answer, answers requests with tokens 503 until the issuer answers, and then 200', async () => {
    const issuer = await startIssuer()
    const token = await issuer.tokenFor({ email: 'ann@example.com' })
    issuer.signal('SIGSTOP')
    const { server, url, ask: askByKey } = await start({ ...issuer.settings, WORKERS: '1' })
    expect((await askByKey('GET', '/Rights')).status).toBe(200)
    expect((await ask(url, token)).status).toBe(503)
    await server.waitFor(/the issuer of tokens cannot be asked: its last keys stay in use/)
    issuer.signal('SIGCONT')
    await until(async () => (await ask(url, token)).status === 200)
  })

  test('has the limiter tables of persons only if OIDC_ISSUER is set', async () => {
    const issuer = startPlainIssuer()
    const persons = async (environment: Record<string, string>) => {
      const { server } = await start({ WORKERS: '1', ADMIN_PORT: '0', LOG_LEVEL: 'info', ...environment })
      const [, admin = ''] = await server.waitFor(/(http:\/\/127\.0\.0\.1:\d+)\/metrics/)
      return (await (await fetch(`${admin}/metrics`)).text()).includes('roster_limiter_persons')
    }
    expect([await persons(issuer.settings), await persons({})]).toEqual([true, false])
  })
})
