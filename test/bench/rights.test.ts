import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rightsLine } from '../../bench/compare/comparison.ts'
import { requestSource } from '../../bench/load/requests.mjs'
import { referenceOf } from '../../bench/referenceSql.ts'
import type { Results, ScenarioResult } from '../../bench/results.ts'
import { copyCluster } from '../support/cluster.ts'
import { run, temporaryFolder } from '../support/process.ts'

const folder = temporaryFolder()
const output = join(folder.path, 'results')
const data = join(folder.path, 'data')
copyCluster(data)

const LISTS = ['right-employee']
const OTHERS = ['right-by-id', 'right-patch-absence']
const PEER = 'fastify-rls'
/** If the machine stands still for seconds, a round has no responses, and the run reports it. */
const ONCE_MORE = { timeout: 480_000, retry: 1 }

test(
  'the bench of rights measures keys, persons and a peer with row security, and checks their answers',
  async () => {
    const load = ['--rows', '1000', '--seconds', '0.1', '--rounds', '2', '--connections', '4', '--workers', '1', '--no-curves']
    const names = [...LISTS, ...OTHERS, 'persons'].join()
    const options = ['--data', data, '--output', output, ...load, '--peers', PEER, '--only', names]
    const program = run([process.execPath, '--no-env-file', 'bench/run.ts', ...options])
    expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
    const [file = ''] = readdirSync(output).filter((name) => name.endsWith('.json'))
    const { scenarios } = JSON.parse(readFileSync(join(output, file), 'utf8')) as Results
    const measured = scenarios.map(({ name, targets }) => [name, targets.map(({ target }) => target)])
    const own = ['roster', 'roster-whole-key']
    expect(measured).toEqual([
      ...LISTS.map((name) => [name, [...own, PEER, `${PEER}-indexed`]]),
      ['persons', ['roster', 'roster-keys']],
      ...OTHERS.map((name) => [name, own]),
    ])
    for (const { name, targets } of scenarios)
      for (const { target, void: reason, rounds } of targets)
        expect([name, target, reason, rounds.length]).toEqual([name, target, null, 2])
    const line = /^ {2}under rights ÷ by a key of all rights: requests\/s [\d.]+ \([\d.]+ – [\d.]+\)/gm
    expect(program.output().match(line)).toHaveLength(scenarios.length - 1)
    expect(program.output()).toMatch(/^ {2}by persons ÷ by keys with rights of the same kind: requests\/s [\d.]+ /m)
    expect(program.output()).toMatch(/best peers: [\d,.]+ × fastify-rls, [\d,.]+ × fastify-rls-indexed$/m)
  },
  ONCE_MORE,
)

test(
  'the memory of a worker is measured once with keys of different rights, and once with keys of all rights',
  async () => {
    const options = ['--data', data, '--rows', '1000', '--keys', '20', '--rounds', '1']
    const program = run([process.execPath, '--no-env-file', 'bench/rightsMemory.ts', ...options])
    expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
    for (const name of ['of all rights', 'of different rights'])
      expect(program.output()).toMatch(new RegExp(`^${name}( +[\\d.,–]+){2}$`, 'm'))
    expect(program.output()).toMatch(/^more by the rights( +-?[\d.,–]+)$/m)
  },
  ONCE_MORE,
)

test(
  'the CPU time of a request is measured with a key, with a known token, and with new tokens',
  async () => {
    const options = ['--data', data, '--tokens', '100', '--rounds', '1', '--connections', '4']
    const program = run([process.execPath, '--no-env-file', 'bench/tokens.ts', ...options])
    expect([await program.ended, program.output()]).toEqual([0, expect.any(String)])
    for (const name of ['a key', 'a known token', 'a new token'])
      expect(program.output()).toMatch(new RegExp(`^${name} +[\\d.,]+ \\(`, 'm'))
  },
  ONCE_MORE,
)

test('a placeholder with leading zeros is replaced by numbers of the same length, also in keys', () => {
  const draw = requestSource([{ method: 'GET', path: '/Absences', key: 'a{0001..0120}b', status: 200 }], 1)
  const headers = draw(500).map((request) => request.headers.Authorization ?? '')
  expect(headers.every((header) => /^ApiKey a0[01]\d\db$/.test(header))).toBe(true)
  expect(new Set(headers).size).toBeGreaterThan(60)
})

test('the SQL that checks a list selects the properties that the parameter fields names', () => {
  const { rows, total } = referenceOf('/Absences?Period.Days=>2&fields=Id,Period&sort=-Start')
  const matching = `from absence where true and "period_days" > '2'`
  const order = 'order by "start" desc nulls first,id desc nulls first limit 20 offset 0'
  expect(rows).toBe(`select "id","period_prefered","period_days","period_hours" ${matching} ${order}`)
  expect(total).toBe(`select count(*) ${matching}`)
  expect(referenceOf('/Absences/7?fields=Id').rows).toBe(`select "id" from absence where true and id = '7'`)
})

test('rightsLine compares few rights with all rights round by round, and returns null if a result is void', () => {
  const sample = (requestsPerSecond: number, serverCpuUs: number) => {
    return { requestsPerSecond, serverCpuUs, postgresCpuUs: null, p50Ms: 1, p99Ms: 1, rssMb: null }
  }
  const result = (reason: string | null): ScenarioResult => ({
    name: 'right-range',
    title: 'right-range',
    targets: [
      { target: 'roster', void: null, rounds: [sample(90, 110), sample(110, 110)] },
      { target: 'roster-whole-key', void: reason, rounds: [sample(120, 100), sample(80, 100)] },
    ],
  })
  expect(rightsLine(result(null))).toBe(
    '  under rights ÷ by a key of all rights: requests/s 1.000 (1.000 – 1.000), CPU of the server 1.100 (1.100 – 1.100)',
  )
  expect(rightsLine(result('round 1: no answer at all'))).toBeNull()
  expect(rightsLine({ ...result(null), targets: [] })).toBeNull()
})
