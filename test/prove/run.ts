// Proofs of the rate limiter, of lists from memory and of other promises, hostile requests, and tests with many rounds. All are
// repeated with new random numbers: `npm run prove -- --minutes 10`. The last line has the number of differences; the exit code
// is 0 if there are none.
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import type postgres from 'postgres'
import { startEmbedded } from '../../src/postgres/embedded.ts'
import { connect } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { KEY as TEST_KEY } from '../support/server.ts'
import { ServerProcesses } from '../support/serverProcesses.ts'
import { proveChanges } from './changes.ts'
import { proveContention } from './contention.ts'
import { proveFairness } from './fairness.ts'
import { LISTS as LISTS_ASKED, WRITES } from './greedyClients.ts'
import { fillForHostile, proveHostile } from './hostile.ts'
import { ask, watch } from './http.ts'
import { proveImports } from './imports.ts'
import { proveWindow } from './limiterOracle.ts'
import { proveLists } from './lists.ts'
import { proveRights } from './rights.ts'
import { proveSoak } from './soak.ts'

const UNLIMITED = '100000/1s'
const HOUR_MS = 3_600_000
const TEST_MS_MAX = 600_000
const KEY = 'the-key-of-the-proofs'
/** Options of the proof of lists: numbers of rows, rounds, faults and periods. */
const LISTS = { rows: 40_000, alone: 60, together: 8, faults: 12, states: 10, statesForMs: 5_000 }
const SHORT = [
  { limit: 40, periodMs: 3 },
  { limit: 400, periodMs: 100 },
]

/** Runs a proof with a seed; returns its findings. @throws Differing, or an error if the proof itself failed */
type Proof = (seed: number) => Promise<Record<string, unknown>>

class Differing extends Error {
  constructor(
    message: string,
    readonly differences: number,
  ) {
    super(message)
  }
}

const limiter: Record<string, Proof> = {
  'equal to the reference model': async (seed) => proveWindow(1_000_000, seed),

  'deaths at any atomic step': async (seed) => {
    const command = [process.execPath, join(import.meta.dir, 'deaths.ts'), '1000', String(seed)]
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' })
    const found = (await new Response(child.stdout).text()).trim()
    if ((await child.exited) !== 0) throw new Error(`deaths.ts ended with ${child.exitCode}`)
    return JSON.parse(found)
  },

  'four processes, one window': async (seed) => {
    const rules = [{ limit: 50_000, periodMs: HOUR_MS }]
    const found = await proveContention({ rules, processes: 4, keys: 1, decisions: 1_000_000, seed })
    return judge(found, { admitted: 50_000, duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 })
  },

  'four processes, short windows': async (seed) => {
    const rules = [...SHORT, { limit: 1_000_000, periodMs: HOUR_MS }]
    const found = await proveContention({ rules, processes: 4, keys: 3, decisions: 1_000_000, seed })
    return judge(found, { duplicates: 0, overAdmissions: 0, falseRefusals: 0, unlogged: 0 })
  },

  'processes killed at random': async (seed) => {
    const found = await proveContention({ rules: SHORT, processes: 4, keys: 2, kills: 100, seed })
    return judge(found, { duplicates: 0, overAdmissions: 0, falseRefusals: 0 })
  },

  'over HTTP, two workers': proveHttp,

  'over HTTP, any period by a finer clock': async (seed) => {
    const [limit, connections] = [100 + (seed % 200), 1 + (seed % 3)]
    const rule = { limit, periodMs: 1_000 }
    return withServer({ RATE_LIMITS: `${limit}/1s` }, async ({ url }) => {
      const found = await watch(url, KEY, rule, 10_000, connections)
      return { limit, connections, ...judge(found, { overAdmissions: 0, falseRefusals: 0 }) }
    })
  },
}

