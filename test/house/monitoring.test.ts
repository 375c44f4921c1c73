import { describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Metric, metrics } from '../../src/metrics/declared.ts'
import { leaveOut, temporaryFolder } from '../support/process.ts'
import { hasPrometheus, promtool } from '../support/prometheus.ts'

const FOLDER = join(import.meta.dir, '../../docs/monitoring')
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8')
const all: Metric[] = Object.values(metrics)

/** What queries of a metric name: a histogram has three series. */
const series = new Set(
  all.flatMap(({ name, type }) => (type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name])),
)
const labels = new Set([
  ...all.flatMap((metric) => Object.keys(metric.labels)),
  // Of Prometheus itself, and of what the workers have apart.
  ...['le', 'job', 'instance', 'tenant', 'worker'],
])

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

const queriesOf = (file: string) =>
  (JSON.parse(read(file)) as { panels: Panel[] }).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const queries = () => queriesOf('dashboard.json')
const queriesOfTenants = () => queriesOf('tenants.json')
const rules = () => (Bun.YAML.parse(read('alerts.yml')) as { groups: { rules: Record<string, string>[] }[] }).groups
const alerts = () => rules().flatMap(({ rules: own }) => own.map(({ expr = '' }) => expr))

test('docs/monitoring/README.md has every metric, with its type, labels and help', () => {
  const page = read('README.md')
  const rows = all.map(({ name, type, labels: own, from, help }) => {
    const names = [...Object.keys(own), ...(from === 'each' ? ['worker'] : [])]
    return `| \`${name}\` | ${type} | ${names.map((label) => `\`${label}\``).join(', ')} | ${help} |`
  })
  const table = ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows, ''].join('\n')
  const part = /^\| metric \|.*\n(?:\|.*\n)*/m
  // As `npm run write:settings` does it.
  if (process.env.WRITE_SETTINGS === '1')
    writeFileSync(
      join(FOLDER, 'README.md'),
      page.replace(part, () => table),
    )
  expect(part.exec(read('README.md'))?.[0]).toBe(table)
})

test.each([
  ['dashboard', queries],
  ['dashboard of tenants', queriesOfTenants],
  ['alerts', alerts],
] as const)('every metric and label that is named in the %s exists', (_, expressions) => {
  const named = expressions().flatMap((text) => text.match(/\broster_\w+/g) ?? [])
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !series.has(name))).toEqual([])
  const namedLabels = expressions().flatMap((text) => [
    ...[...text.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    ...[...text.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
  ])
  expect(namedLabels.length).toBeGreaterThan(5)
  expect(namedLabels.filter((label) => !labels.has(label))).toEqual([])
})

test('the dashboard shows each metric', () => {
  const shown = queries().join(' ')
  const missing = all.filter(({ name }) => !shown.includes(name)).map(({ name }) => name)
  expect(missing).toEqual([])
})

/** For each alert, series of a server that is in such trouble, from one minute to the next. */
const TROUBLES: Readonly<Record<string, readonly (readonly [series: string, values: string])[]>> = {
  RosterDown: [['up{job="roster",instance="a"}', '0x30']],
  RosterWorkersMissing: [
    ['roster_workers{instance="a"}', '1x30'],
    ['roster_workers_wanted{instance="a"}', '2x30'],
  ],
  RosterWorkersEnd: [['roster_worker_replacements_total{instance="a"}', '0+1x30']],
  RosterFails: [
    ['roster_http_requests_total{instance="a",route="/Companies",method="GET",status="200"}', '0+100x30'],
    ['roster_http_requests_total{instance="a",route="/Companies",method="POST",status="503"}', '0+10x30'],
  ],
  RosterSlow: [
    ['roster_http_request_duration_seconds_bucket{instance="a",kind="row",le="0.5"}', '0+50x30'],
    ['roster_http_request_duration_seconds_bucket{instance="a",kind="row",le="1"}', '0+100x30'],
    ['roster_http_request_duration_seconds_bucket{instance="a",kind="row",le="+Inf"}', '0+100x30'],
  ],
  RosterEventLoopBlocked: [
    ['roster_event_loop_delay_seconds_bucket{instance="a",worker="1",le="0.25"}', '0+50x30'],
    ['roster_event_loop_delay_seconds_bucket{instance="a",worker="1",le="0.5"}', '0+100x30'],
    ['roster_event_loop_delay_seconds_bucket{instance="a",worker="1",le="+Inf"}', '0+100x30'],
  ],
  RosterDatabaseFails: [['roster_database_failures_total{instance="a",kind="write"}', '0+120x30']],
  RosterPoolFull: [
    ['roster_database_statements_sent{instance="a",pool="rows"}', '9x30'],
    ['roster_database_connections_max{instance="a",pool="rows"}', '6x30'],
  ],
  RosterDescriptorsShort: [
    ['roster_process_open_fds{instance="a",process="worker-1"}', '950x30'],
    ['roster_process_max_fds{instance="a"}', '1000x30'],
  ],
  RosterLimiterFull: [['roster_limiter_overflowed_total{instance="a"}', '0+5x30']],
  RosterHookParked: [['roster_hooks{job="roster",instance="a",state="parked"}', '1x30']],
  RosterHookLate: [['roster_hook_lag_seconds{job="roster",instance="a"}', '1000x30']],
}

/** A group of promtool: at its end these alerts fire, and no other. */
function firing(series: readonly (readonly [string, string])[], names: readonly string[]) {
  const samples = names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 }))
  return {
    interval: '1m',
    input_series: series.map(([own, values]) => ({ series: own, values })),
    promql_expr_test: [{ expr: 'max by (alertname) (ALERTS{alertstate="firing"})', eval_time: '29m', exp_samples: samples }],
  }
}

/** As the troubles, of a server that has none. */
const WELL: readonly (readonly [string, string])[] = [
  ['up{job="roster",instance="a"}', '1x30'],
  ['roster_workers{instance="a"}', '2x30'],
  ['roster_workers_wanted{instance="a"}', '2x30'],
  ['roster_worker_replacements_total{instance="a"}', '3x30'],
  ['roster_http_requests_total{instance="a",route="/Companies",method="GET",status="200"}', '0+100x30'],
  ['roster_http_requests_total{instance="a",route="/readyz",method="GET",status="503"}', '0+10x30'],
  ['roster_http_request_duration_seconds_bucket{instance="a",kind="row",le="0.5"}', '0+100x30'],
  ['roster_http_request_duration_seconds_bucket{instance="a",kind="row",le="+Inf"}', '0+100x30'],
  ['roster_event_loop_delay_seconds_bucket{instance="a",worker="1",le="0.25"}', '0+100x30'],
  ['roster_event_loop_delay_seconds_bucket{instance="a",worker="1",le="+Inf"}', '0+100x30'],
  ['roster_database_failures_total{instance="a",kind="write"}', '0+1x30'],
  ['roster_database_statements_sent{instance="a",pool="rows"}', '6x30'],
  ['roster_hooks{job="roster",instance="a",state="active"}', '2x30'],
  ['roster_hooks{job="roster",instance="a",state="parked"}', '0x30'],
  ['roster_hook_lag_seconds{job="roster",instance="a"}', '20x30'],
  ['roster_database_connections_max{instance="a",pool="rows"}', '6x30'],
  ['roster_process_open_fds{instance="a",process="worker-1"}', '100x30'],
  ['roster_process_max_fds{instance="a"}', '1000x30'],
  ['roster_limiter_overflowed_total{instance="a"}', '5x30'],
]

if (hasPrometheus)
  describe('promtool', () => {
    const folder = temporaryFolder()
    const written = (name: string, content: unknown) => {
      const file = join(folder.path, name)
      writeFileSync(file, JSON.stringify(content))
      return file
    }

    test('finds no fault in the queries of the dashboards', () => {
      const own = [...queries(), ...queriesOfTenants()].map((expr, index) => ({
        record: `panel_${index}`,
        expr: expr.replaceAll('$__rate_interval', '1m'),
      }))
      expect(promtool(['check', 'rules', written('rules.json', { groups: [{ name: 'dashboard', rules: own }] })])).toBe('')
    })

    test('finds no fault in the alerts: in each trouble only its own alert fires, and none fires if all is well', () => {
      const file = join(FOLDER, 'alerts.yml')
      expect(promtool(['check', 'rules', file])).toBe('')
      const names = rules().flatMap(({ rules: own }) => own.map(({ alert = '' }) => alert))
      expect(Object.keys(TROUBLES)).toEqual(names)
      const groups = Object.entries(TROUBLES).map(([name, series]) => firing(series, [name]))
      const tests = { rule_files: [file], evaluation_interval: '1m', tests: [...groups, firing(WELL, [])] }
      expect(promtool(['test', 'rules', written('tests.json', tests)])).toBe('')
    })
  })
else
  test('the queries and alerts are not checked, because promtool is missing', () =>
    leaveOut('CI_REQUIRES_PROMETHEUS', 'there is no prometheus'))
