import { join } from 'node:path'
import { startChild } from '../children.ts'
import { toBuckets } from '../latency.ts'
import type { Load } from '../load.ts'
import { pgbenchVersion, runPgbench } from './pgbench.ts'
import type { SqlJob } from './statement.ts'

export type SqlFloor = 'pgbench' | 'loop'

/** What `loop.ts` prints. */
export interface LoopResult {
  readonly seconds: number
  readonly latenciesUs: readonly number[]
}

/** pgbench where it is installed, else a loop of postgres.js, which costs more itself. */
export function sqlFloor(): SqlFloor {
  return pgbenchVersion() === null ? 'loop' : 'pgbench'
}

/** @throws Error when a statement fails */
export function runSqlFloor(floor: SqlFloor, job: SqlJob): Promise<Load> {
  return floor === 'pgbench' ? runPgbench(job) : runLoop(job)
}

async function runLoop(job: SqlJob): Promise<Load> {
  let result: LoopResult | null = null
  const errors: string[] = []
  const child = startChild([process.execPath, '--no-env-file', join(import.meta.dir, 'loop.ts')], {
    input: JSON.stringify(job),
    onLine: (line) => (result = JSON.parse(line)),
    onErrorLine: (line) => errors.push(line),
  })
  const code = await child.ended
  if (!result)
    throw new Error(`the loop of postgres.js ended with ${code}: ${errors.find((line) => /Error:/.test(line))}`)
  const { seconds, latenciesUs } = result as LoopResult
  return { requests: latenciesUs.length, seconds, errors: 0, unexpected: {}, buckets: toBuckets(latenciesUs) }
}
