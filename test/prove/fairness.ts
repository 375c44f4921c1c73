import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../src/postgres/embedded.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { loadMany } from '../support/manyRows.ts'
import { connect, MIGRATIONS } from '../support/postgres.ts'
import { type RunningProgram, run } from '../support/process.ts'
import { keyIn } from '../support/requests.ts'
import { LISTENS, MAIN } from '../support/serverProcesses.ts'
import { CONTENDED, type Lists, PAUSE_MS, statusOf, type Writes } from './greedyClients.ts'

interface Options {
  readonly absences: number
  /** Number of keys that request costly lists, as often as their limit allows. */
  readonly keys: number
  readonly connections: number
  /** Time in ms after which each client disconnects; null: it waits for its response. */
  readonly leaveMs?: number | null
  /** Value of MEMORY_MB; 0: PostgreSQL answers each list; null: the server's default. */
  readonly memoryMb?: number | null
  /** Kind of lists to request. */
  readonly lists?: Lists
  /** Kind of writes to send in place of lists. */
  readonly writes?: Writes | null
  readonly seconds: number
}

/** Latencies of other clients: for reads by id, lists, creates, and readiness. */
export interface Served {
  readonly byId: Latencies
  readonly lists: Latencies
  readonly creates: Latencies
  readonly ready: Latencies
  /** Number of responses by status; status 0: no response. */
  readonly statuses: Readonly<Record<number, number>>
}

interface Latencies {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const OTHERS = 4

/** Measures four clients alone, and then while other keys request costly lists, or write the same rows, within their limits. */
export async function proveFairness(options: Options): Promise<{ alone: Served; beside: Served; greedy: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'roster-fairness-'))
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)
  try {
    await fill(folder, options.absences)
    const memory = { ...(options.memoryMb == null ? {} : { MEMORY_MB: String(options.memoryMb) }) }
    const keyOf = async (name: string) =>
      keyIn(await roster({ DATA_DIR: folder }, 'keys', 'create', '--name', name, '--rights', '*:read,*:write'))
    const server = run(MAIN, { DATA_DIR: folder, PORT: '0', WORKERS: '2', LOG_LEVEL: 'error', LOG_FORMAT: 'pretty', ...memory })
    const [, url = ''] = await server.waitFor(LISTENS)
    try {
      const others = await Promise.all(names('other', OTHERS).map(keyOf))
      const greedy: string[] = []
      for (const name of names('greedy', options.keys)) greedy.push(await keyOf(name))
      const alone = await serveOthers(url, others, options.seconds)
      const attack = beginAttack(url, greedy, options)
      await attack.waitFor(/all clients ask/)
      await Bun.sleep(1_000)
      const beside = await serveOthers(url, others, options.seconds)
      await attack.stop()
      return { alone, beside, greedy: attack.output().match(/\d+ were asked for.*/)?.[0] ?? '' }
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Fills the tables of the server whose embedded PostgreSQL is in this folder. */
async function fill(folder: string, absences: number) {
  // The role of the server owns the tables; only the superuser may load rows without triggers.
  const owned = await startEmbedded({ dataDir: folder, access: 'tables' })
  await migrate(owned.url, MIGRATIONS)
  await owned.stop()
  const embedded = await startEmbedded({ dataDir: folder, access: 'everything' })
  const sql = connect(embedded.url)
  await loadMany(sql, { company: 1_000, employee: 5_000, absence: absences })
  // Many rows copy these names.
  await sql`
    update absence set employee_id = e.id, employee_key = e.display_name_key
    from employee as e where absence.id <= ${950 * CONTENDED} and e.id = 1 + absence.id % ${CONTENDED}`
  await sql.unsafe('vacuum analyze company, employee, absence')
  await sql.end()
  await embedded.stop()
}

/** Starts a process that requests lists without an index, each list once. The process ends when it is killed. */
function beginAttack(
  url: string,
  keys: readonly string[],
  { connections, leaveMs, writes, lists = 'sorts' }: Options,
): RunningProgram {
  const clients = { CONNECTIONS: String(connections), LEAVE_MS: String(leaveMs ?? ''), WRITES: writes ?? '', LISTS: lists }
  const settings = { URL: url, KEYS: keys.join(), ...clients }
  // Bun's default limit of concurrent requests is 256.
  const environment = { ...settings, BUN_CONFIG_MAX_HTTP_REQUESTS: String(2 * connections) }
  return run([process.execPath, '--no-env-file', 'test/prove/greedyClients.ts'], environment)
}

async function serveOthers(url: string, keys: readonly string[], seconds: number): Promise<Served> {
  const endMs = performance.now() + seconds * 1_000
  const statuses: Record<number, number> = {}
  const taken = { byId: [] as number[], lists: [] as number[], creates: [] as number[], ready: [] as number[] }
  const ask = async (kind: keyof typeof taken, path: string, key: string) => {
    const startMs = performance.now()
    const row = { Name: `Company ${number}` }
    // Bodies of one row and of two rows take turns.
    const write = kind === 'creates' ? { method: 'POST', body: number++ % 2 === 0 ? row : [row, row] } : undefined
    const status = await statusOf(url + path, key, AbortSignal.timeout(10_000), write)
    taken[kind].push(performance.now() - startMs)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  let number = 0
  const repeat = async (kind: keyof typeof taken, pauseMs: number, key: string, path: () => string) => {
    while (performance.now() < endMs) {
      await ask(kind, path(), key)
      await Bun.sleep(pauseMs)
    }
  }
  await Promise.all([
    ...keys.map((key) => repeat('byId', 2 * PAUSE_MS, key, () => `/Employees/${1 + (number++ % 5_000)}`)),
    ...keys.map((key) => repeat('lists', 10 * PAUSE_MS, key, () => `/Companies?Name=>C${number++}&PageSize=5`)),
    ...keys.map((key) => repeat('creates', 10 * PAUSE_MS, key, () => '/Companies')),
    repeat('ready', 100, '', () => '/readyz'),
  ])
  const { byId, lists, creates, ready } = taken
  return { byId: summary(byId), lists: summary(lists), creates: summary(creates), ready: summary(ready), statuses }
}

function summary(taken: readonly number[]): Latencies {
  const sorted = taken.toSorted((one, other) => one - other)
  const at = (part: number) => Math.round((sorted[Math.floor(part * (sorted.length - 1))] ?? 0) * 10) / 10
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

/** Runs the command line like `npm run roster`; returns its output. @throws Error if it fails */
async function roster(settings: Record<string, string>, ...words: string[]): Promise<string> {
  const command = run([...MAIN, ...words], settings)
  const code = await command.ended
  if (code !== 0) throw new Error(`ended with ${code}:\n${command.output()}`)
  return command.output()
}