/** Numbers of lists and of summaries that were checked during writes, of all rounds. */
let judged = 0
let judgedSummaries = 0
const lists: Record<string, Proof> = {
  'lists from memory are what PostgreSQL says': async (seed) => {
    const { lists: listsMin, fromMemory: percentMin } = options
    const { counts, ...found } = await proveLists({ seed, listsMin, arePathsInMemory: percentMin > 0, ...LISTS })
    judged += counts.states ?? 0
    judgedSummaries += counts['states of summaries'] ?? 0
    const { lists, summaries } = found.fromMemory
    const proved = same({ ...counts, ...found })
    if (Math.min(lists, summaries) < percentMin / 100)
      throw new Differing(`memory answered too few: ${JSON.stringify(proved)}`, 1)
    return proved
  },
}

/** Test files with random numbers, or with races. */
const REPEATED = [
  'properties/lists',
  'properties/summaries',
  'properties/walks',
  'properties/roundTrips',
  'memory/acknowledgedWrites',
]
const TESTS = [...REPEATED, 'admit/window', 'processes/restarts', 'describe/conditions']

/** Proofs that run each of these files in its own process, with more rounds than `npm test`, and other random numbers. */
const tests: Record<string, Proof> = Object.fromEntries(
  TESTS.map((file) => [`test/${file}, many rounds`, (seed: number) => proveTests(file, seed)]),
)

const ATTACKS = [
  { keys: 1, connections: 40, leaveMs: null },
  { keys: 1, connections: 40, leaveMs: 200 },
  { keys: 8, connections: 400, leaveMs: null },
]
/** Attacks by writes. One key writes the same eight rows within its limits, or two keys send bodies that never end. */
const WRITE_ATTACKS = WRITES.map((writes) => {
  const clients = writes === 'slow bodies' ? { keys: 2, connections: 28 } : { keys: 1, connections: 24 }
  return { ...clients, leaveMs: null, memoryMb: null, writes }
})

/** Attacks by costly lists of keys within their limits. In some attacks, clients disconnect before the response. */
const LIST_ATTACKS = [null, 0].flatMap((memoryMb) =>
  LISTS_ASKED.flatMap((lists) => ATTACKS.map((attack) => ({ ...attack, memoryMb, lists, writes: null }))),
)
const fairness: Record<string, Proof> = Object.fromEntries(
  [...WRITE_ATTACKS, ...LIST_ATTACKS].map((attack) => [
    `others beside ${attack.keys} greedy keys, ${askedBy(attack)}`,
    async () => {
      const { beside, ...more } = await proveFairness({ absences: 200_000, seconds: 20, ...attack })
      const { 200: served = 0, 201: created = 0, ...others } = beside.statuses
      if (Object.keys(others).length > 0) throw new Differing(`others were not served: ${JSON.stringify(others)}`, 1)
      return { served: served + created, beside, ...more }
    },
  ]),
)

function askedBy(attack: (typeof LIST_ATTACKS)[number] | (typeof WRITE_ATTACKS)[number]): string {
  if (attack.writes !== null) return attack.writes
  const { lists, leaveMs, memoryMb } = attack
  return `${lists}, which ${leaveMs === null ? 'stay' : 'leave'}${memoryMb === 0 ? ', without memory' : ''}`
}

/** Proof with requests that no client should send, over HTTP and sockets, to a real server. */
const hostile: Record<string, Proof> = {
  'hostile requests': async (seed) =>
    withServer(
      { RATE_LIMITS: UNLIMITED, RATE_LIMITS_ANONYMOUS: UNLIMITED, BOOTSTRAP_API_KEY: TEST_KEY },
      async ({ url, pid, log, sql }) => {
        await fillForHostile(sql)
        const { requests, from } = options
        const { faults, ...found } = await proveHostile({ url, pid, log, seeds: [seed], requests, from })
        return same({ ...found, differences: faults })
      },
    ),
}

/** Proof of a copy that follows the change feed while clients write and processes are killed. */
const changes: Record<string, Proof> = {
  'a copy kept by the changes': async (seed) => same(await proveChanges({ seed, rounds: 6 })),
}

