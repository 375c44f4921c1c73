import { afterEach, describe, expect, test } from 'bun:test'
import { metrics } from '../../src/metrics/declared.ts'
import type { Metric } from '../../src/metrics/metric.ts'
import { headers, retried, usePlace } from '../support/place.ts'
import { until, workersOf } from '../support/process.ts'
import { hasPrometheus, promtool, type RunningPrometheus, startPrometheus } from '../support/prometheus.ts'

const TIMEOUT_MS = 120_000
const place = usePlace()
let prometheus: RunningPrometheus | null = null
afterEach(async () => {
  await prometheus?.stop()
  prometheus = null
})

const METRICS = /Metrics: (http:\S+)\/metrics/

/** A request over a connection of its own, which no process that has ended was the other end of. */
function ask(url: string, path: string, method = 'GET', body?: string): Promise<number> {
  const own = { ...headers, connection: 'close', ...(body && { 'content-type': 'application/json' }) }
  return retried(() => fetch(url + path, { method, headers: own, ...(body ? { body } : {}) })).then(async (answer) => {
    await answer.arrayBuffer()
    return answer.status
  })
}

const scrape = async (admin: string) => (await fetch(`${admin}/metrics`)).text()

/** The value of a series, as the text has it; 0 where it is not there. */
function valueIn(text: string, series: string): number {
  const line = text.split('\n').find((own) => own.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length + 1))
}

async function start() {
  const { server, url } = await place.start({ ADMIN_PORT: '0' })
  const [, admin = ''] = await server.waitFor(METRICS)
  return { server, url, admin }
}

const seriesOf = (route: string, method: string, status: number) =>
  `roster_http_requests_total{route="${route}",method="${method}",status="${status}"}`

test(
  'the sums are what clients have sent, over two workers, and stay when one is killed',
  async () => {
    const { server, url, admin } = await start()
    const before = workersOf(server.pid)
    const send = () =>
      Promise.all([
        ...Array.from({ length: 40 }, () => ask(url, '/Companies?PageSize=5')),
        ...Array.from({ length: 30 }, () => ask(url, '/Companies/77')),
        ...Array.from({ length: 20 }, () => ask(url, '/Companies', 'POST', '{"Name":"a"}')),
        ...Array.from({ length: 10 }, () => ask(url, '/nowhere')),
      ])
    const statuses = await send()
    expect(new Set(statuses)).toEqual(new Set([200, 404, 201]))
    process.kill(before[0] as number, 'SIGKILL')
    await until(() => workersOf(server.pid).length === 2 && !workersOf(server.pid).includes(before[0] as number))
    await until(async () => valueIn(await scrape(admin), 'roster_workers') === 2)
    await send()
    const text = await scrape(admin)
    expect({
      lists: valueIn(text, seriesOf('/Companies', 'GET', 200)),
      rows:
        valueIn(text, seriesOf('/Companies/{id}', 'GET', 404)) + valueIn(text, seriesOf('/Companies/{id}', 'GET', 200)),
      writes: valueIn(text, seriesOf('/Companies', 'POST', 201)),
      nowhere: valueIn(text, seriesOf('none', 'GET', 404)),
      charged: valueIn(text, 'roster_limiter_requests_total{client="key",result="admitted"}'),
      durations: valueIn(text, 'roster_http_request_duration_seconds_count{kind="write"}'),
      listsByOrigin: [...text.matchAll(/^roster_lists_total\{.*\} (\d+)$/gm)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      ),
      replaced: valueIn(text, 'roster_worker_replacements_total'),
    }).toEqual({
      lists: 80,
      rows: 60,
      writes: 40,
      nowhere: 20,
      charged: 200,
      durations: 40,
      listsByOrigin: 80,
      replaced: 1,
    })
    const written = valueIn(text, 'roster_database_statement_duration_seconds_count{kind="write"}')
    const batches = valueIn(text, 'roster_database_batches_total{kind="write"}')
    const batched = valueIn(text, 'roster_database_batched_total{kind="write"}')
    expect(written - batches + batched).toBe(40)
  },
  TIMEOUT_MS,
)

describe('the port', () => {
  test(
    'has metrics and health, and nothing else; the port of the API has no metrics',
    async () => {
      const { url, admin } = await start()
      const answers: [string, string][] = [
        ['GET', '/metrics'],
        ['HEAD', '/metrics'],
        ['POST', '/metrics'],
        ['GET', '/livez'],
        ['GET', '/readyz'],
        ['GET', '/Companies'],
      ]
      const statuses: number[] = []
      for (const [method, path] of answers) statuses.push((await fetch(admin + path, { method })).status)
      expect(statuses).toEqual([200, 200, 405, 200, 200, 404])
      expect((await fetch(`${admin}/metrics`)).headers.get('content-type')).toBe(
        'text/plain; version=0.0.4; charset=utf-8',
      )
      expect(await ask(url, '/metrics')).toBe(404)
    },
    TIMEOUT_MS,
  )

  test(
    'that is taken stops the start, and says so',
    async () => {
      const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
      const server = place.launch({ ADMIN_PORT: String(taken.port) })
      expect(await server.ended).toBe(1)
      expect(server.output()).toContain(`roster: cannot listen on ADMIN_PORT 127.0.0.1:${taken.port}`)
      taken.stop(true)
    },
    TIMEOUT_MS,
  )
})

// CI_REQUIRES_PROMETHEUS is set where the tests of a release run, so that these cannot go missing there unnoticed.
if (hasPrometheus) {
  test(
    'promtool finds no fault in a scrape, every metric is in it, and a Prometheus as the docs set it up reads it',
    async () => {
      const { url, admin } = await start()
      await ask(url, '/nowhere"\\')
      for (let n = 0; n < 7; n++) await ask(url, '/Companies')
      const text = await scrape(admin)
      expect(promtool(['check', 'metrics'], text)).toBe('')
      const found = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string)
      expect(found.sort()).toEqual(
        Object.values<Metric>(metrics)
          .map(({ name }) => name)
          .sort(),
      )
      prometheus = await startPrometheus(new URL(admin).host)
      const { ask: query } = prometheus
      await until(async () => (await query('sum(roster_http_requests_total{route="/Companies"})')) === 7)
      await ask(url, '/Companies')
      await until(async () => (await query('sum(roster_http_requests_total{route="/Companies"})')) === 8)
      expect([await query('roster_workers'), await query('up{job="roster"}')]).toEqual([2, 1])
    },
    TIMEOUT_MS,
  )
} else
  test('without a prometheus no real one scrapes', () => {
    if (process.env.CI_REQUIRES_PROMETHEUS) throw new Error('prometheus is not installed')
  })
