import { join } from 'node:path'
import { startChild } from './children.ts'
import type { Sample } from './results.ts'
import type { Operation } from './scenarios.ts'

/** Options of one load of a target. */
export interface Round {
  readonly connections: number
  readonly seconds: number
  /** Longest time for a server to load a table before the lead-in; 0 for none. */
  readonly loadingSeconds: number
  /** Shortest time of sending one request at a time before the lead-in. */
  readonly leastSeconds: number
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
  onBegin?(): void
  onEnd?(): void
}

/** Responses of one round and their latencies. */
export interface Load {
  readonly requests: number
  readonly seconds: number
  /** Number of lost connections and timeouts. */
  readonly errors: number
  /** Responses with another status than expected, by `503 instead of 200`. */
  readonly unexpected: Readonly<Record<string, number>>
  readonly buckets: Buckets
}

/** CPU time of a whole round, and memory at its end. */
export interface Cost {
  readonly serverUs: number | null
  readonly postgresUs: number | null
  readonly rssMb: number | null
}

/** Latencies by bucket. Bucket n has those from `BUCKET_GROWTH ** n` µs up to the next. */
type Buckets = Readonly<Record<number, number>>

/** Ratio of a bucket's width to that of the one before; at one percent, a percentile is at most half a percent off. */
export const BUCKET_GROWTH = 1.01
const PROGRAM = join(import.meta.dir, 'load/program.mjs')
const TIMEOUT_SECONDS = 60

/** Runs a load in another process of Node. @throws Error if that ends without a result */
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
    }),
    first,
  )
}

function addCounts(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>) {
  const sums: Record<string, number> = { ...one }
  for (const [key, count] of Object.entries(other)) sums[key] = (sums[key] ?? 0) + count
  return sums
}

export function sampleOf({ requests, seconds, buckets }: Load, { serverUs, postgresUs, rssMb }: Cost): Sample {
  const perRequest = (us: number | null) => (us === null || requests === 0 ? null : round(us / requests, 2))
  const percentile = (value: number) => (requests === 0 ? 0 : round(percentileMs(buckets, value), 4))
  return {
    requestsPerSecond: round(requests / seconds, 1),
    p50Ms: percentile(50),
    p99Ms: percentile(99),
    serverCpuUs: perRequest(serverUs),
    postgresCpuUs: perRequest(postgresUs),
    rssMb: rssMb === null ? null : round(rssMb, 1),
  }
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
