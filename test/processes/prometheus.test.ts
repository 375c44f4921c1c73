import { afterEach, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Metric, metrics } from '../../src/metrics/declared.ts'
import { usePlace } from '../support/place.ts'
import { startPlainIssuer } from '../support/plainIssuer.ts'
import { freePort, leaveOut, temporaryFolder, until } from '../support/process.ts'
import { hasPrometheus, promtool } from '../support/prometheus.ts'
import { ask, scrape, startScraped } from '../support/scrape.ts'

interface RunningPrometheus {
  /** Returns the first current value of an expression; null if there is none. */
  ask(expression: string): Promise<number | null>
  stop(): Promise<void>
}

/** Starts a Prometheus with the configuration in docs/monitoring/, except targets and interval. */
async function startPrometheus(target: string): Promise<RunningPrometheus> {
  const { path: folder } = temporaryFolder()
  const port = freePort()
  const shown = readFileSync(join(import.meta.dir, '../../docs/monitoring/prometheus.yml'), 'utf8')
  const file = join(folder, 'prometheus.yml')
  const rules = join(import.meta.dir, '../../docs/monitoring/alerts.yml')
  writeFileSync(
    file,
    shown.replace('127.0.0.1:9464', target).replace('scrape_interval: 15s', 'scrape_interval: 1s').replace('alerts.yml', rules),
  )
  execFileSync('promtool', ['check', 'config', file], { stdio: 'pipe' })
  const options = [`--config.file=${file}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=127.0.0.1:${port}`]
  const server = Bun.spawn(['prometheus', ...options, '--log.level=error'], { stdout: 'ignore', stderr: 'inherit' })
  const ask = async (path: string) => {
    if (server.exitCode !== null) throw new Error(`prometheus ended with ${server.exitCode}`)
    return fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
  }
  await until(async () => (await ask('/-/ready'))?.status === 200)
  return {
    async ask(expression) {
      const answer = await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)
      const found = (await answer?.json()) as { data: { result: { value: [number, string] }[] } } | undefined
      const text = found?.data.result[0]?.value[1]
      return text === undefined ? null : Number(text)
    },
    async stop() {
      server.kill('SIGTERM')
      await server.exited
    },
  }
}

const place = usePlace()
let prometheus: RunningPrometheus | null = null
afterEach(async () => {
  await prometheus?.stop()
  prometheus = null
})

if (hasPrometheus) {
  test('promtool finds no fault in a scrape with every metric, and Prometheus with the configuration of the docs reads it', async () => {
    // Only a server that takes tokens has the metric of persons.
    const { url, admin } = await startScraped(place, startPlainIssuer().settings)
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
  })
} else
  test('scrapes of Prometheus are not tested, because prometheus is missing', () =>
    leaveOut('CI_REQUIRES_PROMETHEUS', 'there is no prometheus'))
