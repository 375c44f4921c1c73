import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startConstant } from '../../bench/floors/servers.ts'
import { followLinks } from '../../bench/links.ts'
import type { Operation } from '../../bench/operation.ts'
import { ratiosAmong } from '../../bench/report/ratios.ts'
import type { Results, ScenarioResult, TargetResult } from '../../bench/results.ts'
import { runScenario, seedOf } from '../../bench/suite.ts'
import { formatHead, formatScenario } from '../../bench/table.ts'
import { overHttp, type Target } from '../../bench/targets.ts'
import { copyCluster } from '../support/cluster.ts'
import { isAlive, postmasterOf, run, temporaryFolder } from '../support/process.ts'

const RATIOS = ratiosAmong(['roster', 'no-cache', 'constant', 'bare', 'uncounted', 'pgbench'])
const folder = temporaryFolder()
const output = join(folder.path, 'results')
const data = join(folder.path, 'data')

afterAll(() => folder.remove())

function bench(...args: string[]) {
  return run([process.execPath, '--no-env-file', 'bench/run.ts', '--data', data, '--output', output, ...args])
}

const ONCE_MORE = { timeout: 180_000, retry: 1 }

describe('the runner', () => {
  test(
    'measures the server with the list cache and without, and its floors, on a real database, and writes what it has measured',
    async () => {
      copyCluster(data)
      const load = ['--seconds', '0.2', '--rounds', '1', '--connections', '4', '--workers', '1']
      const small = ['--seed', '7', '--rows', '1000', ...load]
      const program = bench(...small, '--no-curves', '--only', 'new-lists,patch,refused')
      expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
      const json =
        readdirSync(output)
          .sort()
          .findLast((name) => name.endsWith('.json')) ?? ''
      const results = JSON.parse(readFileSync(join(output, json), 'utf8')) as Results
      expect(results).toMatchObject({ seconds: 0.2, rounds: 1, connections: 4, workers: 1, seed: 7, curves: [] })
      expect(results.rows).toEqual({ absences: 1_000, employees: 200, companies: 100 })
      expect(results.command).toContain('npm run bench -- --data')
      expect(Object.keys(results.versions)).toEqual(expect.arrayContaining(['Roster', 'Bun', 'Node', 'PostgreSQL']))
      expect(results.scenarios.map(({ name }) => name)).toEqual(['new-lists', 'patch', 'refused'])
      for (const scenario of results.scenarios) expectMeasured(scenario)
      expectRatios(results)
      expectColumns(results)
      expect(readFileSync(join(output, json.replace('.json', '.html')), 'utf8')).toContain('change a random company')
      expect(program.output()).toMatch(/req\/s .* \/constant .* \/bare .* CPU \/bare/)
      expect(program.output()).toContain('log level warn, seed 7\n')
      // Requests/s, least and most, three latencies, two of CPU, memory, and the ratios to the others.
      expect(program.output()).toMatch(
        /^ {2}roster +[\d,]+ +[\d,]+\.\.[\d,]+( +[\d.]+){3}( +[\d.,]+){3}( +[\d.-]+){9}$/m,
      )
      expect(postmasterOf(data)).toBeNull()
      // Where the machine stands still for seconds, a round has no answer, and the run says so.
    },
    ONCE_MORE,
  )

  test('ends all that it has started when it is interrupted', async () => {
    const small = ['--rows', '1000', '--seconds', '0.1', '--workers', '1']
    const program = bench(...small, '--only', 'one-by-id', '--no-curves', '--no-columns')
    const [, port] = await program.waitFor(/http:\/\/127\.0\.0\.1:(\d+)/)
    const postmaster = postmasterOf(data) as number
    expect(isAlive(postmaster)).toBe(true)
    await program.waitFor(/CPU \/bare/)
    program.kill('SIGINT')
    expect(await program.ended).toBe(130)
    expect(isAlive(postmaster)).toBe(false)
    await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow()
  }, 180_000)

  test('serves the rows until it is interrupted, and prints command lines that reach them', async () => {
    const program = bench('--serve', '--rows', '1000', '--workers', '1', '--connections', '8', '--seconds', '2')
    await program.waitFor(/Ctrl-C/)
    const lines = program.output()
    const [, name = '', value = '', url = ''] = /^curl -i -H '(\w+): ([^']+)' '([^']+)'$/m.exec(lines) ?? []
    const answer = await fetch(url, { headers: { [name]: value } })
    expect(answer.status).toBe(200)
    expect(Number(answer.headers.get('X-Total-Count'))).toBeWithin(500, 1_000)
    expect((await fetch(url)).status).toBe(401)
    const tail = `-H '${name}: ${value}' '${url}'\n`
    expect(lines).toContain(`\nwrk -t 1 -c 8 -d 2s --latency ${tail}`)
    expect(lines).toContain(`\noha -c 8 -z 2s ${tail}`)
    const [, script = ''] = /\nk6 run --vus 8 --duration 2s - <<'END'\n([\s\S]*?)\nEND\n/.exec(lines) ?? []
    expect(new Bun.Transpiler().scanImports(script).map(({ path }) => path)).toEqual(['k6', 'k6/http'])
    for (const part of [url, name, value]) expect(script).toContain(part)
    const postmaster = postmasterOf(data) as number
    program.kill('SIGINT')
    expect(await program.ended).toBe(130)
    expect(isAlive(postmaster)).toBe(false)
    await expect(fetch(url)).rejects.toThrow()
  }, 180_000)

  test.each([
    [['--only', 'one-by-di'], 'Did you mean one-by-id?'],
    [['--only', 'page-2000', '--rows', '1000'], 'page-2000 needs at least 40000 absences'],
    [['--rows', 'many'], 'It must be an integer'],
    [['--seconds', '0'], 'It must be a number from 0.1'],
    [['--peers', 'express'], 'there is no peer express; there are fastify, hono'],
    [['--fast'], "unknown option '--fast'"],
  ])('%p is wrong usage, and says why', async (args, message) => {
    const program = bench(...args)
    expect(await program.ended).toBe(2)
    expect(program.output()).toContain(message)
  })
})

