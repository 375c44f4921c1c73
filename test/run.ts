// The tests: `npm test`, or `npm test -- ./test/api filtering -t D9` for some files, with options of `bun test`; `npm run
// test:all` also runs those of whole systems.
// Files share processes, because each process costs CPU time to start: ten files share one, or four of whole systems. A file of whole
// systems that takes long has its own process.
// So no test may depend on the state that tests before it have left in the process. Several processes run at the same time, each with a
// PostgreSQL of its own, so that locked or frozen databases do not affect each other. A file that fails runs once more, alone.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTemplate, TEMPLATE } from './support/cluster.ts'
import { startPostgres } from './support/postgres.ts'
import { isAlive } from './support/process.ts'
import { againAlone, type Result, reportOf, runTestFiles } from './support/testFiles.ts'

const ROOT = join(import.meta.dir, '..')
const OWN = 'roster-test-run-'
const MEMORY_DISK = '/dev/shm'
const MEMORY_BYTES_MIN = 6 * 2 ** 30
/**
 * Files that start whole systems, such as servers beside faults, clusters, benches and generators, or compare two servers or large
 * tables by random requests: most of the time.
 */
const OF_SYSTEMS =
  /^test\/(processes|bench|consumers|python|plans|example)\/|\/(hostile|noninterference|columns\/largeTables|upgrades|import|importMatch|importFiles|importDoubles|importUndo|importKilled|spreadsheet|memory\/exact|memory\/acknowledgedWrites|postgres\/embedded)\./
/** What files of whole systems import, wherever they are: a browser, or programs in Python. */
const SYSTEMS = /from '(?:\.\.\/support\/browser|\.\.\/python\/environment)\.ts'/
/** As the end of a run has named them, in turns of those that wait and those that compute. */
const LONGEST = [
  ...[
    'consumers/openApi',
    'bench/rights',
    'processes/databaseAway',
    'pages/exploreLook',
    'house/docs',
    'processes/supervisor',
    'bench/run',
    'properties/hostile',
    'processes/main',
  ],
  ...['processes/sharedMemory', 'api/noninterference', 'memory/copies', 'pages/browser', 'pages/exploreBrowser'],
  ...['describe/everyAnswer', 'memory/fresh', 'consumers/go', 'plans/seeks', 'memory/exact', 'processes/soak'],
  ...['processes/restarts', 'columns/largeTables', 'memory/questionQueue', 'properties/documentOfKeys'],
  ...['properties/fourthEntity', 'hooks/rights', 'api/batchingContention', 'api/streams', 'api/summaryStreams'],
].map(pathOf)
/** Files that wait for most of their time, which costs hardly any of a processor: one more place is theirs. */
const WAITING = [
  ...['execute/givenUp', 'execute/database', 'parse/bodyTransfer', 'api/rateLimitHeaders', 'api/rateLimits', 'admit/redis'],
  ...['admit/keyRefresh', 'describe/errorExamples', 'memory/farDates'],
].map(pathOf)
/** It declares another entity Company, and compiled statements are cached by the name of the entity. */
const ALONE = pathOf('api/personalValues')
/** Files that share a process. */
const SHARED = 10
/** Files of whole systems that share a process: they take longer, and no process may be the last one for a minute. */
const SHARED_SYSTEMS = 4
const startedMs = performance.now()
const words = process.argv.slice(2).filter((word) => word !== '--all')
const isAll = process.argv.includes('--all')
const isOption = (word: string, index: number) => word.startsWith('-') || words[index - 1] === '-t'
const options = words.filter(isOption)
const filters = words.filter((word, index) => !isOption(word, index)).map((word) => word.replace(/^\.\//, ''))

const files = [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)].filter(
  (file) =>
    // Packages of test/consumers bring tests of their own.
    !file.includes('node_modules/') &&
    (filters.length === 0 ? isAll || !isOfSystems(file) : filters.some((filter) => file.includes(filter))),
)
if (files.length === 0) {
  console.error(`no test file has ${filters.join(' or ')} in its path`)
  process.exit(1)
}

const disk = diskForData()
sweep(disk)
const folder = mkdtempSync(join(disk, `${OWN}${process.pid}-`))
chmodSync(folder, 0o755) // PostgreSQL may run as the user `nobody`
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
process.env.TMPDIR = folder
const running = new Set<Bun.Subprocess>()
let exitCode = 0
const waiting = [WAITING.filter((file) => files.includes(file))].filter(({ length }) => length > 0)
const weights = new Map(files.map((file) => [file, weigh(file)]))
const heavier = (one: string, other: string) => (weights.get(other) as number) - (weights.get(one) as number)
const queue = inProcesses(files.filter((file) => !WAITING.includes(file)).sort(heavier))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupt(signal))
process.env[TEMPLATE] = await makeTemplate(join(folder, 'cluster'))

