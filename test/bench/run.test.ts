import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { rowsFor } from '../../bench/data.ts'
import { countsIn, sharesBetween } from '../../bench/found.ts'
import { nextPathOf, requestSource } from '../../bench/load/requests.mjs'
import { BUCKET_GROWTH, percentileMs, type Round, sampleOf } from '../../bench/load.ts'
import type { Operation } from '../../bench/operation.ts'
import { formatScenario } from '../../bench/report/summary.ts'
import type { Results, ScenarioResult, TargetResult } from '../../bench/results.ts'
import { type Scenario, scenariosFor } from '../../bench/scenarios.ts'
import { runScenario } from '../../bench/suite.ts'
import { overHttp } from '../../bench/targets.ts'
import { copyCluster } from '../support/cluster.ts'
import { isAlive, postmasterOf, run, temporaryFolder } from '../support/process.ts'

const folder = temporaryFolder()
const output = join(folder.path, 'results')
const data = join(folder.path, 'data')

const getting = (path: string): Operation => ({ method: 'GET', path, status: 200 })

function bench(...args: string[]) {
  return run([process.execPath, '--no-env-file', 'bench/run.ts', '--data', data, '--output', output, ...args])
}

const ONCE_MORE = { timeout: 480_000, retry: 1 }

function resultsIn(): Results {
  const file = readdirSync(output)
    .sort()
    .findLast((name) => name.endsWith('.json'))
  return JSON.parse(readFileSync(join(output, file ?? ''), 'utf8'))
}

describe('the runner', () => {
  const small = ['--rows', '1000', '--seconds', '0.2', '--rounds', '1', '--connections', '4', '--workers', '1']

  test(
    'a bench measures the server with memory, without memory, and a constant answer, and writes the results',
    async () => {
      copyCluster(data)
      const program = bench(...small, '--seed', '7', '--no-curves', '--only', 'new-lists,names-under-creates,patch')
      expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
      const results = resultsIn()
      expect(results).toMatchObject({ seconds: 0.2, rounds: 1, connections: 4, workers: 1, seed: 7, curves: [] })
      expect(results.command).toBe(
        `npm run bench -- ${small.join(' ')} --seed 7 --no-curves --only new-lists,names-under-creates,patch`,
      )
      expect(results.rows).toEqual({ absences: 1_000, employees: 200, companies: 40 })
      expect(Object.keys(results.versions)).toEqual(expect.arrayContaining(['Roster', 'Bun', 'Node', 'PostgreSQL']))
      expect(results.scenarios.map(({ name }) => name)).toEqual(['new-lists', 'names-under-creates', 'patch'])
      for (const scenario of results.scenarios) expectMeasured(scenario, ['roster', 'no-memory', 'constant'])
      expect(program.output()).toMatch(/^ {2}requests beside the load of roster: [\d.]+ a second$/m)
      const [page = ''] = readdirSync(output).filter((name) => name.endsWith('.html'))
      expect(readFileSync(join(output, page), 'utf8')).toContain('change a random company')
      expect(program.output()).toMatch(/^ {2}roster +[\d,.]+ +[\d,.]+ – [\d,.]+( +[\d,.–]+){7}$/m)
      expect(postmasterOf(data)).toBeNull()
      // If the machine stands still for seconds, a round has no responses, and the run reports it.
    },
    ONCE_MORE,
  )

  test(
    'a bench measures a kind of list by itself and after other lists, on rows with correlated properties',
    async () => {
      const kinds = ['--only', 'kind-range', '--after', 'ids', '--lists-before', '50']
      const program = bench(...small, '--together', '--no-curves', ...kinds)
      expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
      const { rows, scenarios } = resultsIn()
      expect(rows).toMatchObject({ absences: 1_000, areTogether: true })
      for (const scenario of scenarios) expectMeasured(scenario, ['roster', 'roster-after-ids', 'no-memory', 'constant'])
      expect(program.output()).toContain('1000 absences whose properties go together')
      expect(program.output()).toMatch(/^ {2}lists of roster-after-ids: [\d.]+ % from memory; [\d.]+ % \w+/m)
    },
    ONCE_MORE,
  )

  test('a bench that is interrupted ends the PostgreSQL that it has started', async () => {
    const program = bench(...small, '--only', 'one-by-id', '--no-curves')
    await program.waitFor(/requests\/s/)
    const postmaster = postmasterOf(data) as number
    expect(isAlive(postmaster)).toBe(true)
    program.kill('SIGINT')
    expect(await program.ended).toBe(130)
    expect(isAlive(postmaster)).toBe(false)
  })

  test.each([
    [['--only', 'one-by-di'], 'Did you mean one-by-id?'],
    [['--only', 'page-20000-sorted', '--rows', '1000'], 'page-20000-sorted needs at least 400000 absences'],
    [['--only', 'kinds', '--after', 'employe'], 'there is no kind employe. Did you mean employee?'],
    [['--only', 'right-range', '--servers', '2'], 'right-range: keys of few rights are not measured with --servers'],
    [['--rows', 'many'], 'It must be an integer'],
    [['--peers', 'express'], 'there is no peer express; there are fastify, hono'],
  ])('a bench refuses the options %p with an explanation', async (args, message) => {
    const program = bench(...args)
    expect(await program.ended).toBe(2)
    expect(program.output()).toContain(message)
  })
})

