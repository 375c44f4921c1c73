// The tests: `npm test`, or `npm test -- ./test/api filtering --only-failures` for some files, with options of `bun test`.
// Each file is a process of its own. Some run at the same time, since many wait, each beside a PostgreSQL of its own:
// what a file locks, freezes or leaves running is not seen by the others.
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTemplate, TEMPLATE } from './support/cluster.ts'
import { startPostgres } from './support/postgres.ts'
import { isAlive } from './support/process.ts'

interface Result {
  file: string
  passes: number
  failures: number
  tookMs: number
  /** Of the file's process and of what it has started, but not of the PostgreSQL beside it. */
  cpuMs: number
  /** The lines of failed tests, or what else went wrong. */
  faults: string[]
}

const ROOT = join(import.meta.dir, '..')
/** For a file that hangs in a way that no test's own limit ends. */
const FILE_MS_MAX = 600_000
// Bun's 5 s are an absolute time that a busy machine does not keep.
const TEST_MS_MAX = 120_000
const OWN = 'roster-test-run-'
const MEMORY_DISK = '/dev/shm'
const MEMORY_BYTES_MIN = 6 * 2 ** 30
/** As the end of a run has named them, in turns of those that wait and those that compute. */
const LONGEST = [
  ...['house/docs', 'processes/supervisor', 'bench/run', 'properties/hostile', 'cache/cachedLists'],
  ...['processes/sharedMemory', 'processes/main', 'pages/browser', 'api/batching', 'processes/unknownOutcomes'],
  ...['bench/compare', 'plans/seeks', 'cache/exact', 'changes/owner', 'processes/soak', 'processes/restarts'],
].map(pathOf)
/** Files that wait for most of their time, which costs hardly any of a processor: one more place is theirs. */
const WAITING = [
  ...['changes/listener', 'execute/givenUp', 'execute/database', 'admit/redis', 'api/rateLimits', 'keys/watch'],
].map(pathOf)
/** Files that the end of a run names. */
const SLOWEST = 10
const startedMs = performance.now()
const words = process.argv.slice(2)
const isOption = (word: string, index: number) => word.startsWith('-') || words[index - 1] === '-t'
const options = words.filter(isOption)
const filters = words.filter((word, index) => !isOption(word, index)).map((word) => word.replace(/^\.\//, ''))
const isPart = options.some((option) => /^(-t$|--test-name-pattern)/.test(option))

const files = [...new Bun.Glob('test/**/*.test.ts').scanSync(ROOT)].filter(
  (file) =>
    // Packages of test/consumers bring tests of their own.
    !file.includes('node_modules/') && (filters.length === 0 || filters.some((filter) => file.includes(filter))),
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
const waiting = WAITING.filter((file) => files.includes(file))
const weights = new Map(files.map((file) => [file, weigh(file)]))
const heavier = (one: string, other: string) => (weights.get(other) as number) - (weights.get(one) as number)
const queue = files.filter((file) => !WAITING.includes(file)).sort(heavier)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupt(signal))
process.env[TEMPLATE] = await makeTemplate(join(folder, 'cluster'))

const results: Result[] = []
// Most wait about half of their time; with more at once the machine, not what they test, would be what is late.
const places = Math.min(queue.length, availableParallelism() + 2)
const works = Array.from({ length: places }, (_, place) => work(place, queue))
if (waiting.length > 0) works.push(work(places, waiting))
await Promise.all(works)

const sum = (key: 'passes' | 'failures') => results.reduce((total, result) => total + result[key], 0)
const seconds = (ms: number) => (ms / 1_000).toFixed(1)
console.log('\nThe files that took longest, and their CPU time:')
for (const { file, tookMs, cpuMs } of results.sort((one, other) => other.tookMs - one.tookMs).slice(0, SLOWEST))
  console.log(`${seconds(tookMs).padStart(7)} s ${seconds(cpuMs).padStart(7)} s  ${file}`)
for (const { file, faults } of results.filter(({ failures }) => failures > 0))
  console.log(`\n${file}:\n${faults.join('\n')}`)
console.log(`\n ${sum('passes')} pass\n ${sum('failures')} fail`)
console.log(
  `Ran ${sum('passes') + sum('failures')} tests across ${files.length} files. [${seconds(performance.now() - startedMs)}s]`,
)
process.exit(exitCode || Number(sum('failures') > 0))

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
    if (!isAlive(Number(name.slice(OWN.length).split('-')[0])))
      rmSync(join(disk, name), { recursive: true, force: true })
}

function pathOf(name: string): string {
  return `test/${name}.test.ts`
}

/**
 * More for what probably takes longer, so that no long file is left for the end, with one processor at rest: first those that
 * are known to; then files that start whole programs, which wait the most; then long files, which have much to do.
 */
function weigh(file: string): number {
  const place = LONGEST.indexOf(file)
  if (place >= 0) return Number.MAX_SAFE_INTEGER - place
  const text = readFileSync(join(ROOT, file), 'utf8')
  return text.length * (text.includes('support/process.ts') ? 10 : 1)
}

async function work(place: number, queue: string[]): Promise<void> {
  const server = await startPostgres(place, disk)
  for (let next = queue.shift(); next; next = queue.shift()) results.push(await runFile(next, server.url))
  await server.stop()
}

async function runFile(file: string, TEST_POSTGRES_URL: string): Promise<Result> {
  const beganMs = performance.now()
  // A file, not a pipe, which a process that a test has left behind would keep open.
  const outputFile = join(folder, file.replaceAll('/', '.'))
  const output = openSync(outputFile, 'a')
  const child = Bun.spawn([process.execPath, 'test', `--timeout=${TEST_MS_MAX}`, ...options, `./${file}`], {
    cwd: ROOT,
    env: { ...process.env, TEST_POSTGRES_URL, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
    stdio: ['ignore', output, output],
    timeout: FILE_MS_MAX,
    killSignal: 'SIGKILL',
  })
  running.add(child)
  await child.exited
  running.delete(child)
  closeSync(output)
  const text = readFileSync(outputFile, 'utf8').replace(/^bun test v.*\n/, '')
  // One file's sums say nothing beside those of all.
  process.stdout.write(text.replace(/\n *\d+ pass\n[\s\S]*$/, '\n'))
  const verdict = judge(Bun.stripANSI(text), child.signalCode ?? child.exitCode ?? 1)
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000
  return { file, tookMs: performance.now() - beganMs, cpuMs, ...verdict }
}

/** A process must say how many tests it has run, and there must be one; all else is a failure. */
function judge(text: string, end: number | string): Pick<Result, 'passes' | 'failures' | 'faults'> {
  const count = (what: string) => Number(text.match(new RegExp(`^ *(\\d+) ${what}$`, 'm'))?.[1] ?? 0)
  const [passes, failures] = [count('pass'), count('fail')]
  if (end !== 0) {
    const faults = text.match(/^\(fail\) .*$/gm) ?? text.match(/^error: .*$/gm) ?? []
    const lines = new Set(failures === 0 ? [...faults, `(fail) the process ended with ${end}`] : faults)
    return { passes, failures: Math.max(failures, 1), faults: [...lines] }
  }
  const isEmpty = passes + failures === 0 && !isPart
  return { passes, failures: failures + Number(isEmpty), faults: isEmpty ? ['(fail) it has no test'] : [] }
}

/** No more files; those that run end at once, and each place stops its PostgreSQL. */
function interrupt(signal: 'SIGINT' | 'SIGTERM'): void {
  exitCode = signal === 'SIGINT' ? 130 : 143
  queue.length = 0
  waiting.length = 0
  for (const child of running) child.kill('SIGTERM')
}
