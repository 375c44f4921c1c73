import { until, workersOf } from '../../support/process.ts'
import type { Random } from '../../support/random.ts'
import { inParallel } from './check.ts'
import type { Cluster } from './cluster.ts'

/** A fault while clients write and list. */
export type Fault = (cluster: Cluster, random: Random) => Promise<unknown>

/** Sends a signal. @throws RangeError for process 0, which means the group of this process */
export const signal = (pid: number, name: NodeJS.Signals) => {
  if (!(pid > 0)) throw new RangeError(`${pid} is no process`)
  try {
    process.kill(pid, name)
  } catch {
    // the process has ended already
  }
}

export async function backends({ sql }: Cluster, names: string): Promise<number[]> {
  const rows = await sql`select pid from pg_stat_activity where application_name like ${names} and pid <> pg_backend_pid()`
  return rows.map(({ pid }) => pid)
}

/** Returns process ids of the server's backends whose last statement was a write. */
async function writingBackends({ sql }: Cluster): Promise<number[]> {
  const rows = await sql`
    select pid from pg_stat_activity where application_name like 'roster%' and query ~ '^(insert|update|delete|with "(W|First|Tried)")'
    order by state = 'active' desc, query_start desc limit 3`
  return rows.map(({ pid }) => pid)
}

/** Waits for a backend whose last statement was a write, and kills it. All other backends then end, and PostgreSQL recovers. */
export async function crashPostgres(cluster: Cluster) {
  const found: number[] = []
  await until(async () => found.push(...(await writingBackends(cluster))) > 0)
  signal(found[0] as number, 'SIGKILL')
}

export async function terminate(cluster: Cluster, names: string) {
  for (const pid of await backends(cluster, names)) await cluster.sql`select pg_terminate_backend(${pid})`.catch(() => undefined)
}

export async function frozen(pids: readonly number[], ms: number) {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await Bun.sleep(ms)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

/** Kills a worker after its statements were done, but before they were answered. */
async function kill(cluster: Cluster, worker: number) {
  const sent = Array.from({ length: 30 }, () => cluster.ask('/Absences', 'POST', { Type: 'a', Status: 'b' }))
  await Bun.sleep(5)
  signal(worker, 'SIGSTOP')
  await Bun.sleep(30)
  signal(worker, 'SIGKILL')
  await Promise.all(sent)
}

function workerOf({ pid }: Cluster, random: Random): number {
  return random.pick(workersOf(pid))
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

/** Statements that redefine tables, or disable the triggers that record changes, and undo this. */
const definitions: readonly ((sql: Cluster['sql']) => Promise<unknown>)[] = [
  (sql) => sql`truncate absence`,
  (sql) => sql`vacuum full absence`,
  (sql) => sql`alter table absence alter column reason type text collate "und-x-icu" using reason || ''`,
  (sql) =>
    sql.begin(async (transaction) => {
      await transaction`alter table absence disable trigger absence_updates`
      await transaction`alter table absence enable always trigger absence_updates`
    }),
  (sql) => sql`alter table absence add column if not exists extra integer`,
]

export const faults = {
  'a worker is killed': (cluster, random) => kill(cluster, workerOf(cluster, random)),
  async 'both workers are killed, one after the other'(cluster, random) {
    for (const worker of workersOf(cluster.pid)) {
      await kill(cluster, worker)
      await Bun.sleep(random.below(400))
    }
  },
  'the workers are exchanged': exchange,
  'a worker stands still': (cluster, random) => frozen([workerOf(cluster, random)], 1_500),
  'the supervisor stands still': ({ pid }) => frozen([pid], 2_000),
  'all connections are lost': (cluster) => terminate(cluster, 'roster%'),
  'backends that write stand still': async (cluster) => frozen(await writingBackends(cluster), 1_500),
  'writes wait for a lock until they are cancelled': (cluster) => lock(cluster, 3_600),
  async 'PostgreSQL crashes and recovers'(cluster) {
    await crashPostgres(cluster)
    await Bun.sleep(500)
  },
  'PostgreSQL is started again': (cluster) => cluster.restartPostgres('SIGINT'),
  'PostgreSQL stands still': async (cluster) => frozen([...(await backends(cluster, 'roster%')), cluster.postmasterPid], 1_200),
  async 'tables are truncated, rewritten and defined anew'({ sql }) {
    for (const define of definitions) {
      await define(sql).catch(() => undefined)
      await Bun.sleep(200)
    }
  },
  'lines of changes are deleted under copies that have not seen them': ({ sql }) => sql`
      with deleted as (delete from row_change returning transaction)
      update row_change_run set kept_from = pg_snapshot_xmax(pg_current_snapshot()) where exists (select from deleted)`,
  async 'a transaction is prepared, and committed later'({ sql }) {
    await sql
      .begin(async (transaction) => {
        await transaction`update absence set status = 'prepared' where id % 9 = 0`
        await transaction.unsafe("prepare transaction 'later'")
      })
      .catch(() => undefined)
    await Bun.sleep(400)
    await sql`commit prepared 'later'`.catch(() => undefined)
  },
  'a transaction writes very much, and stays open': ({ sql }) =>
    sql.begin(async (transaction) => {
      await transaction`insert into absence (type) select 'many' from generate_series(1, 3000)`
      for (let write = 0; write < 300; write++) await transaction`update absence set status = ${`${write}`} where id = 1`
      await Bun.sleep(600)
      await transaction`delete from absence where type = 'many'`
    }),
  /** Commits are in the WAL, but no one sees them until they no longer wait for the standby. */
  async 'commits wait for a standby that is not there'({ sql }) {
    for (const value of ['unreachable', '']) {
      await sql.unsafe(`alter system set synchronous_standby_names = '${value}'`)
      await sql`select pg_reload_conf()`
      if (value !== '') await Bun.sleep(600)
    }
  },
  'another server is killed': (cluster) => cluster.restart('elsewhere'),
  async 'more lists than there is memory for'(cluster, random) {
    const from = random.below(1_000_000)
    const paths = Array.from({ length: 1_500 }, (_, index) => `/Absences?Id=<${from + index}&PageSize=50`)
    await inParallel(paths, 6, async (path) => void (await cluster.ask(path)))
  },
} satisfies Record<string, Fault>
