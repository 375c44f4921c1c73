import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { RedisClient } from 'bun'
import { RedisWindows, readDecision, ringArguments, ringScript } from '../../src/admit/redis.ts'
import { type Decision, formatRules, parseRules, type Rule } from '../../src/model/limits.ts'
import { Oracle } from '../prove/limiterOracle.ts'
import { freePort, leaveOut, until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { hasRedis, type RunningRedis, startRedis } from '../support/redis.ts'

/** Ends a process that does not end by itself, before the test's own limit. */
const HANGS_MS = 100_000
const START_MS = 1_700_000_000_000
const DEFAULTS = parseRules('750/1m,2500/15m,25000/12h')
const refused = (rule: number, waitMs: number): Decision => ({ admitted: false, rule, remaining: 0, waitMs })
const admitted = (rule: number, remaining: number, waitMs: number) => ({ admitted: true, rule, remaining, waitMs })

let server: RunningRedis
let redis: RedisClient
let clients = 0
/** A client without any requests before. */
const newcomer = () => `client-${process.pid}-${++clients}`

/** A program that ends after the client was charged. */
const untilCharged = (url: string, client: string) => `
  const redis = new Bun.RedisClient('${url}')
  while (!(await redis.exists('roster:{${client}}:${formatRules(DEFAULTS)}'))) await Bun.sleep(5)
  redis.close()`

/** A decision without deadline, at a time of the test's choice. */
async function decideAt(nowMs: number, client: string, rules: readonly Rule[], isCharged = true): Promise<Decision> {
  return readDecision(await redis.send('EVAL', [ringScript, ...ringArguments(client, rules, isCharged, nowMs)]))
}

function ruleTests() {
  beforeAll(async () => {
    server = await startRedis()
    redis = new RedisClient(server.url)
  })
  afterAll(async () => {
    redis.close()
    await server.stop()
  })

  test('Redis decides 40,000 requests of random clients, rules and pauses like a plain model', async () => {
    const random = new Random(36)
    const periods = ['5m', '15m', '1h', '12h', '2d']
    let refusals = 0
    for (let round = 0; round < 200; round++) {
      const chosen = periods.filter(() => random.chance(40))
      const rules = parseRules((chosen.length ? chosen : ['1h']).map((it) => `${1 + random.below(20)}/${it}`).join())
      const paceMs = (2 * (random.pick(rules).periodMs + 1)) / random.pick(rules).limit
      const client = newcomer()
      const oracle = new Oracle(rules)
      let nowMs = START_MS
      const times = Array.from({ length: 200 }, () => {
        const pauseMs = random.chance(30) ? 0 : random.below(paceMs)
        return (nowMs += random.chance(2) ? 20 * pauseMs : pauseMs)
      })
      const decisions = await Promise.all(times.map((atMs) => decideAt(atMs, client, rules)))
      expect(decisions).toEqual(times.map((atMs) => oracle.admit(atMs)))
      refusals += decisions.filter((decision) => !decision.admitted).length
    }
    expect(refusals).toBeGreaterThan(4_000)
    expect(refusals).toBeLessThan(36_000)
  })

  test('a decision without a charge equals the next decision, and changes nothing', async () => {
    const rules = parseRules('2/1m,9/1h')
    const client = newcomer()
    for (let round = 0; round < 3; round++) expect(await decideAt(START_MS, client, rules, false)).toEqual(admitted(1, 9, 0))
    expect(await redis.send('EXISTS', [`roster:{${client}}:2/1m,9/1h`])).toBe(0)
    await decideAt(START_MS, client, rules)
    expect(await decideAt(START_MS + 10, client, rules, false)).toEqual(admitted(1, 8, 3_599_991))
    await decideAt(START_MS + 10, client, rules)
    for (const isCharged of [false, true, false])
      expect(await decideAt(START_MS + 20, client, rules, isCharged)).toEqual(refused(0, 59_981))
    expect(await decideAt(START_MS + 3_600_011, client, rules, false)).toEqual(admitted(1, 9, 0))
  })

  test('setting the clock back neither admits more nor makes the client wait longer', async () => {
    const rules = parseRules('2/1m')
    const client = newcomer()
    await decideAt(START_MS, client, rules)
    expect(await decideAt(START_MS - 50_000, client, rules)).toEqual(admitted(0, 0, 60_001))
    expect(await decideAt(START_MS - 86_400_000, client, rules)).toEqual(refused(0, 60_001))
    expect(await decideAt(START_MS + 60_001, client, rules)).toEqual(admitted(0, 1, 60_001))
  })

  test('Redis keeps 6 bytes for each request of a client’s largest limit, until the longest period is over', async () => {
    const rules = parseRules('5000/12h,10/1s')
    const client = newcomer()
    for (let n = 0; n < 12_000; n += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => decideAt(START_MS + (n + index) * 10_000, client, rules)))
    const key = `roster:{${client}}:5000/12h,10/1s`
    expect(await redis.send('STRLEN', [key])).toBe(18 + 6 * 5_000)
    expect(await redis.send('MEMORY', ['USAGE', key])).toBeLessThan(2 * 6 * 5_000 + 500)
    const leftMs = await redis.send('PTTL', [key])
    expect(leftMs).toBeLessThanOrEqual(43_200_001)
    expect(leftMs).toBeGreaterThan(43_200_000 - 60_000)
  })
}