function expectMeasured({ name, targets }: ScenarioResult, expected: string[]) {
  expect([name, targets.map(({ target }) => target)]).toEqual([name, expected])
  for (const { target, rounds, void: reason } of targets) {
    expect([name, target, reason]).toEqual([name, target, null])
    expect(rounds).toHaveLength(1)
    for (const sample of rounds) {
      expect(sample.requestsPerSecond).toBeGreaterThan(0)
      expect(sample.p50Ms).toBeWithin(0, sample.p99Ms + 1e-9)
      if (process.platform === 'linux') expect(sample.postgresCpuUs).not.toBeNull()
    }
  }
}

describe('a scenario', () => {
  const get = getting('/')
  const plan = { connections: 2, seconds: 0.2 }

  function listen(answer: (request: Request) => Response) {
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
    const rest = { headers: {}, pids: [process.pid], database: null, stop: () => server.stop(true) }
    return { name: 'roster', urls: [server.url.origin], ...rest }
  }

  const scenario = (operations: readonly Operation[]): Scenario => ({ name: 'one', title: 'one', operations })

  test.each([
    ['new requests', { isNew: true }, [8, 1, 8, 1]],
    ['writes in the background', { background: { operations: [], rate: 1 } }, [8, 1, 8, 1]],
    ['repeated reads only', {}, [8, 1, 0, 0.15]],
  ])('with %s has warm-up times of the expected lengths before its rounds', async (_, more, expected) => {
    const leadIns: number[] = []
    const measure = async ({ loadingSeconds, leadInSeconds }: Round) => {
      leadIns.push(loadingSeconds, leadInSeconds)
      const load = { requests: 1, seconds: 1, errors: 0, unexpected: {}, buckets: {}, kinds: {}, cpuUs: 0 }
      return { load, fault: null, besidePerSecond: null, cost: { ownUs: 0, serverUs: null, postgresUs: null, rssMb: null } }
    }
    const target = { name: 'roster', measure, restore: async () => undefined }
    await runScenario({ ...scenario([get]), ...more }, [target], { connections: 1, seconds: 1, rounds: 2 })
    expect(leadIns).toEqual(expected)
  })

  test('is void if an answer has an unexpected status, and the reason names that status', async () => {
    const target = listen(() => new Response('[]'))
    const wrong = scenario([{ ...get, status: 404 }])
    const { targets } = await runScenario(wrong, [overHttp(target, wrong, process.pid)], { ...plan, rounds: 1 })
    await target.stop()
    const [{ rounds, void: reason }] = targets as [TargetResult]
    expect(reason).toMatch(/^round 1: \d+ answers of 200 instead of 404$/)
    expect(rounds).toHaveLength(1)
    expect(formatScenario({ name: 'one', title: 'one', targets })).toMatch(/ {4}VOID: round 1: \d+ answers of 200 instead of 404/)
  })
})

test('placeholders of a request are replaced by every number of their range, and by no other', () => {
  const paths = new Set(requestSource([{ method: 'GET', path: '/Absences/{3..9}', status: 200 }], 1)(500).map(({ path }) => path))
  expect([...paths].sort()).toEqual([3, 4, 5, 6, 7, 8, 9].map((id) => `/Absences/${id}`))
})

test('a number of a placeholder with ! is sent by only one client, and again only after all other numbers', () => {
  const clients = [0, 1, 2].map((client) => requestSource([getting('/Absences/{11..310!}')], 7, client, 3)(100))
  const paths = clients.flatMap((requests) => requests.map(({ path }) => path))
  expect(new Set(paths).size).toBe(300)
  expect(paths.every((path) => Number(path.split('/')[2]) >= 11 && Number(path.split('/')[2]) <= 310)).toBe(true)
  const [again] = requestSource([getting('/Absences/{11..310!}')], 7)(301).slice(-1)
  expect(again?.path).toBe(requestSource([getting('/Absences/{11..310!}')], 7)(1)[0]?.path as string)
})

