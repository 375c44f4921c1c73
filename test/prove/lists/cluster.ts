import type { ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { memoryFolderOf } from '../../../src/os/folder.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/postgres/embedded.ts'
import { prepareRunner } from '../../../src/postgres/runner.ts'
import { copyCluster } from '../../support/cluster.ts'
import { isAlive, type RunningProgram, run, until } from '../../support/process.ts'

export interface Answer {
  /** 0: there was none, as from a worker that has died. */
  readonly status: number
  /** Of a list, else NaN. */
  readonly total: number
  readonly link: string
  readonly text: string
}

export const KEY = 'prove-key-0123456789'
/** What links begin with, on both servers. */
const PUBLIC_URL = 'http://roster.test'
const ANSWER_MS_MAX = 12_000
const ANSWERS_MS_MAX = 20_000
// What a process has written survives the end of PostgreSQL's processes, though not of the machine.
const SETTINGS = { fsync: 'off', full_page_writes: 'off', max_prepared_transactions: '5' }

/** The servers: the one that is judged, one that keeps nothing in memory, and one as on another machine. */
type Name = 'cached' | 'plain' | 'elsewhere'
const SERVERS: Record<Name, Record<string, string>> = {
  cached: { WORKERS: '2' },
  plain: { WORKERS: '1', MEMORY_MB: '0' },
  elsewhere: { WORKERS: '1' },
}

interface Server {
  readonly program: RunningProgram
  readonly url: string
}

/** A server of two workers, two others on the same database, and plain connections. */
export class Cluster {
  /** No server knows of this connection: what it writes comes from elsewhere. */
  readonly sql: postgres.Sql
  /** Once it was started again. */
  private postmaster: ChildProcess | null = null

  private constructor(
    private readonly folder: string,
    private readonly embedded: EmbeddedPostgres,
    private readonly servers: Readonly<Partial<Record<Name, Server>>> & { readonly cached: Server },
  ) {
    // PostgreSQL is stopped, killed and frozen meanwhile, on a machine that may be busy with other things too.
    const patient = { connect_timeout: 300, backoff: () => 0.05 }
    this.sql = postgres(embedded.url, { max: 4, onnotice: () => undefined, fetch_types: false, ...patient })
  }

  /** `environment`: of the first server, beside what is needed. `isAlone`: the others are not needed. */
  static async open(environment: Record<string, string> = {}, { isAlone = false } = {}): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'roster-prove-'))
    copyCluster(join(folder, 'database'))
    const embedded = await startEmbedded({
      dataDir: join(folder, 'database'),
      settings: SETTINGS,
      access: 'everything',
    })
    const start = async (name: Name, more: Record<string, string>): Promise<Server> => {
      mkdirSync(join(folder, name))
      const command = [process.execPath, '--no-env-file', 'src/main.ts']
      const own = { ...settings(embedded.url, join(folder, name)), ...SERVERS[name], ...more }
      const program = run(command, own)
      const [, url = ''] = await program.waitFor(/listens on (http:\S+?),/)
      return { program, url }
    }
    // The first one migrates.
    const cached = await start('cached', environment)
    if (isAlone) return new Cluster(folder, embedded, { cached })
    const [plain, elsewhere] = await Promise.all([start('plain', {}), start('elsewhere', {})])
    return new Cluster(folder, embedded, { cached, plain, elsewhere })
  }

  get url(): string {
    return this.servers.cached.url
  }

  /** The supervisor's process. */
  get pid(): number {
    return this.servers.cached.program.pid
  }

  /** The process of PostgreSQL that starts all others. */
  get postmasterPid(): number {
    const { cluster } = prepareRunner(join(this.folder, 'database'), {})
    return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** What the server has logged. */
  get log(): string {
    return this.servers.cached.program.output()
  }

  /** Over a connection of its own, so that any worker may get it. */
  async ask(path: string, method = 'GET', body?: unknown): Promise<Answer> {
    return ask(this.url + path, method, body)
  }

  /** The same from the server that keeps nothing. */
  async askPlain(path: string): Promise<Answer> {
    return ask(this.servers.plain?.url + path, 'GET')
  }

  /** The same of the other machine's server. */
  async askElsewhere(path: string, method = 'GET', body?: unknown): Promise<Answer> {
    return ask(this.servers.elsewhere?.url + path, method, body)
  }

  /** All workers are there, and so is the database, for all servers. */
  async untilAnswered(): Promise<void> {
    const untilMs = performance.now() + ANSWERS_MS_MAX
    for (let answered = 0; answered < 12; ) {
      const path = '/Companies?PageSize=5'
      const all = await Promise.all(Object.values(this.servers).map(({ url }) => ask(url + path, 'GET')))
      const isGood = all.every(({ status }) => status === 200)
      answered = isGood ? answered + 1 : 0
      if (!isGood) await Bun.sleep(100)
      if (performance.now() > untilMs) throw new Error(`the server does not answer again: ${JSON.stringify(all)}`)
    }
  }

  /** As by pg_ctl: SIGINT fast, SIGQUIT immediate. Resolves when it answers again. */
  async restartPostgres(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const dataDir = join(this.folder, 'database')
    const runner = prepareRunner(dataDir, {})
    const pid = this.postmasterPid
    const [, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    process.kill(pid, signal)
    await until(() => !isAlive(pid))
    const log = openSync(join(dataDir, 'postgres.log'), 'a')
    this.postmaster = runner.launch('postgres', args, log)
    closeSync(log)
    await until(() =>
      this.sql`select 1`.then(
        () => true,
        () => false,
      ),
    )
  }

  async close(): Promise<void> {
    const programs = Object.values(this.servers).map(({ program }) => program)
    for (const program of programs) program.kill('SIGTERM')
    await Promise.all(programs.map(({ ended }) => ended))
    await this.sql.end({ timeout: 1 })
    const { postmaster } = this
    if (postmaster) {
      const ended = new Promise((done) => postmaster.once('exit', done))
      postmaster.kill('SIGINT')
      await ended
    }
    await this.embedded.stop()
    for (const name of Object.keys(this.servers))
      rmSync(memoryFolderOf(join(this.folder, name), 0), { recursive: true, force: true })
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function settings(databaseUrl: string, dataDir: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    PORT: '0',
    PUBLIC_URL,
    LOG_LEVEL: 'warn',
    BOOTSTRAP_API_KEY: KEY,
    RATE_LIMITS: '1000000/1s',
    RATE_LIMIT_CLIENTS: '4',
  }
}

async function ask(url: string, method: string, body?: unknown): Promise<Answer> {
  const headers: Record<string, string> = { authorization: `ApiKey ${KEY}` }
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