const results: Result[] = []
// Most wait more than half of their time; with more at once the machine, not what they test, would be what is late.
const places = Math.min(queue.length, availableParallelism() + 4)
const works = Array.from({ length: places }, (_, place) => work(place, queue))
if (waiting.length > 0) works.push(work(places, waiting))
await Promise.all(works)

const isInterrupted = () => exitCode !== 0
const last = isInterrupted() ? results : await againAlone(results, runFilesAlone)
console.log(reportOf(last, performance.now() - startedMs))
process.exit(exitCode || Number(last.some(({ failures }) => failures > 0)))

/** Databases are thousands of small files, which cost some file systems more CPU than PostgreSQL itself: in memory, if it has room. */
function diskForData(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DISK)
    if (Math.min(bavail * bsize, freemem()) >= MEMORY_BYTES_MIN) return MEMORY_DISK
  } catch {
    // Another system than Linux.
  }
  return tmpdir()
}

/** Removes what runs that were killed have left; memory is too dear to leave it there. */
function sweep(disk: string): void {
  for (const name of readdirSync(disk).filter((name) => name.startsWith(OWN)))
    if (!isAlive(Number(name.slice(OWN.length).split('-')[0]))) rmSync(join(disk, name), { recursive: true, force: true })
}

function pathOf(name: string): string {
  return `test/${name}.test.ts`
}

function isOfSystems(file: string): boolean {
  return OF_SYSTEMS.test(file) || SYSTEMS.test(readFileSync(join(ROOT, file), 'utf8'))
}

/**
 * More for what probably takes longer, so that no long file is left for the end, with one processor at rest: first those that
 * are known to; then files of whole systems and others that start programs, which wait the most; then long files, which have much
 * to do.
 */
function weigh(file: string): number {
  const place = LONGEST.indexOf(file)
  if (place >= 0) return Number.MAX_SAFE_INTEGER - place
  const text = readFileSync(join(ROOT, file), 'utf8')
  return text.length * (isOfSystems(file) || /support\/process\.ts|(?:use|start)Process/.test(text) ? 10 : 1)
}

/** Groups files into processes. `sorted`: by weight, the heaviest first; so are the groups. */
function inProcesses(sorted: readonly string[]): string[][] {
  const isSingle = (file: string) => file === ALONE || (LONGEST.includes(file) && isOfSystems(file))
  const others = sorted.filter((file) => !isSingle(file))
  const groups = [
    ...sorted.filter(isSingle).map((file) => [file]),
    ...inGroups(others.filter(isOfSystems), SHARED_SYSTEMS),
    ...inGroups(
      others.filter((file) => !isOfSystems(file)),
      SHARED,
    ),
  ]
  return groups.sort(([one = ''], [other = '']) => heavier(one, other))
}

/** Divides files into groups of about the same weight, each of at most `size` files. */
function inGroups(sorted: readonly string[], size: number): string[][] {
  const count = Math.ceil(sorted.length / size)
  return Array.from({ length: count }, (_, first) => sorted.filter((_, index) => index % count === first))
}

async function work(place: number, queue: string[][]): Promise<void> {
  const server = await startPostgres(place, disk)
  for (let next = queue.shift(); next; next = queue.shift()) results.push(...(await runFiles(next, server.url)))
  await server.stop()
}

function runFiles(files: readonly string[], TEST_POSTGRES_URL: string): Promise<Result[]> {
  const env = { ...process.env, TEST_POSTGRES_URL, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) }
  const print = (text: string) => void process.stdout.write(text)
  return runTestFiles(files, { root: ROOT, outputs: folder, options, env, running, print })
}

/** One after the other, beside one PostgreSQL. */
async function runFilesAlone(files: string[]): Promise<Result[]> {
  console.log(`\n${files.join(', ')}: failed beside other files, so run once more, alone`)
  const server = await startPostgres(0, disk)
  const results: Result[] = []
  for (const file of files) if (!isInterrupted()) results.push(...(await runFiles([file], server.url)))
  await server.stop()
  return results
}

/** No more files; those that run end at once, and each place stops its PostgreSQL. */
function interrupt(signal: 'SIGINT' | 'SIGTERM'): void {
  // The launcher passes on a signal that its whole group may have got already.
  if (exitCode !== 0) return
  exitCode = signal === 'SIGINT' ? 130 : 143
  queue.length = 0
  waiting.length = 0
  // Each leads a group, which a terminal's Ctrl-C does not reach.
  for (const child of running) process.kill(-child.pid, 'SIGTERM')
}