/** Proof of the import of a file while workers and the import itself are killed. */
const imports: Record<string, Proof> = {
  'a file imported once': (seed) =>
    withServer({ RATE_LIMITS: UNLIMITED }, async (server) => same(await proveImports({ seed, server, key: KEY, kills: 30 }))),
}

/** Proof that hidden data does not change what a key sees: databases that differ only in hidden data give the same answers. */
const rights: Record<string, Proof> = {
  'answers to random rights': async (seed) => {
    const { channels, ...found } = await proveRights({ seed, pairs: options.pairs, from: options.key, keys: options.keys })
    for (const [channel, counts] of Object.entries(channels).toSorted())
      console.log(`      ${channel}: ${JSON.stringify(counts)}`)
    return same(found)
  },
}

/**
 * Returns a soak: clients create, read, update and delete rows for some seconds, while processes are killed, connections cut, and
 * PostgreSQL frozen.
 */
const soakOf = (seconds: number): Record<string, Proof> => ({ soak: async (seed) => same(await proveSoak({ seed, seconds })) })

const groups = { limiter, lists, tests, fairness, hostile, changes, imports, rights }
const options = new Command('prove')
  .description('Proves what the server promises, for as long as you like.')
  .option('--minutes <n>', 'how long', parseMinutes, 1)
  .addOption(new Option('--only <what>', 'one of them alone').choices(Object.keys(groups)))
  .option('--soak <duration>', 'the CRUD mix beside faults alone, for so long: 90s, 30m, 2h', parseDuration)
  .option('--requests <n>', 'how many requests the hostile client sends', parseCount, 1_000_000)
  .option('--from <n>', 'the attempt of a seed that it begins with, as a line of an earlier run says', parseCount, 0)
  .option(
    '--lists <n>',
    'in each proof of lists, at least so many lists beside writes, and a tenth as many summaries',
    parseCount,
    0,
  )
  .option(
    '--from-memory <percent>',
    'the least share of lists and of summaries that memory must answer, with paths',
    parseNumber,
    0,
  )
  .option('--pairs <n>', 'how many pairs of answers to keys of random rights are compared', parseCount, 10_000)
  .option('--key <n>', 'the key of a seed that it begins with, as a difference says', parseNumber, 0)
  .option('--keys <n>', 'how many keys it tries at most', parseCount)
  .option('--seed <n>', 'what the first round of random numbers begins with, as a line of an earlier run says', parseCount)
  .parse()
  .opts<{
    minutes: number
    only?: keyof typeof groups
    soak?: number
    requests: number
    from: number
    lists: number
    fromMemory: number
    pairs: number
    key: number
    keys?: number
    seed?: number
  }>()
const { minutes, only } = options

// A fault of the driver: it throws if PostgreSQL drops a connection within a transaction of the proof. The query itself is
// rejected, too.
process.on('uncaughtException', (error: Error) => {
  if (/evaluating 'socket\.write'/.test(error.message)) return
  console.error(error)
  process.exit(1)
})

const asked =
  options.soak !== undefined ? soakOf(options.soak) : only ? groups[only] : Object.assign({}, ...Object.values(groups))
const proofs = Object.entries<Proof>(asked)
const endMs = options.soak === undefined ? Date.now() + minutes * 60_000 : 0
let [done, differences] = [0, 0]
// Runs each proof once, even if the time is shorter. Then runs all of them in turns until the time is over.
while (done < proofs.length || Date.now() < endMs) {
  const [name, prove] = proofs[done++ % proofs.length] as [string, Proof]
  const seed = done <= proofs.length && options.seed !== undefined ? options.seed : randomSeed()
  try {
    console.log(`ok    ${name}, seed ${seed}: ${JSON.stringify(await prove(seed))}`)
  } catch (error) {
    differences += error instanceof Differing ? error.differences : 1
    console.log(`FAIL  ${name}, seed ${seed}: ${(error as Error).message}`)
  }
}
if (judged > 0) console.log(`${judged} lists and ${judgedSummaries} summaries were judged beside writes`)
console.log(`${done} proofs, ${differences} differences`)
process.exit(differences === 0 ? 0 : 1)

