import { median } from '../../../bench/results.ts'
import { workersOf } from '../../support/process.ts'
import { resourcesOf } from '../../support/resources.ts'
import type { Cluster } from '../lists/cluster.ts'

interface Held {
  readonly rssMb: number
  readonly descriptors: number
}

/** Resources of the server at a moment. */
interface Sample {
  readonly ms: number
  readonly workersRssMb: readonly number[]
  readonly supervisor: Held
  readonly veteran: Held
  /** Null if PostgreSQL could not be asked. */
  readonly backends: number | null
}

/** Parts of the run whose samples are compared: from `WARM_PART` to `WARM_END_PART`, with all after `LAST_PART`. */
const [WARM_PART, WARM_END_PART, LAST_PART] = [0.25, 0.5, 0.8]
/** Tolerances: a heap gives memory back late, and pools open descriptors and backends at need. */
const RSS_FACTOR_MAX = 1.3
const RSS_MORE_MB_MAX = 48
const DESCRIPTORS_MORE_MAX = 12
const BACKENDS_MORE_MAX = 6
const ASK_MS_MAX = 500

/** Samples the processes of a server, and compares the end of a run with the time when it was warm. */
export class Watch {
  private readonly samples: Sample[] = []
  private readonly startMs = performance.now()

  constructor(
    private readonly cluster: Cluster,
    private readonly veteran: number,
  ) {}

  async look(): Promise<void> {
    const { pid } = this.cluster
    const { rssMb, descriptors } = resourcesOf([pid, this.veteran])
    const [supervisor, veteran] = [0, 1].map((at) => ({ rssMb: rssMb[at], descriptors: descriptors[at] })) as [Held, Held]
    this.samples.push({
      ms: performance.now() - this.startMs,
      workersRssMb: resourcesOf(workersOf(pid)).rssMb,
      supervisor,
      veteran,
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

  /** Returns the report, and resources that have grown. */
  judge(): { report: Record<string, unknown>; grown: string[] } {
    const endMs = this.samples.at(-1)?.ms ?? 0
    const part = (from: number, to: number) => this.samples.filter(({ ms }) => ms >= from * endMs && ms <= to * endMs)
    const [warm, last] = [part(WARM_PART, WARM_END_PART), part(LAST_PART, 1)]
    const grown: string[] = []
    const compare = (what: string, of: (sample: Sample) => number | null, most: (warm: number) => number, ofWarm = median) => {
      const seen = (samples: readonly Sample[]) => samples.flatMap((sample) => of(sample) ?? [])
      const [before, after] = [ofWarm(seen(warm)), median(seen(last))]
      if (!(after <= most(before))) grown.push(`${what} grew from ${before} to ${after}`)
      return { warm: round(before), end: round(after) }
    }
    const rss = (warmMb: number) => warmMb * RSS_FACTOR_MAX + RSS_MORE_MB_MAX
    const descriptors = (warmCount: number) => warmCount + DESCRIPTORS_MORE_MAX
    const all = this.samples.flatMap(({ workersRssMb }) => workersRssMb)
    const report = {
      samples: this.samples.length,
      workerRssMb: { mean: round(all.reduce((sum, mb) => sum + mb, 0) / all.length), max: round(Math.max(...all)) },
      oldestWorkerRssMb: compare('the memory of the oldest worker', ({ veteran }) => veteran.rssMb, rss),
      supervisorRssMb: compare('the memory of the supervisor', ({ supervisor }) => supervisor.rssMb, rss),
      oldestWorkerDescriptors: compare('the descriptors of the oldest worker', ({ veteran }) => veteran.descriptors, descriptors),
      supervisorDescriptors: compare(
        'the descriptors of the supervisor',
        ({ supervisor }) => supervisor.descriptors,
        descriptors,
      ),
      backends: {
        ...compare(
          'the connections to PostgreSQL',
          ({ backends }) => backends,
          (warmCount) => warmCount + BACKENDS_MORE_MAX,
          // The greatest count, because a fault that cuts connections leaves few for a moment.
          (counts) => Math.max(...counts),
        ),
        max: Math.max(...this.samples.map(({ backends }) => backends ?? 0)),
      },
    }
    return { report, grown }
  }
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}
