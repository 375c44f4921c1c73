import { beforeEach, expect, test } from 'bun:test'
import { count, countDelay, countRequest, gauge, readSamples, seriesOf, setGauges } from '../../src/metrics/counts.ts'
import { MetricSums, writeMetrics } from '../../src/metrics/sums.ts'

const LISTS = seriesOf('lists', 'kept')
const STREAMS = seriesOf('streams')

let sums: MetricSums
beforeEach(() => {
  sums = new MetricSums()
})

const firstOf = (name: Parameters<MetricSums['samples']>[0], labels = {}) =>
  sums.samples(name).find((sample) => Bun.deepEquals(sample.labels, labels))?.values[0]
const requests = (route: string, status: string, value: number) => ({
  labels: { route, method: 'GET', status },
  values: [value],
})

test('requests are counted by route, method and status; unknown methods share a series', () => {
  countRequest('/Teams/{id}', 'GET', 200, 'row', 3)
  countRequest('/Teams/{id}', 'GET', 200, 'row', 3)
  for (const number of [1, 2, 3]) countRequest('/Teams', `BREW${number}`, 405, 'other', 1)
  countRequest(null, 'GET', 418, 'other', 1)
  expect(readSamples().requests?.slice(-3)).toEqual([
    requests('/Teams/{id}', '200', 2),
    { labels: { route: '/Teams', method: 'other', status: '405' }, values: [3] },
    requests('none', '418', 1),
  ])
})

test('gauges are measured when samples are read, and counts are exact beyond 32 bits', () => {
  const keptLists = () => readSamples().lists?.find(({ labels }) => labels.from === 'kept')?.values[0] ?? 0
  const before = keptLists()
  setGauges(() => gauge(STREAMS, 7))
  count(LISTS, 2 ** 40)
  count(LISTS)
  expect([readSamples().streams?.[0]?.values, keptLists() - before]).toEqual([[7], 2 ** 40 + 1])
})

test('a delay is counted in its bucket of the histogram', () => {
  const delays = () => readSamples().delays?.[0]?.values.slice() ?? Array<number>(10).fill(0)
  const before = delays()
  countDelay(3)
  countDelay(30)
  const counts = delays().map((value, index) => value - (before[index] as number))
  expect([counts.slice(0, 9), counts[9]]).toEqual([[1, 0, 0, 1, 0, 0, 0, 0, 0], expect.closeTo(0.033)])
})

test('the counts of an ended process are kept, and its gauges are dropped', () => {
  const lists = (value: number) => [{ labels: { from: 'kept' }, values: [value] }]
  const streams = (value: number) => [{ labels: {}, values: [value] }]
  sums.enter(1)
  sums.note(1, { lists: lists(3), streams: streams(4), requests: [requests('/Companies', '200', 2)] })
  sums.note(1, { lists: lists(5), streams: streams(4), requests: [requests('/Companies', '200', 3)] })
  sums.leave(1)
  expect([firstOf('lists', { from: 'kept' }), firstOf('streams')]).toEqual([5, undefined])
  sums.note(1, { lists: lists(6), streams: streams(0) }) // its last message comes after its end
  sums.enter(2)
  sums.leave(2) // killed before it has sent anything
  sums.enter(3)
  sums.note(3, { lists: lists(1), streams: streams(1), requests: [requests('/Absences', '200', 1)] })
  expect([firstOf('lists', { from: 'kept' }), firstOf('streams')]).toEqual([7, 1])
  expect(sums.samples('requests')).toEqual([requests('/Absences', '200', 1)])
})

test('a metric shows the greatest value of all workers, or the value of each running worker by its number', () => {
  const delays = (value: number) => [{ labels: {}, values: [value, 0, 0, 0, 0, 0, 0, 0, 0, 0] }]
  for (const process of [7, 8]) {
    sums.enter(process)
    sums.note(process, { limiterKeys: [{ labels: {}, values: [10 - process] }], delays: delays(process) })
  }
  expect(firstOf('limiterKeys')).toBe(3)
  sums.leave(7)
  sums.enter(9)
  sums.note(9, { delays: delays(2) })
  expect([sums.numberOf(8), sums.numberOf(9)]).toEqual([2, 1])
  expect(sums.samples('delays').map(({ labels, values }) => [labels.worker, values[0]])).toEqual([
    ['1', 9],
    ['2', 8],
  ])
})

test('in the text for Prometheus, each bucket of a histogram includes the counts of all smaller buckets', () => {
  const samples = [{ labels: { worker: 'a "b"\\\n' }, values: [1, 0, 2, 0, 0, 0, 0, 0, 4, 9.5] }]
  const lines = writeMetrics((name) => (name === 'delays' ? samples : [])).split('\n')
  const label = 'worker="a \\"b\\"\\\\\\n"'
  expect(lines.slice(1, 5)).toEqual([
    '# TYPE roster_event_loop_delay_seconds histogram',
    `roster_event_loop_delay_seconds_bucket{${label},le="0.005"} 1`,
    `roster_event_loop_delay_seconds_bucket{${label},le="0.01"} 1`,
    `roster_event_loop_delay_seconds_bucket{${label},le="0.025"} 3`,
  ])
  expect(lines.slice(-4)).toEqual([
    `roster_event_loop_delay_seconds_bucket{${label},le="+Inf"} 7`,
    `roster_event_loop_delay_seconds_sum{${label}} 9.5`,
    `roster_event_loop_delay_seconds_count{${label}} 7`,
    '',
  ])
})
