import { readFileSync } from 'node:fs'
import { Connection } from '../../support/connection.ts'
import { until, workersOf } from '../../support/process.ts'
import type { Random } from '../../support/random.ts'
import { inParallel } from './check.ts'
import type { Cluster } from './cluster.ts'

export interface Fault {
  readonly name: string
  /** So long the server may not know that it hears nothing of what others write. */
  readonly deafMs?: number
  /** What is sent may be done only when it is over, though no lock shows that it is on its way. */
  readonly holds?: true
  /** Of the writes meanwhile, so many are by others, whom it does not stop; of those that one makes after the other. */
  readonly othersPercent?: number
  /** It changes rows by itself. */
  readonly writes?: true
  /** Done while clients write and list. */
  run(cluster: Cluster, random: Random): Promise<unknown>
}

/** @throws RangeError for 0, which is the group of this process */
export const signal = (pid: number, name: NodeJS.Signals) => {
  if (!(pid > 0)) throw new RangeError(`${pid} is no process`)
  try {
    process.kill(pid, name)
  } catch {
    // it has ended by itself
  }
}

export async function backends({ sql }: Cluster, names: string): Promise<number[]> {
  const rows =
    await sql`select pid from pg_stat_activity where application_name like ${names} and pid <> pg_backend_pid()`
  return rows.map(({ pid }) => pid)
}

/** Backends of the server whose last statement was a write. */
export async function writingBackends({ sql }: Cluster): Promise<number[]> {
  const rows = await sql`
    select pid from pg_stat_activity where application_name like 'roster%' and query ~ '^(insert|update|delete|with "(W|First|Tried)")'
    order by state = 'active' desc, query_start desc limit 3`
  return rows.map(({ pid }) => pid)
}

/** Kills a backend whose last statement was a write, once there is one: all others end too, and PostgreSQL recovers. */
export async function crashPostgres(cluster: Cluster) {
  const found: number[] = []
  await until(async () => found.push(...(await writingBackends(cluster))) > 0)
  signal(found[0] as number, 'SIGKILL')
}

export async function terminate(cluster: Cluster, names: string) {
  for (const pid of await backends(cluster, names))
    await cluster.sql`select pg_terminate_backend(${pid})`.catch(() => undefined)
}

export async function frozen(pids: readonly number[], ms: number) {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await Bun.sleep(ms)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

/** What it has sent comes to something, and it does not live to tell of it. */
async function kill(cluster: Cluster, worker: number) {
  const sent = Array.from({ length: 30 }, () => cluster.ask('/Absences', 'POST', { Type: 'a', Status: 'b' }))
  await Bun.sleep(5)
  signal(worker, 'SIGSTOP')
  await Bun.sleep(30)
  signal(worker, 'SIGKILL')
  await Promise.all(sent)
}

/** While no server hears of writes, there is one to each table. */
async function deafen(cluster: Cluster, names: string) {
  await terminate(cluster, names)
  await cluster.sql`update absence set reason = 'unheard' where id % 3 = 0`.catch(() => undefined)
  await cluster.sql`update employee set department = 'b' where id % 3 = 0`.catch(() => undefined)
  await cluster.sql`update company set enabled = not enabled where id % 3 = 0`.catch(() => undefined)
}

export function workerOf({ pid }: Cluster, random: Random): number {
  return random.pick(workersOf(pid))
}

/** The processes of PostgreSQL's that a backend's parent is. */
function postmasterOf(backend: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${backend}/status`, 'utf8'))?.[1])
}

/** As long as a text may be. */
const LONG = '\u{1f600}'.repeat(200)
const LONG_NAMES = ['Title', 'MiddleName', 'WorkEmail', 'WorkPhone', 'Division', 'Location', 'JobTitle']
const LONG_WRITES = 25

/** While a worker stands still, others write more than the log holds for it. */
async function overrun(cluster: Cluster, random: Random) {
  const others = Array.from({ length: 6 }, (_, index) => writeLong(cluster, 25 + index))
  await Promise.all([frozen([workerOf(cluster, random)], 1_500), ...others])
}

async function writeLong({ url }: Cluster, id: number) {
  const connection = new Connection(url)
  for (let write = 0; write < LONG_WRITES; write++) {
    const body = JSON.stringify({ ...Object.fromEntries(LONG_NAMES.map((name) => [name, LONG])), JobLevel: `${write}` })
    const head = `PATCH /Employees/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey prove\r\nContent-Type: application/json\r\n`
    await connection.send(Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`), false)
  }
  connection.close()
}

async function lock({ sql }: Cluster, ms: number) {
  await sql.begin(async (transaction) => {
    await transaction`lock table absence in share row exclusive mode`
    await Bun.sleep(ms)
  })
}

async function exchange({ pid }: Cluster) {
  const before = workersOf(pid)
  signal(pid, 'SIGUSR2')
  await until(() => {
    const now = workersOf(pid)
    return now.length === 2 && !now.some((worker) => before.includes(worker))
  })
}

/** What the server needs to find out. */
export const DEAF_MS = 1_000

export const faults: readonly Fault[] = [
  { name: 'a worker is killed', writes: true, run: (cluster, random) => kill(cluster, workerOf(cluster, random)) },
  {
    name: 'both workers are killed, one after the other',
    writes: true,
    async run(cluster, random) {
      for (const worker of workersOf(cluster.pid)) {
        await kill(cluster, worker)
        await Bun.sleep(random.below(400))
      }
    },
  },
  { name: 'the workers are exchanged', run: exchange },
  { name: 'a worker stands still', run: (cluster, random) => frozen([workerOf(cluster, random)], 1_500) },
  { name: 'the supervisor stands still', deafMs: DEAF_MS, run: ({ pid }) => frozen([pid], 2_000) },
  {
    name: 'the listener loses its connection',
    writes: true,
    deafMs: DEAF_MS,
    run: (cluster) => deafen(cluster, 'roster listener'),
  },
  { name: 'all connections are lost', writes: true, deafMs: DEAF_MS, run: (cluster) => deafen(cluster, 'roster%') },
  {
    name: 'the listener’s backend stands still',
    deafMs: DEAF_MS,
    run: async (cluster) => frozen(await backends(cluster, 'roster listener'), 2_000),
  },
  {
    name: 'backends that write stand still',
    holds: true,
    run: async (cluster) => frozen(await writingBackends(cluster), 6_500),
  },
  { name: 'writes wait for a lock until they are cancelled', run: (cluster) => lock(cluster, 3_600) },
  {
    name: 'PostgreSQL crashes and recovers',
    deafMs: DEAF_MS,
    async run(cluster) {
      await crashPostgres(cluster)
      await Bun.sleep(500)
    },
  },
  {
    name: 'PostgreSQL stands still',
    holds: true,
    deafMs: DEAF_MS,
    async run(cluster) {
      const [backend] = await backends(cluster, 'roster%')
      await frozen([...(await backends(cluster, 'roster%')), postmasterOf(backend as number)], 1_200)
    },
  },
  { name: 'more is written than the log holds', writes: true, run: overrun },
  {
    name: 'more lists than there is memory for',
    async run(cluster, random) {
      const from = random.below(1_000_000)
      const paths = Array.from({ length: 1_500 }, (_, index) => `/Absences?Id=<${from + index}&PageSize=50`)
      await inParallel(paths, 6, async (path) => void (await cluster.ask(path)))
    },
  },
]