function outageTests() {
  let own: RunningRedis | undefined
  let windows: RedisWindows | undefined
  let away: string[] = []
  let back = 0
  const onOutage = (error: Error | null) => (error === null ? back++ : away.push(error.message))
  afterEach(async () => {
    windows?.close()
    await own?.stop()
    own = undefined
    away = []
    back = 0
  })

  const open = (url: string, answerMsMax?: number) => (windows = new RedisWindows(url, onOutage, answerMsMax))
  /** Waits for each answer, however long a busy machine takes for it. */
  const openPatiently = (url: string) => open(url, Number.POSITIVE_INFINITY)
  /** Asks until the store answers, which it does not before it is connected. */
  async function decided(client = newcomer(), rules = DEFAULTS): Promise<Decision> {
    for (;;) {
      const decision = await windows?.decide(client, rules)
      if (decision) return decision
      await Bun.sleep(10)
    }
  }
  /** Waits until the store is in use, and forgets outages before, which a busy machine may have had. */
  async function connected() {
    await decided()
    away = []
    back = 0
  }
  /** The answers to `count` questions at once; without a deadline, those to a server that hangs never come. */
  const burst = (count: number) => Promise.all(Array.from({ length: count }, () => windows?.decide(newcomer(), DEFAULTS)))

  test('the limiter counts correctly, and reports no outage, when Redis loses its scripts', async () => {
    own = await startRedis()
    openPatiently(own.url)
    const [client, rules] = [newcomer(), parseRules('9/1h')]
    const direct = new RedisClient(own.url)
    for (let remaining = 8; remaining >= 0; remaining--) {
      expect(await decided(client, rules)).toMatchObject({ admitted: true, remaining })
      await direct.send('SCRIPT', ['FLUSH'])
    }
    expect(await decided(client, rules)).toMatchObject({ admitted: false })
    direct.close()
    expect([away, back]).toEqual([[], 0])
  })

  test('a pause of this process is not reported as an outage of Redis', async () => {
    own = await startRedis()
    open(own.url)
    await connected()
    const client = newcomer()
    const asked = windows?.decide(client, DEFAULTS)
    await new Promise(setImmediate) // sends the command
    Bun.sleepSync(200)
    // The pause lasts until a busy machine has let Redis answer.
    Bun.spawnSync([process.execPath, '-e', untilCharged(own.url, client)])
    expect(await asked).toMatchObject({ admitted: true })
    expect([away, back]).toEqual([[], 0])
  })

  test('at most 10,000 decisions wait for Redis at a time', async () => {
    own = await startRedis()
    open(own.url)
    await connected()
    own.freeze()
    let answered = 0
    for (let n = 0; n < 10_500; n++) windows?.decide('one', DEFAULTS).then(() => answered++)
    await Promise.resolve()
    expect(answered).toBe(500)
    await until(() => answered === 10_500)
  })

  test('without a server each decision is null (undecided), and the outage is reported once', async () => {
    open(`redis://127.0.0.1:${freePort()}`)
    expect(new Set(await burst(1_000))).toEqual(new Set([null]))
    await until(() => away.length > 0)
    await Bun.sleep(700) // two more attempts
    expect(await burst(10)).toEqual(Array(10).fill(null))
    expect([away, back]).toEqual([['Connection closed'], 0])
  })

  test('a server that goes away while no request comes is reported', async () => {
    own = await startRedis()
    open(own.url)
    await connected()
    await own.kill()
    await until(() => away.length > 0)
    expect([away, back]).toEqual([['Connection closed'], 0])
  })

  test('decisions are null (undecided) while the server is frozen, and the outage is reported once', async () => {
    own = await startRedis()
    open(own.url)
    await connected()
    own.freeze()
    expect(await burst(200)).toEqual(Array(200).fill(null))
    expect([away, back]).toEqual([['no answer within 30 ms'], 0])
    await Bun.sleep(1_500) // an attempt to connect that gets no greeting
    expect(await burst(200)).toEqual(Array(200).fill(null))
    own.thaw()
    await until(() => back === 1)
    expect(away.length).toBe(1)
    expect(await decided()).toMatchObject({ admitted: true })
  })

  test('a wrong password is named as the reason, but not shown', async () => {
    own = await startRedis('--requirepass', 'right')
    open(own.url.replace('//', '//:wr0ng-s3cret@'))
    await until(() => away.length > 0)
    expect(away).toEqual(['WRONGPASS invalid username-password pair or user is disabled.'])
    expect(await burst(10)).toEqual(Array(10).fill(null))
    windows?.close()
    open(own.url.replace('//', '//:right@'))
    expect(await decided()).toMatchObject({ admitted: true })
  })

  test('a password that the server repeats is not shown', async () => {
    const reply = "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 's3cret'\r\n"
    const old = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: (socket) => void socket.write(reply) },
    })
    open(`redis://:s3cret@127.0.0.1:${old.port}`)
    await until(() => away.length > 0)
    old.stop(true)
    expect(away).toEqual(['ERR unknown command'])
  })

  test('a server that answers but cannot write is reported once as away, and never as back', async () => {
    own = await startRedis('--replicaof', `127.0.0.1 ${freePort()}`)
    openPatiently(own.url)
    await until(() => away.length > 0)
    await Bun.sleep(700)
    expect(away[0]).toStartWith("READONLY You can't write against a read only replica.")
    expect([away.length, back]).toEqual([1, 0])
  })

  test('an invalid URL is reported immediately', () => {
    expect(() => open('http://127.0.0.1')).toThrow('protocol')
  })

  const connect = 'while (!(await ask())) await Bun.sleep(10)'
  for (const [state, prepare] of [
    ['connected', connect],
    ['waiting for an answer', `${connect}; process.kill(pid, 'SIGSTOP'); ask()`],
    ['away', `${connect}; process.kill(pid, 'SIGKILL'); while (await ask()) await Bun.sleep(10)`],
  ])
    test(`a process ends by itself after close(): ${state}`, async () => {
      own = await startRedis()
      const script = `
        import { RedisWindows } from '${import.meta.dir}/../../src/admit/redis.ts'
        const windows = new RedisWindows('${own.url}', () => {})
        const ask = () => windows.decide('a', [{ limit: 5000, periodMs: 60000, period: '1m' }])
        const pid = ${own.pid}
        ${prepare}
        windows.close()
        console.log(await ask())`
      const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'pipe', timeout: HANGS_MS })
      expect(await child.exited).toBe(0)
      expect(await new Response(child.stdout).text()).toBe('null\n')
      expect(await new Response(child.stderr).text()).toBe('')
    })
}

if (hasRedis) {
  describe('rules in Redis', ruleTests)
  describe('outages of Redis', outageTests)
} else
  test('rate limits in Redis are not tested without a redis-server in the PATH', () =>
    leaveOut('CI_REQUIRES_REDIS', 'there is no redis-server'))