function expectMeasured({ name, targets }: ScenarioResult) {
  const names = targets.map(({ target }) => target)
  const common = name === 'refused' ? ['roster', 'constant'] : ['roster', 'no-cache', 'constant', 'bare']
  expect(names.slice(0, common.length)).toEqual(common)
  expect(names.includes('uncounted')).toBe(name === 'new-lists')
  expect(names.length).toBe(common.length + (name === 'refused' ? 0 : name === 'new-lists' ? 2 : 1))
  for (const { target, rounds, void: reason } of targets) {
    expect([name, target, reason]).toEqual([name, target, null])
    expect(rounds).toHaveLength(1)
    for (const sample of rounds) {
      expect(sample).toMatchObject({ errors: 0, unexpected: 0 })
      expect(sample.requestsPerSecond).toBeGreaterThan(0)
      expect(sample.p50Ms).toBeWithin(0, sample.p97_5Ms + 1e-9)
      expect(sample.p97_5Ms).toBeWithin(0, sample.p99Ms + 1e-9)
      expect(sample.latency.length).toBeGreaterThan(0)
      if (process.platform === 'linux') expect(sample.postgresCpuUs).not.toBeNull()
    }
  }
}

/** What absences in columns cost. */
function expectColumns({ columns = [] }: Results) {
  expect(columns).toHaveLength(1)
  for (const { listensMs, firstListMs, loadMs, mb, with: withColumns, without } of columns) {
    expect(listensMs).toBeGreaterThan(0)
    expect(firstListMs).toBeGreaterThan(listensMs + loadMs / 2)
    expect(mb).toBeGreaterThan(0)
    for (const { writesPerSecond } of [withColumns, without]) expect(writesPerSecond).toBeGreaterThan(0)
  }
}

/** The file has the ratios of what stands in it. */
function expectRatios({ scenarios }: Results) {
  const rates = (scenario: ScenarioResult) =>
    Object.fromEntries(scenario.targets.map(({ target, rounds }) => [target, rounds[0]?.requestsPerSecond ?? 0]))
  for (const scenario of scenarios as (ScenarioResult & { ratios: Record<string, number> })[]) {
    const { roster = 0, constant = 0, 'no-cache': noCache } = rates(scenario)
    expect(scenario.ratios['× constant']).toBeCloseTo(roster / constant, 6)
    if (noCache === undefined) expect(scenario.ratios).not.toHaveProperty('× no-cache')
    else expect(scenario.ratios['× no-cache']).toBeCloseTo(roster / noCache, 6)
  }
}

