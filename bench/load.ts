import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { startChild } from './children.ts'
import type { Operation } from './operation.ts'
import type { Latency, Sample } from './results.ts'

/** Options of one load of a target. */
export interface Round {
  readonly connections: number
  readonly seconds: number
  /** Maximum time for a server to load a table before the lead-in; 0: the server is not waited for. */
  readonly loadingSeconds: number
  /** Seconds of load before counting begins. */
  readonly leadInSeconds: number
  /** Seed of random values, the same for every target of a round. */
  readonly seed: number
}

interface LoadOptions extends Round {
  readonly url: string
  readonly operations: readonly Operation[]
  /** Headers of every request, such as the key. */
  readonly headers: Readonly<Record<string, string>>
  /** Number of answers after which the load ends early. */
  readonly answers?: number
  onBegin?(): void
  onEnd?(): void
}

/** Responses of one round and their latencies. */
export interface Load {
  readonly requests: number
  readonly seconds: number
  /** Number of lost connections and timeouts. */
  readonly errors: number
  /** Number of responses with an unexpected status, by texts such as `503 instead of 200`. */
  readonly unexpected: Readonly<Record<string, number>>
  readonly buckets: Buckets
  /** Latencies of operations that have a kind, by kind. */
  readonly kinds: Readonly<Record<string, Buckets>>
  /** CPU time of the load program while it counted. */
  readonly cpuUs: number
}

/** CPU time of a whole round, and memory at its end. */
export interface Cost {
  /** CPU time of this process, which sends the requests of the background. */
  readonly ownUs: number
  readonly serverUs: number | null
  readonly postgresUs: number | null
  readonly rssMb: number | null
}

/** Number of latencies by bucket. Bucket n begins at `BUCKET_GROWTH ** n` µs, and ends where the next bucket begins. */
type Buckets = Readonly<Record<number, number>>

/** Ratio of a bucket's width to the width of the bucket before. With 1 %, a percentile is at most 0.5 % off. */
export const BUCKET_GROWTH = 1.01
const PROGRAM = join(import.meta.dir, 'load/program.mjs')
const TIMEOUT_SECONDS = 60

/** Runs a load in a separate process of Node. @throws Error if the process ends without a result */
export async function runLoad({ onBegin, onEnd, ...options }: LoadOptions): Promise<Load> {
  const job = { ...options, bucketGrowth: BUCKET_GROWTH, timeoutSeconds: TIMEOUT_SECONDS }
  let result: Load | null = null
  const onLine = (line: string) => {
    if (line === 'begin') onBegin?.()
    else if (line === 'end') onEnd?.()
    else result = JSON.parse(line)
  }
  const code = await startChild(['node', PROGRAM], { input: JSON.stringify(job), onLine }).ended
  if (!result) throw new Error(`the load program ended with ${code} and no result`)
  return result
}

/** Adds up the loads of several servers at the same time. */
export function mergeLoads([first, ...others]: readonly Load[]): Load {
  if (!first) throw new Error('nothing was loaded')
  return others.reduce(
    (sum, load) => ({
      requests: sum.requests + load.requests,
      seconds: Math.max(sum.seconds, load.seconds),
      errors: sum.errors + load.errors,
      unexpected: addCounts(sum.unexpected, load.unexpected),
      buckets: addCounts(sum.buckets, load.buckets),
      kinds: addKinds(sum.kinds, load.kinds),
      cpuUs: sum.cpuUs + load.cpuUs,
    }),
    first,
  )
}

function addKinds(one: Load['kinds'], other: Load['kinds']): Load['kinds'] {
  const names = Object.keys({ ...one, ...other })
  return Object.fromEntries(names.map((name) => [name, addCounts(one[name] ?? {}, other[name] ?? {})]))
}

function addCounts(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>) {
  const sums: Record<string, number> = { ...one }
  for (const [key, count] of Object.entries(other)) sums[key] = (sums[key] ?? 0) + count
  return sums
}

export function sampleOf({ requests, seconds, buckets, kinds, cpuUs }: Load, cost: Cost): Sample {
  const perRequest = (us: number | null) => (us === null || requests === 0 ? null : round(us / requests, 2))
  const byKind = Object.entries(kinds).map(([kind, own]) => [kind, latencyOf(own)] as const)
  return {
    requestsPerSecond: round(requests / seconds, 1),
    ...latencyOf(buckets),
    serverCpuUs: perRequest(cost.serverUs),
    postgresCpuUs: perRequest(cost.postgresUs),
    rssMb: cost.rssMb === null ? null : round(cost.rssMb, 1),
    loadCpuPercent: round((100 * (cpuUs + cost.ownUs)) / (seconds * 1e6 * availableParallelism()), 1),
    ...(byKind.length > 0 ? { kinds: Object.fromEntries(byKind) } : {}),
  }
}

function latencyOf(buckets: Buckets): Latency {
  const [p50Ms, p99Ms] = [50, 99].map((percent) => round(percentileMs(buckets, percent) || 0, 4)) as [number, number]
  return { p50Ms, p99Ms }
}

/** Returns why the figures of a load do not count; null if they count. */
export function faultOf({ requests, errors, unexpected }: Load): string | null {
  const faults = Object.entries(unexpected).map(([kind, count]) => `${count} answers of ${kind}`)
  if (errors > 0) faults.push(`${errors} connections lost or timed out`)
  if (requests === 0) faults.push('no answer at all')
  return faults.length === 0 ? null : faults.join(', ')
}

/** Returns the latency in ms that this percentage of requests did not exceed; NaN without requests. */
export function percentileMs(buckets: Buckets, percentile: number): number {
  const wanted = (Object.values(buckets).reduce((sum, count) => sum + count, 0) * percentile) / 100
  let [seen, last] = [0, Number.NaN]
  // Integer keys of an object are in ascending order.
  for (const [bucket, count] of Object.entries(buckets)) {
    seen += count
    last = Number(bucket)
    if (seen >= wanted) break
  }
  return BUCKET_GROWTH ** (last + 0.5) / 1_000
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
