import { afterEach, expect, test } from 'bun:test'
import { type Metric, metrics } from '../../src/metrics/declared.ts'
import { usePlace } from '../support/place.ts'
import { until } from '../support/process.ts'
import { hasPrometheus, promtool, type RunningPrometheus, startPrometheus } from '../support/prometheus.ts'
import { ask, scrape, startScraped } from '../support/scrape.ts'

const TIMEOUT_MS = 120_000
const place = usePlace()
let prometheus: RunningPrometheus | null = null
afterEach(async () => {
  await prometheus?.stop()
  prometheus = null
})

// CI_REQUIRES_PROMETHEUS is set where the tests of a release run, so that these cannot go missing there unnoticed.
if (hasPrometheus) {
  test(
    'promtool finds no fault in a scrape, every metric is in it, and a Prometheus as the docs set it up reads it',
    async () => {
      const { url, admin } = await startScraped(place)
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