test('the option `page` selects the scenarios that docs/benchmarks.md shows, and can be combined with names of scenarios', () => {
  const names = scenariosFor(rowsFor(1_000), ['page', 'mixed']).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['one-by-id', 'new-lists', 'filter-sort', 'related', 'mixed']))
  expect(names).not.toContain('kind-range')
})

test('a placeholder of words is replaced by each of its words', () => {
  const paths = new Set(requestSource([getting('/Absences?Type={Holiday|Sickness}')], 1)(50).map(({ path }) => path))
  expect([...paths].sort()).toEqual(['/Absences?Type=Holiday', '/Absences?Type=Sickness'])
})

test('a placeholder of words can have accented letters, and nextPathOf returns the path of the link to the next page', () => {
  const draw = requestSource([{ ...getting('/Employees'), method: 'POST', body: '{"LastName":"K{ö|é}"}' }], 1)
  expect(new Set(draw(50).map(({ body }) => body))).toEqual(new Set(['{"LastName":"Kö"}', '{"LastName":"Ké"}']))
  const link = '<http://127.0.0.1:1/A?page=1&cursor=a>; rel="previous", <http://127.0.0.1:1/A?page=3&cursor=b>; rel="next"'
  expect(nextPathOf(link)).toBe('/A?page=3&cursor=b')
  expect(nextPathOf('<http://127.0.0.1:1/A>; rel="first"')).toBeNull()
  expect(nextPathOf(undefined)).toBeNull()
})

test('latencies are counted by kind of list, the CPU share of the load program is computed, and the best peers are printed', () => {
  const load = { requests: 3, seconds: 1, errors: 0, unexpected: {}, buckets: { 700: 2, 800: 1 }, cpuUs: 500_000 }
  const cost = { ownUs: 0, serverUs: 30, postgresUs: 3, rssMb: 50 }
  const sample = sampleOf({ ...load, kinds: { ids: { 700: 2 }, range: { 800: 1 } } }, cost)
  expect(Object.keys(sample.kinds ?? {})).toEqual(['ids', 'range'])
  expect(sample.kinds?.ids?.p99Ms).toBeLessThan(sample.kinds?.range?.p50Ms as number)
  expect(sample.loadCpuPercent).toBeCloseTo(50 / availableParallelism(), 5)
  const target = (name: string, factor: number) => {
    return { target: name, void: null, rounds: [{ ...sample, requestsPerSecond: factor * sample.requestsPerSecond }] }
  }
  const targets = [target('roster', 6), target('fastify', 2), target('fastify-indexed', 4)]
  const text = formatScenario({ name: 'kinds', title: 'kinds', targets })
  expect(text).toMatch(/^ {2}ids( +[\d.]+ \/ [\d.]+){3}$/m)
  expect(text).toMatch(/best peers: 3\.00 × fastify, 1\.50 × fastify-indexed$/)
})

test('the shares of lists from memory and from PostgreSQL are read from metrics, with details if there are any', () => {
  const read = (kept: number, memory: number, ways: string) =>
    countsIn(`roster_lists_total{from="kept"} ${kept}\nroster_lists_total{from="memory"} ${memory}\n\
roster_lists_total{from="database"} 1\n${ways}roster_memory_lists{way="other"} 9\n`)
  expect(sharesBetween(read(0, 0, ''), read(1, 3, ''))).toEqual({ kept: 25, memory: 75 })
  const detailed = 'roster_memory_lists_total{way="walk"} 2\nroster_database_lists_total{reason="index"} 1\n'
  expect(sharesBetween({}, read(1, 2, detailed))).toEqual({ kept: 25, walk: 50, 'database: index': 25 })
})

test('percentiles of latencies are within one percent', () => {
  const buckets: Record<number, number> = {}
  for (let us = 10; us <= 100_000; us += 10) {
    const bucket = Math.floor(Math.log(us) / Math.log(BUCKET_GROWTH))
    buckets[bucket] = (buckets[bucket] ?? 0) + 1
  }
  for (const percentile of [1, 50, 97.5, 99, 100])
    expect(percentileMs(buckets, percentile) / percentile).toBeWithin(1 / BUCKET_GROWTH, BUCKET_GROWTH)
})
