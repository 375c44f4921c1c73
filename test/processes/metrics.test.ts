import { describe, expect, test } from 'bun:test'
import { renewed, usePlace } from '../support/place.ts'
import { until, workersOf } from '../support/process.ts'
import { ask, scrape, startScraped, valueIn } from '../support/scrape.ts'
import { launchProcess } from '../support/start.ts'

const place = usePlace()
const seriesOf = (route: string, method: string, status: number) =>
  `roster_http_requests_total{route="${route}",method="${method}",status="${status}"}`

test('the metrics count all requests of two workers, also after one worker was killed and all were replaced', async () => {
  const { server, url, admin } = await startScraped(place)
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
  // A killed process loses what it has counted since the last scrape, or in its last two seconds.
  await scrape(admin)
  process.kill(before[0] as number, 'SIGKILL')
  await renewed(server.pid, 2, before.slice(0, 1))
  await until(async () => valueIn(await scrape(admin), 'roster_workers') === 2)
  await send()
  const killed = workersOf(server.pid)
  process.kill(server.pid, 'SIGUSR2')
  await renewed(server.pid, 2, killed)
  const text = await scrape(admin)
  expect({
    lists: valueIn(text, seriesOf('/Companies', 'GET', 200)),
    rows: valueIn(text, seriesOf('/Companies/{id}', 'GET', 404)) + valueIn(text, seriesOf('/Companies/{id}', 'GET', 200)),
    writes: valueIn(text, seriesOf('/Companies', 'POST', 201)),
    nowhere: valueIn(text, seriesOf('none', 'GET', 404)),
    charged: valueIn(text, 'roster_limiter_requests_total{client="key",result="admitted"}'),
    durations: valueIn(text, 'roster_http_request_duration_seconds_count{kind="write"}'),
    listsByOrigin: [...text.matchAll(/^roster_lists_total\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0),
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
  // There are more if a write was repeated, or a batch was split.
  expect(written - batches + batched).toBeGreaterThanOrEqual(40)
})

describe('the port for metrics', () => {
  test('ADMIN_PORT serves only /metrics, /livez and /readyz, and the port of the API serves no metrics', async () => {
    const { url, admin } = await startScraped(place)
    const answers = ['GET /metrics', 'HEAD /metrics', 'POST /metrics', 'GET /livez', 'GET /readyz', 'GET /Companies']
    const statuses: number[] = []
    for (const [method = '', path] of answers.map((answer) => answer.split(' ')))
      statuses.push((await fetch(admin + path, { method })).status)
    expect(statuses).toEqual([200, 200, 405, 200, 200, 404])
    expect((await fetch(`${admin}/metrics`)).headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await ask(url, '/metrics')).toBe(404)
  })

  test('a start with an ADMIN_PORT that is in use fails with a message and exit code 1', async () => {
    const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const server = launchProcess({ ...place.settings, ADMIN_PORT: String(taken.port) })
    expect(await server.ended).toBe(1)
    expect(server.output()).toContain(
      `roster: port ${taken.port} on 127.0.0.1 is taken by another program: stop it, or set ADMIN_PORT`,
    )
    taken.stop(true)
  })
})
