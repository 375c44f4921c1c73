import { percentileMs } from './latency.ts'
import type { Load } from './load.ts'
import type { Sample } from './results.ts'

/** What a round has cost, beside what its requests tell. */
export interface Cost {
  /** CPU time of the round, not of a request. */
  readonly serverUs: number | null
  readonly postgresUs: number | null
  readonly rssMb: number | null
}

/** The figures of one round. */
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

/** Why the figures of a load do not count; null: they do. */
export function faultOf({ requests, errors, unexpected }: Load): string | null {
  const faults = Object.entries(unexpected).map(([kind, count]) => `${count} answers of ${kind}`)
  if (errors > 0) faults.push(`${errors} connections lost or timed out`)
  if (requests === 0) faults.push('no answer at all')
  return faults.length === 0 ? null : faults.join(', ')
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