/** Returns the findings without differences. @throws Differing if there are any */
function same<Found extends { differences: readonly string[] }>({ differences, ...found }: Found): Omit<Found, 'differences'> {
  if (differences.length === 0) return found
  throw new Differing([...differences.slice(0, 5), JSON.stringify(found)].join('\n      '), differences.length)
}

function judge(found: object, expected: Record<string, number>): Record<string, unknown> {
  const got = found as Record<string, number>
  const wrong = Object.keys(expected).filter((name) => got[name] !== expected[name])
  if (wrong.length > 0) throw new Differing(`${wrong.join(', ')} is wrong: ${JSON.stringify(found)}`, wrong.length)
  return got
}

/**
 * Sends `limit` + 500 requests over 32 connections to a server. Expects exactly `limit` answers of 200, and 500 answers of 429.
 */
async function proveHttp(seed: number): Promise<Record<string, unknown>> {
  const limit = 1_000 + (seed % 5_000)
  return withServer({ RATE_LIMITS: `${limit}/1h` }, async ({ url }) => {
    const { statuses, remaining } = await ask(url, KEY, limit + 500, 32)
    if (new Set(remaining).size !== limit) throw new Error(`${limit} admitted share ${new Set(remaining).size} numbers`)
    return judge(statuses, { 200: limit, 429: 500 })
  })
}

async function proveTests(file: string, seed: number): Promise<Record<string, unknown>> {
  const command = [process.execPath, 'test', `--timeout=${TEST_MS_MAX}`, `./test/${file}.test.ts`]
  const child = Bun.spawn(command, {
    cwd: join(import.meta.dir, '../..'),
    env: { ...process.env, PROVE_SEED: String(seed) },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const output = await new Response(child.stderr).text()
  const passes = Number(/^ *(\d+) pass$/m.exec(output)?.[1] ?? 0)
  const failures = new Set(output.match(/^\(fail\) .*$/gm))
  if ((await child.exited) !== 0 || passes === 0)
    throw new Differing([`${file} ended with ${child.exitCode}`, ...failures].join('\n      '), Math.max(failures.size, 1))
  return { passes }
}

interface Served {
  readonly url: string
  /** Process of the supervisor. */
  readonly pid: number
  readonly sql: postgres.Sql
  /** Returns the log so far. */
  log(): string
}

async function withServer<Found>(own: Record<string, string>, work: (server: Served) => Promise<Found>): Promise<Found> {
  const processes = new ServerProcesses()
  const folder = temporaryFolder()
  const embedded = await startEmbedded({ dataDir: folder.path, access: 'everything' })
  const sql = connect(embedded.url)
  try {
    const settings = { DATABASE_URL: embedded.url, RATE_LIMIT_CLIENTS: '4', BOOTSTRAP_API_KEY: KEY, ...own }
    const { server, url } = await processes.start(settings)
    return await work({ url, pid: server.pid, sql, log: server.output })
  } finally {
    await processes.end()
    await sql.end()
    await embedded.stop()
    folder.remove()
  }
}

function randomSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] as number
}

/** Parses a duration, such as `90s`, into seconds. */
function parseDuration(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? []
  const seconds = Number(number) * ({ s: 1, m: 60, h: 3_600 }[unit] ?? 0)
  if (seconds < 20) throw new InvalidArgumentError('It must be a number and s, m or h, 20s or more.')
  return seconds
}

function parseNumber(text: string): number {
  return text === '0' ? 0 : parseCount(text)
}

function parseCount(text: string): number {
  const value = Number(text)
  if (!/^\d{1,10}$/.test(text) || value < 1) throw new InvalidArgumentError('It must be an integer of 1 or more.')
  return value
}

function parseMinutes(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 10_000)) throw new InvalidArgumentError('It must be a number over 0.')
  return value
}
