import { join } from 'node:path'
import { startChild } from './children.ts'
import { BUCKET_GROWTH, type Buckets } from './latency.ts'
import type { Operation } from './scenarios.ts'

export interface LoadOptions {
  readonly url: string
  readonly operations: readonly Operation[]
  /** For every request, such as the key. */
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
  /** Not counted, before the seconds that are. Default: what it takes to connect. */
  readonly leadInSeconds?: number
  /** Requests per second over all connections, evenly spread; null: as fast as they are answered. */
  readonly rate?: number | null
  /** Of the random values; the same for every target of a round. */
  readonly seed?: number
  /** Called when counting begins, and when it ends. */
  onBegin?(): void
  onEnd?(): void
}

/** What was answered, and how soon. */
export interface Load {
  readonly requests: number
  readonly seconds: number
  /** Connections lost and time-outs. */
  readonly errors: number
  /** Answers with another status than expected, by `503 instead of 200`. */
  readonly unexpected: Readonly<Record<string, number>>
  readonly buckets: Buckets
}

const PROGRAM = join(import.meta.dir, 'load/program.mjs')
const LEAD_IN_SECONDS = 0.15
const TIMEOUT_SECONDS = 10

/** Loads a server from a Node process of its own. @throws Error when that ends without a result */
export async function runLoad({ onBegin, onEnd, ...options }: LoadOptions): Promise<Load> {
  const job = {
    rate: null,
    seed: 1,
    leadInSeconds: LEAD_IN_SECONDS,
    ...options,
    connections: connectionsFor(options),
    bucketGrowth: BUCKET_GROWTH,
    timeoutSeconds: TIMEOUT_SECONDS,
  }
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

/** What several servers have answered at the same time. */
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

/** A connection that sends less than once a second would look to autocannon like one that waits for an answer. */
function connectionsFor({ connections, rate }: Pick<LoadOptions, 'connections' | 'rate'>): number {
  return rate ? Math.min(connections, Math.ceil(rate)) : connections
}
