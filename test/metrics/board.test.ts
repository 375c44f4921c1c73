import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MetricBoard } from '../../src/metrics/board.ts'
import { cellOf, count, countDelay, countRequest, gauge, shareCounts } from '../../src/metrics/counts.ts'
import { writeMetrics } from '../../src/metrics/exposition.ts'
import { countIn } from '../../src/processes/gauges.ts'

const ROUTES = ['/Companies', '/Companies/{id}']
const LISTS = cellOf('lists', 'page')
const STREAMS = cellOf('streams')
const AGE = cellOf('columnAge')

let folder: string
let board: MetricBoard
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roster-metrics-'))
  board = new MetricBoard(folder, 1, ROUTES)
})
afterEach(() => {
  board.close()
  rmSync(folder, { recursive: true, force: true })
})

const firstOf = (name: Parameters<MetricBoard['samples']>[0], labels = {}) =>
  board.samples(name).find((sample) => Bun.deepEquals(sample.labels, labels))?.values[0]

test('what processes have counted is summed, by route, method and status', () => {
  for (const process of [1, 2]) {
    shareCounts(board.enter(process))
    countRequest('/Companies/{id}', 'GET', 200, 'row', 3)
  }
  countRequest('/Companies/{id}', 'GET', 404, 'row', 3)
  expect(board.samples('requests')).toEqual([
    { labels: { route: '/Companies/{id}', method: 'GET', status: '200' }, values: [2] },
    { labels: { route: '/Companies/{id}', method: 'GET', status: '404' }, values: [1] },
  ])
})

test('routes, methods and statuses that are not known share a series, however many there are', () => {
  shareCounts(board.enter(1))
  for (const number of [1, 2, 3]) {
    countRequest(`/X${number}`, `BREW${number}`, 418 + number, 'other', 1)
    countRequest(null, 'GET', 200, 'other', 1)
  }
  expect(board.samples('requests').map(({ labels, values }) => [...Object.values(labels), ...values])).toEqual([
    ['none', 'GET', '200', 3],
    ['own', 'other', 'other', 3],
  ])
})

test('of a process that has ended, what it has counted stays, and what it had does not', () => {
  shareCounts(board.enter(1))
  count(LISTS, 5)
  gauge(STREAMS, 4)
  board.leave(1)
  expect([firstOf('lists', { from: 'page' }), firstOf('streams')]).toEqual([5, 0])
  shareCounts(board.enter(2))
  count(LISTS)
  gauge(STREAMS, 1)
  expect([firstOf('lists', { from: 'page' }), firstOf('streams')]).toEqual([6, 1])
})

test('a process beyond the room there is counts for itself', () => {
  const parts = Array.from({ length: 5 }, (_, process) => board.enter(process))
  expect(parts.map((access) => access?.part)).toEqual([0, 1, 2, 3, undefined])
  expect([board.numberOf(3), board.numberOf(4)]).toEqual([4, null])
  shareCounts(parts[0] ?? null)
  // What is null leaves the counts where they were, as in a process that has just begun.
  shareCounts(null)
  count(LISTS)
  expect(firstOf('lists', { from: 'page' })).toBe(1)
})

test('a process of another version, whose cells mean something else, does not count here', () => {
  const access = board.enter(1)
  if (access === null) throw new Error('there is room')
  const lines: string[] = []
  const log = { warn: (line: string) => void lines.push(line) }
  countIn({ ...access, format: 'another' }, log)
  expect(lines).toEqual(['requests of this worker are in no metric: the supervisor is of another version'])
  count(LISTS)
  expect(firstOf('lists', { from: 'page' })).toBe(0)
})

test('the greatest value, and each worker’s own', () => {
  shareCounts(board.enter(1))
  gauge(AGE, 7)
  countDelay(3)
  shareCounts(board.enter(2))
  gauge(AGE, 2)
  expect(firstOf('columnAge')).toBe(7)
  expect(board.samples('delays').map(({ labels, values }) => [labels.worker, values[0]])).toEqual([
    ['1', 1],
    ['2', 0],
  ])
})

test('the text of a histogram: each bucket has all that is below it', () => {
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

test('counts are exact beyond 32 bits', () => {
  shareCounts(board.enter(1))
  count(LISTS, 2 ** 40)
  count(LISTS)
  expect(firstOf('lists', { from: 'page' })).toBe(2 ** 40 + 1)
})
