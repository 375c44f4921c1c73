import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { withDeadline } from '../../../src/os/time.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/postgres/embedded.ts'
import { prepareRunner } from '../../../src/postgres/runner.ts'
import { copyCluster } from '../../support/cluster.ts'
import { isAlive, temporaryFolder, until } from '../../support/process.ts'
import { scrape } from '../../support/scrape.ts'
import { KEY } from '../../support/server.ts'
import { type ServerProcess, ServerProcesses } from '../../support/serverProcesses.ts'

export interface Answer {
  /** Status; 0 without a response, such as from a worker that has died. */
  readonly status: number
  /** Total of a list; NaN for other requests. */
  readonly total: number
  readonly link: string
  readonly text: string
}

/** Base address in links, the same for all servers. */
const PUBLIC_URL = 'http://roster.test'
const ANSWER_MS_MAX = 12_000
const ANSWERS_MS_MAX = 20_000
/** Pause in ms before another request to a busy server. */
const BUSY_MS = 200
/** Time in ms after which a direct statement counts as lost, and then the same for the statements of a whole round. */
const STATEMENT_MS_MAX = 10_000
const ROUND_MS_MAX = 60_000
// Without flushes, writes survive the end of PostgreSQL's processes, but not of the machine.
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_prepared_transactions: '5' }

/** Names of the servers: the server under test, a server without memory, and a server as if on another machine. */
export type Name = 'cached' | 'plain' | 'elsewhere'
const SERVERS: Record<Name, Record<string, string>> = {
  cached: { WORKERS: '2', ADMIN_PORT: '0' },
  plain: { WORKERS: '1', MEMORY_MB: '0' },
  elsewhere: { WORKERS: '1' },
}

interface Options {
  /** Settings of the server under test, in addition to the necessary ones. */
  readonly cached?: Record<string, string>
  /** True if only the server under test is needed. */
  readonly isAlone?: boolean
}

/** A server of two workers, two other servers on the same database, and direct connections to the database. */
export class Cluster {
  /** Direct connections to the database, for writes of other programs. */
  sql: postgres.Sql
  /** Process of PostgreSQL; null before its first restart. */
  private postmaster: ChildProcess | null = null
  private readonly servers = new Map<Name, ServerProcess>()
  private readonly processes = new ServerProcesses()

  private constructor(
    private readonly folder: ReturnType<typeof temporaryFolder>,
    private readonly embedded: EmbeddedPostgres,
    private readonly options: Options,
  ) {
    this.sql = this.connect()
  }

  static async open(options: Options = {}): Promise<Cluster> {
    const folder = temporaryFolder()
    copyCluster(folder.path)
    const embedded = await startEmbedded({ dataDir: folder.path, settings: SETTINGS, access: 'everything' })
    const cluster = new Cluster(folder, embedded, options)
    // The first server migrates.
    await cluster.start('cached')
    if (!options.isAlone) await Promise.all([cluster.start('plain'), cluster.start('elsewhere')])
    return cluster
  }

  private connect(): postgres.Sql {
    // These options are patient, because PostgreSQL is stopped, killed and frozen, and the machine may be busy.
    const patient = { connect_timeout: 300, backoff: () => 0.05 }
    return postgres(this.embedded.url, { max: 4, onnotice: () => undefined, fetch_types: false, ...patient })
  }

  /** Opens new direct connections, and rejects all statements of the old ones. */
  private async reconnect(): Promise<void> {
    const old = this.sql
    this.sql = this.connect()
    await old.end({ timeout: 0 })
  }

  /**
   * Waits for direct statements, or for a promise that depends on them. After a restart of PostgreSQL, the driver may never
   * settle a statement; after `msMax` it is rejected.
   */
  async settled<T>(statements: Promise<T>, msMax = ROUND_MS_MAX): Promise<T> {
    const isLate = await withDeadline(
      statements.then(
        () => false,
        () => false,
      ),
      msMax,
      () => true,
    )
    if (isLate) await this.reconnect()
    return statements
  }

  private async start(name: Name, dataDir = this.processes.dataFolder()): Promise<void> {
    const own = name === 'cached' ? this.options.cached : {}
    const common = { DATABASE_URL: this.embedded.url, DATA_DIR: dataDir, PUBLIC_URL }
    this.servers.set(name, await this.processes.start({ ...common, RATE_LIMIT_CLIENTS: '4', ...SERVERS[name], ...own }))
  }

  /** Kills all processes of a server, and starts it again on its data. */
  async restart(name: Name): Promise<void> {
    const { server, dataDir } = this.of(name)
    server.killGroup('SIGKILL')
    await server.ended
    await this.start(name, dataDir)
  }

  private of(name: Name): ServerProcess {
    return this.servers.get(name) as ServerProcess
  }

  get databaseUrl(): string {
    return this.embedded.url
  }