describe('a scenario', () => {
  const get: Operation = { method: 'GET', path: '/', status: 200 }
  const stay = async () => undefined
  const plan = { connections: 2, seconds: 0.2, restore: stay, forget: stay }

  function listen(answer: (request: Request) => Response) {
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
    const target = { url: server.url.origin, headers: {}, pids: () => [process.pid], stop: () => server.stop(true) }
    return (name: string) => ({ ...target, name })
  }

  const scenario = (operations: readonly Operation[]) => ({ name: 'one', title: 'one', operations })

  test('is void where an answer has another status, and says which', async () => {
    const target = listen(() => new Response('[]'))('roster')
    const wrong = scenario([{ ...get, status: 404 }])
    const { targets } = await runScenario(wrong, [overHttp(target, wrong, process.pid)], { ...plan, rounds: 1 })
    await target.stop()
    const [{ rounds, void: reason }] = targets as [TargetResult]
    expect(reason).toBe(`round 1: ${rounds[0]?.unexpected} answers of 200 instead of 404`)
    expect(rounds[0]?.unexpected).toBeGreaterThan(0)
    expect(tableOf(targets)).toMatch(/ {4}VOID: round 1: \d+ answers of 200 instead of 404/)
  })

  test('goes on where a target cannot be measured', async () => {
    const broken: Target = {
      name: 'bare',
      isStored: true,
      measure: () => Promise.reject(new Error('it broke')),
      stop: stay,
    }
    const target = listen(() => new Response('[]'))('roster')
    const one = scenario([get])
    const result = await runScenario(one, [broken, overHttp(target, one, process.pid)], { ...plan, rounds: 1 })
    await target.stop()
    expect(result.targets.map((target) => [target.target, target.rounds.length, target.void])).toEqual([
      ['bare', 0, 'round 1: it broke'],
      ['roster', 1, null],
    ])
  })

  test('has other random values in each round, in each run of another seed, and than any other scenario', async () => {
    const seeds: number[] = []
    const measure = async ({ seed }: { seed: number }) => {
      seeds.push(seed)
      throw new Error('unmeasured')
    }
    const targets = ['a', 'b'].map((name): Target => ({ name, isStored: true, measure, stop: stay }))
    for (const [name, seed] of [
      ['one', 7],
      ['one', 8],
      ['other', 7],
    ] as const)
      await runScenario({ ...scenario([get]), name }, targets, { ...plan, rounds: 2, seed })
    const [rounds, again] = [seeds.filter((_, index) => index % 2 === 0), seeds.filter((_, index) => index % 2 === 1)]
    expect(again).toEqual(rounds)
    expect(new Set(rounds).size).toBe(6)
    expect(rounds[0]).toBe(seedOf(7, 'one', 1))
  })

  test('of new lists has a lead-in in each round in which a table can be read, and code be compiled again', async () => {
    const leads: number[] = []
    const measure = async ({ leadInSeconds }: { leadInSeconds: number }) => {
      leads.push(leadInSeconds)
      throw new Error('unmeasured')
    }
    const target: Target = { name: 'a', isStored: true, measure, stop: stay }
    for (const isNew of [false, true])
      await runScenario({ ...scenario([get]), isNew }, [target], { ...plan, seconds: 4, rounds: 2 })
    expect(leads).toEqual([1, 0.15, 6, 6])
  })

  test('is measured in turns, and set back where a target has written', async () => {
    const order: string[] = []
    const target = (name: string, isStored: boolean, isIndexed = false): Target => {
      const measure = async () => {
        order.push(name)
        throw new Error('unmeasured')
      }
      return { name, isStored, isIndexed, measure, stop: stay }
    }
    const restore = async ({ isIndexed }: Pick<Target, 'isIndexed'>) =>
      void order.push(isIndexed ? 'restore indexed' : 'restore')
    const targets = [target('a', true), target('b', false), target('c', true, true)]
    await runScenario(scenario([get]), targets, { ...plan, rounds: 3, restore })
    expect(order.join(' ')).toBe('a b c c b a a b c')
    order.length = 0
    const create: Operation = { method: 'POST', path: '/Companies', body: '{}', status: 201 }
    await runScenario(scenario([create]), targets, { ...plan, rounds: 1, restore })
    expect(order.join(' ')).toBe('a restore b c restore indexed')
  })

  test('begins each round without what was learned before, where it is to be cold', async () => {
    const order: string[] = []
    const measure = async () => {
      order.push('round')
      throw new Error('unmeasured')
    }
    const forget = async () => void order.push('forget')
    const target: Target = { name: 'a', isStored: true, measure, stop: stay }
    await runScenario({ ...scenario([get]), isCold: true }, [target], { ...plan, rounds: 2, forget })
    expect(order).toEqual(['forget', 'round', 'forget', 'round'])
    order.length = 0
    await runScenario(scenario([get]), [target], { ...plan, rounds: 2, forget })
    expect(order).toEqual(['round', 'round'])
  })

  test('asks once for what has to be in memory, before each round', async () => {
    const asked: string[] = []
    const target = listen((request) => {
      asked.push(new URL(request.url).pathname)
      return new Response('[]')
    })('roster')
    const prepare = Array.from({ length: 100 }, (_, index) => `/lists/${index}`)
    const one = { ...scenario([get]), prepare }
    await runScenario(one, [overHttp(target, one, process.pid)], { ...plan, rounds: 2 })
    await target.stop()
    expect(asked.slice(0, 100).sort()).toEqual(prepare.toSorted())
    expect(asked.filter((path) => path !== '/').sort()).toEqual([...prepare, ...prepare].sort())
    expect(asked.filter((path) => path === '/').length).toBeGreaterThan(2)
  })

  test('asks for what is behind a link that only the server can write', async () => {
    const link =
      '<http://127.0.0.1:1/Absences?page=3&cursor=abc>; rel="next", <http://127.0.0.1:1/Absences>; rel="last"'
    const target = listen(({ url }) => new Response('[]', { headers: url.includes('page=2') ? { Link: link } : {} }))(
      'a',
    )
    const linked = (path: string) => followLinks(target, scenario([get, { ...get, path, link: 'next' }]))
    const { operations } = await linked('/Absences?page=2')
    await expect(linked('/Absences?page=9')).rejects.toThrow(
      'GET /Absences?page=9 is answered 200 without a link to the next page',
    )
    await target.stop()
    expect(operations).toEqual([get, { ...get, path: '/Absences?page=3&cursor=abc' }])
  })

  test('the constant floor answers as the server has, each operation with its own', async () => {
    const answer = ({ method, url }: Request) =>
      new Response(`"${method} ${new URL(url).pathname}"`, { status: method === 'POST' ? 201 : 200 })
    const target = listen(answer)('roster')
    const create: Operation = { method: 'POST', path: '/Companies', body: '{}', status: 201 }
    const constant = await startConstant(target, [{ ...get, path: '/Companies/{7..9}' }, create])
    const texts = await Promise.all([
      fetch(`${constant.url}/Companies/9`).then((response) => response.text()),
      fetch(`${constant.url}/Companies`, { method: 'POST' }).then(async (response) => [
        response.status,
        await response.text(),
      ]),
    ])
    await constant.stop()
    await target.stop()
    expect(texts).toEqual(['"GET /Companies/7"', [201, '"POST /Companies"']])
  })
})

