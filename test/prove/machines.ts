import { rmSync } from 'node:fs'
import type postgres from 'postgres'
import { generateKey, hashKey, idOf } from '../../src/admit/apiKey.ts'
import { connectTo } from '../../src/execute/connect.ts'
import { KeyStore } from '../../src/keys/store.ts'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { startEmbedded } from '../../src/postgres/embedded.ts'
import { copyCluster } from '../support/cluster.ts'
import { databaseList } from '../support/databaseList.ts'
import { connect } from '../support/postgres.ts'
import { freePort, postmasterOf, type RunningProgram, runMain, temporaryFolder, until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { hasRedis, type RunningRedis, startRedis } from '../support/redis.ts'
import { ask } from './http.ts'
import { SCRIPTS } from './machines/scripts.ts'

const KEY = 'the-key-of-the-proofs'
const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
/** Two machines differ in their addresses and folders; they share PostgreSQL and Redis. */
const HOSTS = ['127.0.0.2', '127.0.0.3']
const STATUSES = ['Approved', 'Requested', 'Declined', null]
const LISTS: [path: string, table: string, where: string][] = [
  ['Absences?PageSize=20', 'absence', 'true'],
  ['Absences?PageSize=20&Page=3', 'absence', 'true'],
  ['Absences?Status=Approved&PageSize=10', 'absence', "status = 'Approved'"],
  ['Absences?Period.Days=%3E%3D3&PageSize=10&sort=-Start', 'absence', 'period_days >= 3'],
  ['Absences?EmployeeId=3&PageSize=50', 'absence', 'employee_id = 3'],
  ['Employees?PageSize=10&sort=-KnownAs', 'employee', 'true'],
  ['Employees?CompanyId=2&PageSize=10', 'employee', 'company_id = 2'],
  ['Companies?Enabled=true&PageSize=10', 'company', 'enabled'],
]

const LISTENS = /listens on (http:\S+?),/
const SETTLE_MS_MAX = 10_000

/** What happens in the midst of a round. */
export type Disturbance = 'nothing' | 'visibility' | 'server' | 'redis' | 'postgres'

interface Options {
  seed: number
  roundMs: number
  /** One for each round. */
  disturbances: readonly Disturbance[]
}

export interface Found {
  readonly counts: Record<string, number>
  /** Lists that differ from the database after silence, and limits that were not exact. */
  readonly differences: string[]
  /** After silence, how long until all lists of both servers were the database's. */
  readonly settledMs: number[]
  /** From the revocation of a key until both servers have refused it. */
  readonly revokedMs: number
}

/** Two servers that write, and what else writes to their database, beside disturbances; after each round all lists are compared. */
export async function proveMachines({ seed, roundMs, disturbances }: Options): Promise<Found> {
  const site = await Site.start(new Random(seed))
  try {
    await site.proveLimit()
    const revokedMs = await site.proveRevocation()
    for (const disturbance of disturbances) await site.round(roundMs, disturbance)
    const { counts, differences, settledMs } = site
    return { counts, differences, settledMs, revokedMs }
  } finally {
    await site.stop()
  }
}

interface Machine {
  readonly url: string
  readonly settings: Record<string, string>
  program: RunningProgram
}

class Site {
  readonly counts: Record<string, number> = {}
  readonly differences: string[] = []
  readonly settledMs: number[] = []

  private constructor(
    private readonly random: Random,
    private readonly folder: ReturnType<typeof temporaryFolder>,
    private readonly database: Awaited<ReturnType<typeof startEmbedded>>,
    private readonly redis: RunningRedis | null,
    private readonly machines: readonly Machine[],
    private readonly sql: postgres.Sql,
  ) {}

  static async start(random: Random): Promise<Site> {
    const folder = temporaryFolder()
    copyCluster(folder.path)
    const database = await startEmbedded({
      dataDir: folder.path,
      settings: { fsync: 'off', synchronous_commit: 'off' },
      access: 'everything',
    })
    const redis = hasRedis ? await startRedis() : null
    const machines = HOSTS.map((HOST) => launch(HOST, database.url, redis))
    await Promise.all(machines.map(({ program }) => program.waitFor(LISTENS)))
    const sql = connect(database.url)
    const site = new Site(random, folder, database, redis, machines, sql)
    await site.fill()
    return site
  }

  private async fill() {
    await this.sql.unsafe(`
      insert into company (name, enabled) select 'Company ' || n, n % 2 = 0 from generate_series(1, 20) as n;
      insert into employee (known_as, company_id, company_key)
        select 'Employee ' || n, company.id, name_key from generate_series(1, 60) as n join company on company.id = 1 + n % 10;
      insert into absence (status, type, start, period_days, employee_id, employee_key)
        select 'Approved', 'Holiday', '2024-01-01'::timestamptz + n * interval '1 hour', n % 7, employee.id, display_name_key
        from generate_series(1, 400) as n join employee on employee.id = 1 + n % 50`)
  }

  /** One key's limit, over both at once: exact, and no two answers have the same number left. */
  async proveLimit() {
    for (let attempt = 1; this.redis !== null && attempt <= 5; attempt++) {
      const limit = 200 + this.random.below(100)
      const key = await this.key(`limited ${attempt}`, `${limit}/1h`)
      await this.known(key, 2)
      const found = await Promise.all(this.machines.map(({ url }) => ask(`${url}/Companies?PageSize=1`, key, limit, 4)))
      // A machine that is too busy for the store's patience decides alone for a moment.
      if (this.machines.some(({ program }) => program.output().includes('store unreachable'))) continue
      const remaining = found.flatMap((answers) => answers.remaining)
      const asked = 2
      if (remaining.length !== limit - asked || new Set(remaining).size !== remaining.length)
        this.differences.push(`of ${limit - asked} ${remaining.length} were admitted, ${new Set(remaining).size} numbers`)
      return this.count('limits')
    }
  }

  async proveRevocation(): Promise<number> {
    const key = await this.key('revoked', null)
    await this.known(key, 2)
    const store = new KeyStore(this.database.url)
    await store.revoke('revoked')
    const sinceMs = performance.now()
    let acceptedMs = 0
    await until(async () => {
      const askedMs = performance.now() - sinceMs
      const statuses = await Promise.all(this.machines.map(({ url }) => statusOf(`${url}/Companies?PageSize=1`, key)))
      if (statuses.includes(200)) acceptedMs = askedMs
      return statuses.every((status) => status === 401)
    })
    await store.end()
    return Math.round(acceptedMs)
  }

  private async key(name: string, limits: string | null): Promise<string> {
    const text = generateKey()
    const store = new KeyStore(this.database.url)
    await store.create({ id: idOf(text), name, hash: hashKey(text).toString('hex'), rights: '*:read', limits })
    await store.end()
    return text
  }

  /** Asks each of the first `count` machines until it knows the key: the one request that it admits counts. */
  private async known(key: string, count: number) {
    for (const { url } of this.machines.slice(0, count))
      await until(async () => (await statusOf(`${url}/Companies?PageSize=1`, key)) === 200)
  }

  async round(forMs: number, disturbance: Disturbance) {
    const untilMs = performance.now() + forMs
    const isOver = () => performance.now() > untilMs
    const clients = this.machines.flatMap(({ url }) => [this.client(url, isOver), this.client(url, isOver)])
    const disturb = Bun.sleep((forMs * (20 + this.random.below(40))) / 100).then(() => this.disturb(disturbance))
    await Promise.all([...clients, this.writeOutside(isOver), disturb])
    this.count(disturbance)
    await this.compare()
  }

  private async client(url: string, isOver: () => boolean) {
    while (!isOver()) {
      const work = this.random.chance(50) ? this.read(url) : this.write(url)
      const status = await work.catch(() => 0)
      this.count(status === 0 ? 'lost' : `answers ${Math.floor(status / 100)}xx`)
      if (status === 0) await Bun.sleep(20)
    }
  }

  private async read(url: string): Promise<number> {
    const response = await fetch(`${url}/${this.random.pick(LISTS)[0]}`, { headers })
    await response.arrayBuffer()
    return response.status
  }

  private async write(url: string): Promise<number> {
    const { random } = this
    const absence = { Status: random.pick(STATUSES), Period: { Days: random.below(7) } }
    const writes: (() => [method: string, path: string, body?: object])[] = [
      () => ['PATCH', `Absences/${1 + random.below(400)}`, absence],
      () => ['PATCH', `Absences/${1 + random.below(400)}`, { Status: random.pick(STATUSES) }],
      () => ['POST', 'Absences', { ...absence, EmployeeId: 1 + random.below(50) }],
      () => ['DELETE', `Absences/${1 + random.below(400)}`],
      () => ['PATCH', `Companies/${1 + random.below(20)}`, { Name: `N${random.below(99)}`, Enabled: random.chance(50) }],
      () => ['PATCH', `Employees/${1 + random.below(60)}`, { KnownAs: `K${random.below(99)}`, CompanyId: 1 + random.below(20) }],
      () => ['PATCH', `Employees/${1 + random.below(60)}`, { ManagerId: 1 + random.below(60) }],
    ]
    const [method, path, body] = random.pick(writes)()
    const response = await fetch(`${url}/${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    await response.arrayBuffer()
    return response.status
  }

  /** What psql would send: scripts over a session whose settings are not the servers'. */
  private async writeOutside(isOver: () => boolean) {
    const settings = { DateStyle: 'German', TimeZone: 'America/New_York', lock_timeout: 200 }
    while (!isOver()) {
      const writer = connectTo(this.database.url, { max: 1, connection: settings })
      await writer
        .unsafe(this.random.pick(SCRIPTS)(this.random))
        .simple()
        .then(
          () => this.count('scripts'),
          () => this.count('scripts, undone'),
        )
      await writer.end({ timeout: 1 }).catch(() => undefined)
      await Bun.sleep(this.random.below(60))
    }
  }

  private async disturb(disturbance: Disturbance) {
    const victim = this.random.pick(this.machines)
    if (disturbance === 'visibility') await this.holdCommits()
    if (disturbance === 'server') await this.restart(victim)
    if (disturbance === 'redis' && this.redis) {
      await this.redis.kill()
      await Bun.sleep(100)
      await this.redis.restart()
    }
    if (disturbance === 'postgres') {
      process.kill(postmasterOf(this.folder.path) as number, 'SIGKILL')
      await this.database.failed
      await this.database.restart()
    }
  }

  /** A standby that nothing is: commits are in the log, and nothing sees them until it is no more waited for. */
  private async holdCommits() {
    const set = async (value: string) => {
      await this.sql.unsafe(`alter system set synchronous_standby_names = '${value}'`)
      await this.sql`select pg_reload_conf()`
    }
    await set('unreachable')
    await Bun.sleep(600)
    await set('')
  }

  private async restart(machine: Machine) {
    machine.program.killGroup('SIGKILL')
    await machine.program.ended
    machine.program = runMain(machine.settings)
    await machine.program.waitFor(LISTENS)
  }

  /** No one writes any more: both machines must come to say what the database says, and go on to. */
  private async compare() {
    const sinceMs = performance.now()
    let wrong: string[] = ['not compared']
    while (wrong.length > 0 && performance.now() - sinceMs < SETTLE_MS_MAX) {
      wrong = await this.wrongLists().catch((error) => [String(error)])
      if (wrong.length > 0) await Bun.sleep(50)
    }
    this.settledMs.push(Math.round(performance.now() - sinceMs))
    this.differences.push(...wrong)
  }

  private async wrongLists(): Promise<string[]> {
    const wrong: string[] = []
    for (const [path, table, where] of LISTS) {
      const [row] = await this.sql.unsafe(`select count(*)::int as total from ${table} where ${where}`)
      for (const { url } of this.machines) {
        // As it is kept, once more, and as the database has it.
        const [kept, again] = [await list(url, path), await list(url, path)]
        const truth = JSON.stringify(await databaseList(`${url}/${path}`, headers))
        this.count('compared')
        if (kept.rows !== truth || again.rows !== truth || kept.total !== row?.total || again.total !== row?.total)
          wrong.push(
            `${url}/${path}: ${kept.total}, ${again.total}, not ${row?.total}${kept.rows === truth ? '' : ', and other rows'}`,
          )
      }
    }
    return wrong
  }

  private count(what: string) {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  async stop() {
    for (const { program } of this.machines) program.kill('SIGTERM')
    await Promise.all(this.machines.map(({ program }) => program.ended))
    await this.sql.end({ timeout: 1 })
    await this.database.stop()
    await this.redis?.stop()
    for (const { settings } of this.machines) {
      rmSync(memoryFolderOf(settings.DATA_DIR as string, Number(settings.PORT)), { recursive: true, force: true })
      rmSync(settings.DATA_DIR as string, { recursive: true, force: true })
    }
    this.folder.remove()
  }
}

function launch(HOST: string, DATABASE_URL: string, redis: RunningRedis | null): Machine {
  const PORT = String(freePort())
  const settings = {
    ...{ HOST, PORT, DATABASE_URL, DATA_DIR: temporaryFolder().path, BOOTSTRAP_API_KEY: KEY },
    ...{ WORKERS: '1', DATABASE_POOL: '6', LOG_LEVEL: 'info' },
    ...{ RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '8', ...(redis ? { RATE_LIMIT_STORE: redis.url } : {}) },
  }
  return { url: `http://${HOST}:${PORT}`, settings, program: runMain(settings) }
}

async function statusOf(url: string, key: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization: `ApiKey ${key}` } })
  await response.arrayBuffer()
  return response.status
}

async function list(url: string, path: string) {
  const response = await fetch(`${url}/${path}`, { headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${url}/${path} was answered with ${response.status}: ${text}`)
  return { rows: JSON.stringify(JSON.parse(text)), total: Number(response.headers.get('x-total-count')) }
}