  get url(): string {
    return this.urlOf('cached')
  }

  urlOf(name: Name): string {
    return this.of(name).url
  }

  /**
   * Returns the number of lists and summaries of the server under test so far: by the source of the answer, by how memory found a
   * list, and by why the database had to find it.
   */
  async origins(): Promise<Record<string, number>> {
    const [, admin = ''] = await this.of('cached').server.waitFor(/Metrics: (http:\S+)\/metrics/)
    const series = /^roster_(memory_|database_|)(lists|summaries)_total\{\w+="(\w+)"\} (\d+)$/gm
    const found = [...(await scrape(admin)).matchAll(series)]
    return Object.fromEntries(
      found.map(([, from = '', what, label, number]) => [`${what}, ${from.replace('_', ': ')}${label}`, Number(number)]),
    )
  }

  /** Process of the supervisor. */
  get pid(): number {
    return this.of('cached').server.pid
  }

  /** Id of the PostgreSQL process that starts all others. */
  get postmasterPid(): number {
    const { cluster } = prepareRunner(this.folder.path, {})
    return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** Sends a request over a new connection, so that any worker may get it. */
  ask(path: string, method = 'GET', body?: unknown, server: Name = 'cached', accept = 'application/json'): Promise<Answer> {
    return ask(this.urlOf(server) + path, method, body, accept)
  }

  /** Sends a request, and repeats it while the server answers 503: the database reads lists of one key in turns. */
  async askPatiently(path: string, server: Name, accept?: string): Promise<Answer> {
    const untilMs = performance.now() + ANSWERS_MS_MAX
    for (;;) {
      const answer = await this.ask(path, 'GET', undefined, server, accept)
      if (answer.status !== 503 || performance.now() > untilMs) return answer
      await Bun.sleep(BUSY_MS)
    }
  }

  /** Waits until all workers of all servers answer, and so does the database. */
  async untilAnswered(): Promise<void> {
    const untilMs = performance.now() + ANSWERS_MS_MAX
    for (let answered = 0; answered < 12; ) {
      const path = '/Companies?PageSize=5'
      const all = await Promise.all([...this.servers.keys()].map((name) => this.ask(path, 'GET', undefined, name)))
      const isGood = all.every(({ status }) => status === 200)
      answered = isGood ? answered + 1 : 0
      if (!isGood) await Bun.sleep(100)
      if (performance.now() > untilMs) throw new Error(`the server does not answer again: ${JSON.stringify(all)}`)
    }
  }

  /** Waits until the statements of all requests have ended, also of requests without a response. */
  async untilQuiet(): Promise<void> {
    for (let quiet = 0; quiet < 3; await Bun.sleep(20)) {
      const [row] = await this.sql`
        select count(*)::int as writing from pg_stat_activity
        where pid <> pg_backend_pid() and (backend_xid is not null or application_name like 'roster%' and state <> 'idle')`
      quiet = row?.writing === 0 ? quiet + 1 : 0
    }
  }

  /**
   * Restarts PostgreSQL as pg_ctl does: SIGINT means a fast stop, SIGQUIT an immediate stop. Resolves when PostgreSQL answers
   * again.
   */
  async restartPostgres(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const runner = prepareRunner(this.folder.path, {})
    const pid = this.postmasterPid
    const [, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    process.kill(pid, signal)
    await until(() => !isAlive(pid))
    // Statements that were sent to the old process get no answer.
    await this.reconnect()
    this.postmaster = runner.launch('postgres', args).child
    await until(() =>
      this.settled(this.sql`select 1`, STATEMENT_MS_MAX).then(
        () => true,
        () => false,
      ),
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.servers.values()].map(({ server }) => server.stop()))
    await this.sql.end({ timeout: 1 })
    const { postmaster } = this
    if (postmaster) {
      const ended = new Promise((done) => postmaster.once('exit', done))
      postmaster.kill('SIGINT')
      await ended
    }
    await this.embedded.stop()
    await this.processes.end()
    this.folder.remove()
  }
}

async function ask(url: string, method: string, body: unknown, accept: string): Promise<Answer> {
  const headers: Record<string, string> = { authorization: `ApiKey ${KEY}`, accept }
  const init: RequestInit = { method, headers, keepalive: false, signal: AbortSignal.timeout(ANSWER_MS_MAX) }
  if (body !== undefined) {
    headers['content-type'] = 'application/json'
    init.body = typeof body === 'string' ? body : JSON.stringify(body)
  }
  try {
    const response = await fetch(url, init)
    const total = response.headers.get('x-total-count')
    const link = response.headers.get('link') ?? ''
    const text = await response.text()
    return { status: response.status, total: total === null ? Number.NaN : Number(total), link, text }
  } catch (error) {
    return { status: 0, total: Number.NaN, link: '', text: String(error) }
  }
}