/** The table of a scenario with these targets. */
function tableOf(targets: readonly TargetResult[]): string {
  const results = { scenarios: [], curves: [] } as unknown as Results
  return [formatHead(RATIOS), formatScenario(results, { name: 'one', title: 'one', targets }, RATIOS)].join('\n')
}

test('the table has the ratios to all others', () => {
  const sample = { p97_5Ms: 2, p99Ms: 3, errors: 0, unexpected: 0, postgresCpuUs: 5, rssMb: 80, latency: [] }
  const target = (name: string, requestsPerSecond: number, serverCpuUs: number | null, p50Ms = 1): TargetResult => {
    return { target: name, rounds: [{ ...sample, p50Ms, requestsPerSecond, serverCpuUs }], void: null }
  }
  const table = tableOf([
    target('roster', 2_000, 30),
    target('no-cache', 500, 60),
    target('constant', 8_000, 10),
    target('bare', 1_000, 20),
    target('uncounted', 4_000, 25, 0.8),
  ])
  const [head = '', , roster = '', , , bare = ''] = table.split('\n')
  expect(head.trim().split(/ {2,}/).slice(-9)).toEqual([
    ...['/no-cache', '/constant', '/bare', '/uncounted', '/pgbench'],
    ...['CPU /no-cache', 'CPU /constant', 'CPU /bare', 'p50 /uncounted'],
  ])
  expect(roster.trim().split(/ +/)).toEqual([
    ...['roster', '2,000', '2,000..2,000', '1.00', '2.00', '3.00', '30.0', '5.0', '80'],
    ...['4.00', '0.25', '2.00', '0.50', '-', '0.50', '3.00', '1.50', '1.25'],
  ])
  expect(bare.trim().split(/ +/).slice(-9)).toEqual(['2.00', '0.13', '-', '0.25', '-', '0.33', '2.00', '-', '1.25'])
})
