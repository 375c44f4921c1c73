import { cpuUsBetween, largestRssMb, readCpu } from './cpu.ts'
import { type Load, mergeLoads, runLoad } from './load.ts'
import type { Cost } from './sample.ts'
import type { Scenario } from './scenarios.ts'
import { startServer } from './server.ts'

/** A program that answers over HTTP. */
export interface HttpTarget {
  readonly name: string
  /** Whether its load reaches the database. Default: true. */
  readonly isStored?: boolean
  /** Its rows are those of the database with more indexes. Default: false. */
  readonly isIndexed?: boolean
  /** Of each server: they share the connections of the load. */
  readonly urls: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** The processes whose CPU is its own, with all that they have started. */
  pids(): readonly number[]
  stop(): Promise<void>
}

/** Something that a scenario's load is put on. */
export interface Target extends Pick<HttpTarget, 'name' | 'isStored' | 'isIndexed' | 'stop'> {
  /** One round. */
  measure(round: Round): Promise<Measured>
}

interface Round {
  readonly connections: number
  readonly seconds: number
  /** Not counted, before the seconds that are. */
  readonly leadInSeconds: number
  readonly seed: number
}

export interface Measured {
  readonly load: Load
  /** Of what ran beside the load, if anything did. */
  readonly background: Load | null
  readonly cost: Cost
}

const CONNECTIONS_OF_BACKGROUND = 4
/** The background begins with the load, and must not end before it. */
const BACKGROUND_LONGER_SECONDS = 0.5

export const stayRunning = async () => undefined

/** What a target is asked, in its own terms. */
export type Asked = Pick<Scenario, 'operations' | 'background'>

/** A server under what it is asked. */
export function overHttp(target: HttpTarget, asked: Asked, postmaster: number): Target {
  return { ...target, measure: (round) => measureHttp(target, asked, postmaster, round) }
}

/** So many servers on one database, started for each round so that none hears what others have written. */
export function serversTarget(count: number, workers: number, databaseUrl: string, asked: Asked, postmaster: number): Target {
  const name = count === 1 ? 'roster' : `roster-${count}-servers`
  const start = () => startServer({ databaseUrl, workers: Math.max(1, Math.floor(workers / count)) })
  return {
    name,
    stop: stayRunning,
    async measure(round) {
      const servers = await Promise.all(Array.from({ length: count }, start))
      const { headers = {} } = servers[0] ?? {}
      const target = { name, urls: servers.map(({ url }) => url), headers, pids: () => servers.map(({ pid }) => pid) }
      try {
        return await measureHttp({ ...target, stop: stayRunning }, asked, postmaster, round)
      } finally {
        await Promise.all(servers.map((server) => server.stop()))
      }
    },
  }
}

async function measureHttp(
  { urls, headers, pids }: HttpTarget,
  { operations, background }: Asked,
  postmaster: number,
  round: Round,
): Promise<Measured> {
  const meter = cpuMeter(pids(), [postmaster])
  let rssMb: number | null = null
  const onEnd = () => {
    meter.end()
    rssMb = largestRssMb(pids())
  }
  const connections = Math.max(1, Math.floor(round.connections / urls.length))
  const loads = urls.map((url, index) => {
    const seed = round.seed * urls.length + index
    const first = index === 0 ? { onBegin: meter.begin, onEnd } : {}
    return runLoad({ ...round, url, headers, operations, connections, seed, ...first })
  })
  const beside = background && {
    ...{ ...round, ...background, headers, url: urls[0] as string, connections: CONNECTIONS_OF_BACKGROUND },
    seconds: round.seconds + round.leadInSeconds + BACKGROUND_LONGER_SECONDS,
    leadInSeconds: 0,
  }
  const [other, ...all] = await Promise.all([beside ? runLoad(beside) : null, ...loads])
  const [serverUs = null, postgresUs = null] = meter.us()
  return { load: mergeLoads(all as Load[]), background: other, cost: { serverUs, postgresUs, rssMb } }
}

/** CPU time of groups of processes between two moments. */
function cpuMeter(...groups: (readonly number[])[]) {
  const read = () => groups.map((pids) => readCpu(pids))
  let before = read()
  let after = before
  return {
    begin: () => void (before = read()),
    end: () => void (after = read()),
    us: () => after.map((reading, index) => cpuUsBetween(before[index] ?? null, reading)),
  }
}
