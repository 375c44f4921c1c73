import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blockOf, publish, publishedRun } from '../../bench/publish.ts'
import { allBlock, NotPublished, speedBlock } from '../../bench/publishedTables.ts'
import type { Results, Sample, TargetResult } from '../../bench/results.ts'
import { run, temporaryFolder } from '../support/process.ts'

const ROOT = join(import.meta.dir, '../..')
const PAGE = '# Name\n\n## Speed\n\n<!-- bench:begin -->\nold\n<!-- bench:end -->\n\nMore.\n'
const folder = temporaryFolder()
const file = join(folder.path, 'run.json')
const readme = join(folder.path, 'README.md')
afterAll(folder.remove)
const benchmarks = join(folder.path, 'docs/benchmarks.md')
beforeEach(() => {
  mkdirSync(join(folder.path, 'docs'), { recursive: true })
  for (const page of [readme, benchmarks]) writeFileSync(page, PAGE)
})

const NEW = ['new-lists', 'new-lists-random-pages', 'new-conditions', 'new-lists-under-writes']
const OLD = ['one-by-id', 'different-lists', 'random-pages', 'filter-sort', 'page-20000-sorted', 'lists-under-writes']
const NAMES = [...NEW, ...OLD]
const titleOf = (name: string) => `${NEW.includes(name) ? 'never asked before: ' : ''}the title of ${name}`

function target(name: string, rates: readonly number[], reason: string | null = null): TargetResult {
  const sample = { p50Ms: 1, p97_5Ms: 2, p99Ms: 4.56, errors: 0, unexpected: 0, serverCpuUs: 30, postgresCpuUs: 5 }
  const rounds = rates.map((requestsPerSecond): Sample => ({ ...sample, requestsPerSecond, rssMb: 80, latency: [] }))
  return { target: name, rounds, void: reason }
}

const TARGETS = [
  ...[target('roster', [1_000, 1_200, 900]), target('no-cache', [500]), target('constant', [9_000])],
  ...[target('fastify', [300]), target('hono', [400]), target('platformatic', [800], 'round 1: no answer at all')],
]

function runOf(more: Partial<Results> = {}): Results {
  return {
    date: '2026-01-31T09:00:00.123Z',
    command: 'npm run bench',
    commit: 'abc1234',
    machine: { cpu: 'A processor', cores: 2, memoryGb: 24, os: 'Linux 6' },
    versions: { Bun: '1.2.3' },
    seconds: 4,
    rounds: 3,
    connections: 32,
    workers: 1,
    rows: { absences: 1_000_000, employees: 200_000, companies: 100_000 },
    scenarios: NAMES.map((name) => {
      const indexed = NEW.includes(name) ? [target('fastify-indexed', [450]), target('hono-indexed', [425])] : []
      return { name, title: titleOf(name), targets: [...TARGETS, ...indexed] }
    }),
    curves: [],
    ...more,
  }
}

function publishRun(results: Results) {
  writeFileSync(file, JSON.stringify(results))
  publish(file, folder.path)
}

const filesOf = () => readdirSync(join(folder.path, 'bench/published')).sort()

