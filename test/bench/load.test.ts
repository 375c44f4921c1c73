import { afterEach, describe, expect, test } from 'bun:test'
import { cpuUsBetween, readCpu, rssMb } from '../../bench/cpu.ts'
import { BUCKET_GROWTH, percentileMs } from '../../bench/latency.ts'
import { drawRequests } from '../../bench/load/requests.mjs'
import { type LoadOptions, runLoad } from '../../bench/load.ts'
import { faultOf } from '../../bench/sample.ts'
import type { Operation } from '../../bench/scenarios.ts'

const servers: { stop(closeAll: boolean): unknown }[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
})

/** What a server was asked, in order. */
interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
  readonly ms: number
  readonly port: number | undefined
}

function listen(answer: (asked: Asked, index: number) => Response | Promise<Response>) {
  const asked: Asked[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, self): Promise<Response> {
      const { method, url, headers } = request
      const { port } = self.requestIP(request) ?? {}
      const sent = { method, path: new URL(url).pathname, headers, body: await request.text() }
      const one = { ...sent, ms: performance.now(), port }
      asked.push(one)
      return answer(one, asked.length)
    },
  })
  servers.push(server)
  return { url: server.url.origin, asked }
}

const get = (path: string): Operation => ({ method: 'GET', path, status: 200 })
const ok = () => new Response('[]')

function load(url: string, operations: readonly Operation[], more: Partial<LoadOptions> = {}) {
  return runLoad({ url, operations, headers: {}, connections: 4, seconds: 0.2, ...more })
}

describe('the load program', () => {
  test('counts what was answered, and nothing else', async () => {
    const { url, asked } = listen(ok)
    let [atBegin, atEnd] = [0, 0]
    const result = await load(url, [get('/')], {
      onBegin: () => (atBegin = asked.length),
      onEnd: () => (atEnd = asked.length),
    })
    expect(result).toMatchObject({ errors: 0, unexpected: {} })
    expect(faultOf(result)).toBeNull()
    expect(result.requests).toBeGreaterThan(0)
    expect(result.requests).toBeLessThanOrEqual(asked.length)
    expect(atBegin).toBeLessThan(atEnd)
    // The two moments reach us a little later than they were.
    expect(Math.abs(atEnd - atBegin - result.requests) / result.requests).toBeLessThan(0.3)
    expect(Object.values(result.buckets).reduce((sum, count) => sum + count, 0)).toBe(result.requests)
  })

  test('counts unexpected statuses by what they are, and says why the figures do not count', async () => {
    const { url } = listen((_, index) => new Response('', { status: index % 5 === 0 ? 503 : 200 }))
    const result = await load(url, [get('/')])
    const unexpected = result.unexpected['503 instead of 200'] as number
    expect(unexpected / result.requests).toBeWithin(0.1, 0.3)
    expect(Object.keys(result.unexpected)).toEqual(['503 instead of 200'])
    expect(faultOf(result)).toBe(`${unexpected} answers of 503 instead of 200`)
  })

  test('sends no request twice, however many one connection sends', async () => {
    const connections = 128
    // So many are drawn for each connection before the load begins: one that alone is answered at once needs more.
    const drawn = Math.ceil(((0.1 + 0.4) * 8_192) / connections)
    const { url, asked } = listen(async ({ port }) => {
      if (port !== asked[0]?.port) await Bun.sleep(300)
      return ok()
    })
    const sentByOne = () => asked.filter(({ port }) => port === asked[0]?.port).length
    while (sentByOne() <= drawn) {
      asked.length = 0
      await load(url, [get('/{1..9007199254740991}')], { connections, seconds: 0.4, leadInSeconds: 0.1 })
    }
    expect(new Set(asked.map(({ path }) => path)).size).toBe(asked.length)
  })
})

test('placeholders of a request become every number of their range, and no other', () => {
  const paths = new Set(drawRequests([get('/Absences/{3..9}')], 500, 1).map(({ path }) => path))
  expect([...paths].sort()).toEqual([3, 4, 5, 6, 7, 8, 9].map((id) => `/Absences/${id}`))
})

test('percentiles of latencies are within one percent', () => {
  const buckets: Record<number, number> = {}
  for (let us = 10; us <= 100_000; us += 10) {
    const bucket = Math.floor(Math.log(us) / Math.log(BUCKET_GROWTH))
    buckets[bucket] = (buckets[bucket] ?? 0) + 1
  }
  for (const percentile of [1, 50, 97.5, 99, 100])
    expect(percentileMs(buckets, percentile) / percentile).toBeWithin(1 / BUCKET_GROWTH, BUCKET_GROWTH)
  expect(percentileMs({}, 50)).toBeNaN()
})

/** Uses CPU, starts a child that does so too and ends, and prints how many µs that was. */
const BURN_TWICE = `
  const burn = 'for (let sum = 0; process.cpuUsage().user < 200000; ) for (let n = 0; n < 1e6; n++) sum += n'
  await Bun.stdin.text()
  const before = process.cpuUsage()
  eval(burn)
  const own = process.cpuUsage(before)
  const { resourceUsage } = Bun.spawnSync([process.execPath, '-e', burn])
  console.log(own.user + own.system + Number(resourceUsage.cpuTime.total))
  setInterval(() => undefined, 1000)`

describe('CPU of processes', () => {
  const isLinux = process.platform === 'linux'

  test('counts a process, and a child of it that has ended', async () => {
    const program = Bun.spawn([process.execPath, '-e', BURN_TWICE], { stdin: 'pipe', stdout: 'pipe' })
    const before = readCpu([program.pid])
    program.stdin.end()
    const burntUs = Number(new TextDecoder().decode((await program.stdout.getReader().read()).value))
    const us = cpuUsBetween(before, readCpu([program.pid]))
    const mb = rssMb(program.pid)
    program.kill()
    expect(us === null).toBe(!isLinux)
    expect((us ?? burntUs) / burntUs).toBeWithin(0.85, 1.3)
    expect(mb ?? 20).toBeWithin(5, 500)
  })
})
