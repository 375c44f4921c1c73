import { median } from '../../../bench/results.ts'
import { workersOf } from '../../support/process.ts'
import { resourcesOf } from '../../support/resources.ts'
import type { Cluster } from '../lists/cluster.ts'

/** Resources of the server at a moment. */
interface Sample {
  readonly ms: number
  readonly workersRssMb: readonly number[]
  readonly supervisorRssMb: number
  readonly veteranRssMb: number
  /** Number of backends; null if PostgreSQL did not answer. */
  readonly backends: number | null
}

/** Parts of the run whose memory is compared: from `WARM_PART` to `WARM_END_PART`, and after `LAST_PART`. */
const [WARM_PART, WARM_END_PART, LAST_PART] = [0.25, 0.5, 0.8]
/** Tolerances: a heap gives memory back late. */
const RSS_FACTOR_MAX = 1.3
const RSS_MORE_MB_MAX = 48
/**
 * Maximum number of connections of an idle process to PostgreSQL: pools keep the connections that they have opened.
 * docs/operations/run.md
 */
const WORKER_CONNECTIONS_MAX = 14
const SUPERVISOR_CONNECTIONS_MAX = 3
const ASK_MS_MAX = 500
/** Maximum time until a server without clients has closed what it no longer uses. */
const REST_MS_MAX = 60_000
/**
 * Matches the name of a worker's connection: the pool, which begins with the worker's id, and the number of times it was
 * replaced.
 */
const CONNECTION = /^(?<pool>roster (?<worker>[\w-]{36})(?:\/\w+)?)\/(?<number>\d+)$/

/**
 * Samples the processes of a server. Compares their memory at the end of a run with their memory after the warm-up. Compares
 * their descriptors and connections only at rest, because their number during the run depends on how busy the machine is.
 */
export class Watch {
  private readonly samples: Sample[] = []
  private readonly startMs = performance.now()
  private readonly startDescriptors: readonly number[]

  constructor(
    private readonly cluster: Cluster,
    private readonly veteran: number,
  ) {
    this.startDescriptors = this.descriptors()
  }

  /** Descriptors of the supervisor and of the oldest worker. */
  private descriptors(): readonly number[] {
    return resourcesOf([this.cluster.pid, this.veteran]).descriptors
  }

  async look(): Promise<void> {
    const { pid } = this.cluster
    const [supervisorRssMb = 0, veteranRssMb = 0] = resourcesOf([pid, this.veteran]).rssMb
    this.samples.push({
      ms: performance.now() - this.startMs,
      workersRssMb: resourcesOf(workersOf(pid)).rssMb,
      supervisorRssMb,
      veteranRssMb,
      backends: await Promise.race([this.countBackends(), Bun.sleep(ASK_MS_MAX).then(() => null)]),
    })
  }

  private countBackends(): Promise<number | null> {
    const { sql } = this.cluster
    return sql`select count(*)::int as count from pg_stat_activity where application_name like 'roster%'`.then(
      ([row]) => row?.count,
      () => null,
    )
  }

  /** Returns a report, and texts about memory that has grown. */
  judge(): { report: Record<string, unknown>; grown: string[] } {
    const endMs = this.samples.at(-1)?.ms ?? 0
    const part = (from: number, to: number) => this.samples.filter(({ ms }) => ms >= from * endMs && ms <= to * endMs)
    const warm = part(WARM_PART, WARM_END_PART)
    const last = part(LAST_PART, 1)
    const grown: string[] = []
    const compare = (what: string, of: (sample: Sample) => number) => {
      const before = median(warm.map(of))
      const after = median(last.map(of))
      if (!(after <= before * RSS_FACTOR_MAX + RSS_MORE_MB_MAX)) grown.push(`${what} grew from ${before} to ${after} MB`)
      return { warm: round(before), end: round(after) }
    }
    const all = this.samples.flatMap(({ workersRssMb }) => workersRssMb)
    const report = {
      samples: this.samples.length,
      workerRssMb: { mean: round(all.reduce((sum, mb) => sum + mb, 0) / all.length), max: round(Math.max(...all)) },
      oldestWorkerRssMb: compare('the memory of the oldest worker', ({ veteranRssMb }) => veteranRssMb),
      supervisorRssMb: compare('the memory of the supervisor', ({ supervisorRssMb }) => supervisorRssMb),
      backendsMax: Math.max(...this.samples.map(({ backends }) => backends ?? 0)),
    }
    return { report, grown }
  }

  /** Returns descriptors and connections that a server without clients should have closed. Waits up to `REST_MS_MAX` for this. */
  async leaksAtRest(): Promise<string[]> {
    const untilMs = performance.now() + REST_MS_MAX
    for (;;) {
      const leaks = [...this.descriptorsTooMany(), ...(await this.connectionsTooMany())]
      if (leaks.length === 0 || performance.now() > untilMs) return leaks
      await Bun.sleep(100)
    }
  }

  private descriptorsTooMany(): string[] {
    const counts = this.descriptors()
    const most = [SUPERVISOR_CONNECTIONS_MAX, WORKER_CONNECTIONS_MAX].map(
      (more, at) => (this.startDescriptors[at] as number) + more,
    )
    return ['supervisor', 'oldest worker'].flatMap((who, at) =>
      (counts[at] as number) > (most[at] as number)
        ? [`the ${who} holds ${counts[at]} descriptors at rest, and began with ${this.startDescriptors[at]}`]
        : [],
    )
  }

  /** Returns texts about connections of replaced pools, connections of ended workers, and too many connections. */
  private async connectionsTooMany(): Promise<string[]> {
    const { sql, pid } = this.cluster
    const rows = await sql`select application_name as name from pg_stat_activity where application_name like 'roster%'`
    const names = rows.map(({ name }) => name as string)
    const ofWorkers = names.flatMap((name) => {
      const { pool = '', worker = '', number } = CONNECTION.exec(name)?.groups ?? {}
      return number === undefined ? [] : [{ pool, worker, number: Number(number) }]
    })
    const newestOf = (pool: string) => Math.max(...ofWorkers.filter((one) => one.pool === pool).map(({ number }) => number))
    const replaced = ofWorkers.filter(({ pool, number }) => number < newestOf(pool))
    const workers = new Set(ofWorkers.map(({ worker }) => worker))
    const alive = workersOf(pid).length
    const most = SUPERVISOR_CONNECTIONS_MAX + alive * WORKER_CONNECTIONS_MAX
    return [
      ...replaced.map(({ pool, number }) => `the pool ${pool} was replaced, and its connection of number ${number} is open`),
      ...(workers.size > alive ? [`${workers.size} workers have connections, of which ${alive} run`] : []),
      ...(names.length > most ? [`the server has ${names.length} connections to PostgreSQL at rest, of at most ${most}`] : []),
    ]
  }
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}
