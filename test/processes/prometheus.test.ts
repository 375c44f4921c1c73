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

interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

interface RunningPrometheus {
  /** Returns the first current value of an expression; null if there is none. */
  ask(expression: string): Promise<number | null>
  /** Returns the labels of each series of an expression. */
  labelsOf(expression: string): Promise<Readonly<Record<string, string>>[]>
  stop(): Promise<void>
}

const DOCS = join(import.meta.dir, '../../docs')
const readDocs = (file: string) => readFileSync(join(DOCS, file), 'utf8')
/** The two lines of a configuration that name one server. */
const ONE_SERVER = / {4}static_configs:\n.*\n/

/**
 * Starts a Prometheus with the configuration in docs/monitoring/, except targets and interval. `ofTenants`: the target is that of the
 * tenant in docs/scaling.md, by files of targets as there.
 */
async function startPrometheus(target: string, ofTenants = false): Promise<RunningPrometheus> {
  const { path: folder } = temporaryFolder()
  const port = freePort()
  const file = join(folder, 'prometheus.yml')
  let shown = readDocs('monitoring/prometheus.yml')
  if (ofTenants) {
    const page = readDocs('scaling.md')
    const [, targets = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) as RegExpExecArray
    writeFileSync(join(folder, 'acme.yml'), targets.replace(/127\.0\.0\.1:\d+/, target))
    const [, named = ''] = /`(file_sd_configs: [^`]+)`/.exec(page) as RegExpExecArray
    shown = shown.replace(ONE_SERVER, `    ${named.replace('/etc/roster/targets', folder).replace('*.yml', 'acme.yml')}\n`)
  }
  writeFileSync(
    file,
    shown
      .replace('127.0.0.1:9464', target)
      .replace('scrape_interval: 15s', 'scrape_interval: 1s')
      .replace('alerts.yml', join(DOCS, 'monitoring/alerts.yml')),
  )
  execFileSync('promtool', ['check', 'config', file], { stdio: 'pipe' })
  const options = [`--config.file=${file}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=127.0.0.1:${port}`]
  const server = Bun.spawn(['prometheus', ...options, '--log.level=error'], { stdout: 'ignore', stderr: 'inherit' })
  const ask = async (path: string) => {
    if (server.exitCode !== null) throw new Error(`prometheus ended with ${server.exitCode}`)
    return fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
  }
  await until(async () => (await ask('/-/ready'))?.status === 200)
  const seriesOf = async (expression: string) => {
    const answer = await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)
    const found = (await answer?.json()) as { data: { result: Series[] } } | undefined
    return found?.data.result ?? []
  }
  return {
    async ask(expression) {
      const [first] = await seriesOf(expression)
      return first === undefined ? null : Number(first.value[1])
    },
    labelsOf: async (expression) => (await seriesOf(expression)).map(({ metric }) => metric),
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
  test('promtool finds no fault in the metrics, and Prometheus reads them with the configurations in the docs', async () => {
    // Only a server that accepts tokens has the metric of persons.
    const { url, admin } = await startScraped(place, startPlainIssuer().settings)
    await ask(url, '/nowhere"\\')
    for (let n = 0; n < 7; n++) await ask(url, '/Companies')
    const text = await scrape(admin)
    expect(promtool(['check', 'metrics'], text)).toBe('')
    const declared = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string)
    expect(declared.sort()).toEqual(
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

    // The same server as one of many tenants, of which the page of tenants has a line.
    await prometheus.stop()
    prometheus = await startPrometheus(new URL(admin).host, true)
    const { labelsOf } = prometheus
    await until(async () => (await labelsOf('rate(roster_http_requests_total[1m])')).length > 0)
    const { panels } = JSON.parse(readDocs('monitoring/tenants.json')) as { panels: { targets: { expr: string }[] }[] }
    const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m')))
    const found = await Promise.all(asked.map(async (expression) => [expression, await labelsOf(expression)] as const))
    // These have no value as long as no answer was 5xx and PostgreSQL has answered no list.
    const empty = found.filter(([, series]) => series.length === 0).map(([expression]) => expression)
    expect(empty.filter((expression) => !/status=~"5|from="database"/.test(expression))).toEqual([])
    const labels = new Set(found.flatMap(([, series]) => series.map((own) => JSON.stringify(own))))
    expect([...labels]).toEqual(['{"instance":"acme"}'])
    expect(await labelsOf('up')).toMatchObject([{ job: 'roster', instance: 'acme', tenant: 'acme' }])
  })
} else
  test('scrapes of Prometheus are not tested, because prometheus is missing', () =>
    leaveOut('CI_REQUIRES_PROMETHEUS', 'there is no prometheus'))
