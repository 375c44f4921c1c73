import { workersOf } from '../../../support/process.ts'
import type { Random } from '../../../support/random.ts'
import type { Cluster } from '../cluster.ts'
import {
  faults as all,
  backends,
  DEAF_MS,
  type Fault,
  frozen,
  signal,
  terminate,
  workerOf,
  writingBackends,
} from '../faults.ts'

/** More than the ring holds in which the supervisor tells of others' writes. */
const COMMITS = 20_000
/** A crash, and what the server needs to find out that the database is there again. */
const RESTART_DEAF_MS = 3_000

const SLOW_MS = 300

/** While a worker stands still, others write more than the log holds for it. */
async function overrun(cluster: Cluster, worker: number) {
  const [company] = await cluster.sql`insert into company (name) values ('flips') returning id`
  const written = cluster.sql
    .unsafe(`
      do $$ begin
        for turn in 1..${COMMITS} loop
          update company set enabled = not enabled where id = ${company?.id};
          commit;
        end loop;
      end $$`)
    .simple()
  signal(worker, 'SIGSTOP')
  await Promise.race([written, Bun.sleep(7_000)])
  signal(worker, 'SIGCONT')
  await written
}

/** While `work` goes on, each write of an absence takes a while before it is committed. */
async function slowed({ sql }: Cluster, work: () => Promise<unknown>) {
  await sql`
    create or replace function prove_slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(${sql.unsafe(String(SLOW_MS / 1_000))}); return null; end $$`
  await sql`create trigger prove_slow after insert or update or delete on absence execute function prove_slow()`
  try {
    await work()
  } finally {
    await sql`drop trigger prove_slow on absence`
  }
}

/** What it has sent is done while it stands still: it dies before it can tell of it. */
async function killSilenced(worker: number, random: Random) {
  await Bun.sleep(SLOW_MS + random.below(SLOW_MS))
  signal(worker, 'SIGSTOP')
  await Bun.sleep(SLOW_MS + random.below(SLOW_MS))
  signal(worker, 'SIGKILL')
}

/** What it has sent may be done when it has died. */
async function killWaiting(worker: number, random: Random) {
  await Bun.sleep(SLOW_MS + random.below(SLOW_MS))
  signal(worker, 'SIGKILL')
}

async function thrice(work: () => Promise<unknown>) {
  for (let times = 0; times < 3; times++) {
    await work()
    await Bun.sleep(900)
  }
}

const own: readonly Fault[] = [
  {
    name: 'a worker is killed at any moment',
    run: async (cluster, random) => signal(workerOf(cluster, random), 'SIGKILL'),
  },
  {
    name: 'workers are killed again and again',
    async run(cluster, random) {
      for (let kills = 0; kills < 4; kills++) {
        const worker = workersOf(cluster.pid).at(-random.below(2) - 1)
        if (worker !== undefined) signal(worker, 'SIGKILL')
        await Bun.sleep(random.below(600))
      }
    },
  },
  {
    name: 'a worker is killed that has stood still',
    async run(cluster, random) {
      const worker = workerOf(cluster, random)
      signal(worker, 'SIGSTOP')
      await Bun.sleep(random.below(300))
      signal(worker, 'SIGKILL')
    },
  },
  {
    name: 'a worker is killed that cannot tell what it has written',
    run: (cluster, random) => slowed(cluster, () => thrice(() => killSilenced(workerOf(cluster, random), random))),
  },
  {
    name: 'a worker is killed amid a write',
    run: (cluster, random) => slowed(cluster, () => thrice(() => killWaiting(workerOf(cluster, random), random))),
  },
  {
    name: 'the listener’s backend is ended again and again',
    deafMs: DEAF_MS,
    async run(cluster, random) {
      for (let ends = 0; ends < 4; ends++) {
        await terminate(cluster, 'roster listener')
        await Bun.sleep(random.below(500))
      }
    },
  },
  {
    name: 'backends that write are ended',
    async run(cluster, random) {
      for (let ends = 0; ends < 8; ends++) {
        const [backend] = await writingBackends(cluster)
        if (backend) await cluster.sql`select pg_terminate_backend(${backend})`
        await Bun.sleep(random.below(150))
      }
    },
  },
  {
    name: 'the listener’s backend stands still, for longer or shorter',
    deafMs: DEAF_MS,
    run: async (cluster, random) => frozen(await backends(cluster, 'roster listener'), 100 + random.below(4_000)),
  },
  { name: 'the supervisor stands still for long', deafMs: DEAF_MS, run: ({ pid }) => frozen([pid], 6_000) },
  { name: 'PostgreSQL is restarted', deafMs: RESTART_DEAF_MS, run: (cluster) => cluster.restartPostgres('SIGINT') },
  {
    name: 'PostgreSQL is ended at once, and started',
    deafMs: RESTART_DEAF_MS,
    run: (cluster) => cluster.restartPostgres('SIGQUIT'),
  },
  {
    name: 'the log is overrun while a worker stands still',
    othersPercent: 100,
    run: (cluster, random) => overrun(cluster, workerOf(cluster, random)),
  },
]

/** Those that write nothing to tables of which lists are judged. */
export const faultsAtAnyMoment: readonly Fault[] = [...own, ...all.filter(({ writes }) => !writes)]