describe('a published run', () => {
  test('lies beside its page, alone, and the README shows its figures between the markers', () => {
    mkdirSync(join(folder.path, 'bench/published'), { recursive: true })
    writeFileSync(join(folder.path, 'bench/published/earlier.json'), '{}')
    publishRun(runOf())
    expect(filesOf()).toEqual(['2026-01-31T09-00-00Z.html', '2026-01-31T09-00-00Z.json'])
    expect(publishedRun(folder.path)).toEqual(runOf())
    const page = readFileSync(join(folder.path, 'bench/published/2026-01-31T09-00-00Z.html'), 'utf8')
    expect(page).toContain('the title of one-by-id')
    const text = readFileSync(readme, 'utf8')
    expect(blockOf(text)).toBe(speedBlock(runOf()))
    expect(text).toBe(PAGE.replace('old\n', () => speedBlock(runOf())))
  })

  test('has a row for each of its scenarios: median, least and most, without the cache, best peer that counts, p99', () => {
    const block = speedBlock(runOf())
    const rows = block.split('\n').filter((line) => line.startsWith('| the title'))
    const peersOf = (name: string) => (NEW.includes(name) ? '400 (hono) | 450 (fastify)' : '400 (hono)')
    const cells = (name: string) => `the title of ${name} | 1,000 (900–1,200) | 500 | ${peersOf(name)} | 4.56`
    expect(rows).toEqual(NAMES.map((name) => `| ${cells(name)} |`))
    const heads = '| Roster | without the list cache | best peer |'
    expect(block).toStartWith(`| Never asked before ${heads} best peer with an index made for it | p99 ms |\n`)
    expect(block).toContain(`\n| Asked again ${heads} p99 ms |\n`)
    expect(block).toContain('One run of commit abc1234 on 2026-01-31: A processor, 2 cores')
    expect(block).toContain('1,000,000 absences, 32 connections, 1 worker.')
    expect(block).toContain('(bench/published/2026-01-31T09-00-00Z.json)')
  })

  test('has a row for each scenario on the page of benchmarks, with every peer and what each request costs', () => {
    publishRun(runOf())
    const block = blockOf(readFileSync(benchmarks, 'utf8')) ?? ''
    expect(block).toBe(allBlock(runOf()))
    const duels = 'vs. best peer | vs. best with its index'
    const heads = `| no cache | fastify | hono | platformatic | ${duels} | p50, p99 ms | CPU µs: server, PostgreSQL |`
    expect(block).toContain(`|  | Roster ${heads}`)
    const rows = block.split('\n').filter((line) => line.includes('the title'))
    const cells = (name: string) =>
      `1,000 (900–1,200) | 500 | 300 | 400 | void | 2.50 × | ${NEW.includes(name) ? '2.22 ×' : '–'} | 1.00, 4.56 | 30.0, 5.00`
    expect(rows).toEqual(NAMES.map((name) => `| ${titleOf(name)} | ${cells(name)} |`))
    expect(block).toContain('`npm run bench`. Bun 1.2.3.')
    expect(block).toContain('(../bench/published/2026-01-31T09-00-00Z.html)')
  })

  test('has what absences in columns cost beneath its scenarios', () => {
    const write = { writesPerSecond: 990, serverCpuUs: 210, rssMb: 190 }
    const cpu = { loadServerMs: 1_000, loadPostgresMs: null }
    const round = { listensMs: 400, firstListMs: 5_000, loadMs: 1_100, mb: 64, ...cpu, with: write, without: write }
    const block = allBlock(runOf({ columns: [round, { ...round, loadMs: 1_300 }] }))
    expect(block).toContain('\n\n| Absences in columns | Roster |\n| --- | --- |\n')
    expect(block).toContain('\n| the load, ms | 1,200 (1,100–1,300) |\n')
    expect(block).toContain('\n| CPU time of the load in PostgreSQL, ms | – |\n')
    expect(allBlock(runOf())).not.toContain('in columns')
  })

  test('of before there were lists that were never asked before is shown as it was', () => {
    const scenarios = runOf().scenarios.filter(({ name }) => OLD.includes(name))
    const block = speedBlock(runOf({ scenarios }))
    expect(block).toStartWith('| Another one each time | Roster | without the list cache | best peer | p99 ms |\n')
    expect(allBlock(runOf({ scenarios }))).not.toContain('index')
  })

  test('is the same after it was published again', () => {
    publishRun(runOf())
    const once = readFileSync(readme, 'utf8')
    publishRun(runOf())
    expect(readFileSync(readme, 'utf8')).toBe(once)
  })
})

describe('is refused, and nothing is written', () => {
  const voided = TARGETS.map((one) => (one.target === 'roster' ? { ...one, void: 'round 1: 3 answers of 500' } : one))
  const withLast = (targets: readonly TargetResult[]) =>
    runOf().scenarios.map((one) => (one.name === 'lists-under-writes' ? { ...one, targets } : one))

  test.each([
    ['a checkout with changes', runOf({ commit: 'abc1234+' }), 'a checkout with changes of its own'],
    ['a run of some scenarios', runOf({ scenarios: runOf().scenarios.slice(1) }), 'the run has no scenario new-lists'],
    ['a run without new lists', runOf({ scenarios: runOf().scenarios.slice(4) }), 'the run has no scenario new-lists'],
    [
      'a void row',
      runOf({ scenarios: withLast(voided) }),
      'no figures for lists-under-writes: round 1: 3 answers of 500',
    ],
    ['a file that is no run', { commit: 'abc' } as Results, 'cannot be read as a run: it is no run'],
  ])('%s', (_, results, message) => {
    publishRun(runOf())
    const [before, files] = [readFileSync(readme, 'utf8'), filesOf()]
    expect(() => publishRun(results)).toThrow(new RegExp(message))
    expect([readFileSync(readme, 'utf8'), filesOf()]).toEqual([before, files])
  })

  const pages = [readme, benchmarks]
  test.each(pages.flatMap((page) => ['# Name\n', PAGE + PAGE].map((text) => [page, text] as const)))(
    '%s without one pair of markers',
    (page, text) => {
      writeFileSync(page, text)
      expect(() => publishRun(runOf())).toThrow(NotPublished)
      expect(readFileSync(page, 'utf8')).toBe(text)
    },
  )

  test('by the command too, which says why, with exit code 1', async () => {
    const program = run([
      process.execPath,
      '--no-env-file',
      'bench/run.ts',
      '--publish',
      join(folder.path, 'none.json'),
    ])
    expect(await program.ended).toBe(1)
    expect(program.output()).toMatch(/^error: \S+none\.json cannot be read as a run: /)
  })
})

test.each([
  ['README.md', speedBlock],
  ['docs/benchmarks.md', allBlock],
])('the figures in %s are those of the published run', (path, blockFor) => {
  const published = publishedRun(ROOT)
  const block = blockOf(readFileSync(join(ROOT, path), 'utf8'))
  expect(block ?? '').toBe(published === null ? '' : blockFor(published))
  expect(existsSync(join(ROOT, 'bench/published'))).toBe(published !== null)
})
