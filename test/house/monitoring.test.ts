import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { metrics } from '../../src/metrics/declared.ts'
import type { Metric } from '../../src/metrics/metric.ts'
import { hasPrometheus, promtool } from '../support/prometheus.ts'

const FOLDER = join(import.meta.dir, '../../docs/monitoring')
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8')
const all: Metric[] = Object.values(metrics)

/** What queries of a metric name: a histogram has three series. */
const series = new Set(
  all.flatMap(({ name, type }) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  ),
)
const labels = new Set([
  ...all.flatMap((metric) => Object.keys(metric.labels)),
  // Of Prometheus itself, and of what the workers have apart.
  ...['le', 'job', 'instance', 'worker'],
])

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

const panels = () => (JSON.parse(read('dashboard.json')) as { panels: Panel[] }).panels
const queries = () => panels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const rules = () => (Bun.YAML.parse(read('alerts.yml')) as { groups: { rules: Record<string, string>[] }[] }).groups
const alerts = () => rules().flatMap(({ rules: own }) => own.map(({ expr = '' }) => expr))

test('the page has every metric, with its type, labels and help', () => {
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

for (const [what, expressions] of [
  ['dashboard', queries],
  ['alerts', alerts],
] as const)
  describe(`the ${what}`, () => {
    test('name metrics that there are', () => {
      const named = expressions().flatMap((text) => text.match(/\broster_\w+/g) ?? [])
      expect(named.length).toBeGreaterThan(10)
      expect(named.filter((name) => !series.has(name))).toEqual([])
    })

    test('name labels that there are', () => {
      const named = expressions().flatMap((text) => [
        ...[...text.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
        ...[...text.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
      ])
      expect(named.length).toBeGreaterThan(5)
      expect(named.filter((label) => !labels.has(label))).toEqual([])
    })
  })

test('the dashboard shows each metric but those that others explain', () => {
  const shown = queries().join(' ')
  const missing = all.filter(({ name }) => !shown.includes(name)).map(({ name }) => name)
  expect(missing).toEqual([])
})

// CI_REQUIRES_PROMETHEUS is set where the tests of a release run, so that these cannot go missing there unnoticed.
if (hasPrometheus)
  describe('promtool', () => {
    test('finds no fault in the alerts', () => {
      expect(promtool(['check', 'rules', join(FOLDER, 'alerts.yml')])).toBe('')
    })

    test('finds no fault in what the dashboard asks', () => {
      const folder = mkdtempSync(join(tmpdir(), 'roster-promtool-'))
      const file = join(folder, 'rules.yml')
      const own = queries().map((expr, index) => ({
        record: `panel_${index}`,
        expr: expr.replaceAll('$__rate_interval', '1m'),
      }))
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: own }] }))
      expect(promtool(['check', 'rules', file])).toBe('')
      rmSync(folder, { recursive: true })
    })
  })
else
  test('without promtool its faults are not found', () => {
    if (process.env.CI_REQUIRES_PROMETHEUS) throw new Error('prometheus is not installed')
  })
