import { cpuUsBetween, largestRssMb, readCpu } from './cpu.ts'
import { restore } from './data/restore.ts'
import type { Cluster, Database } from './database.ts'
import { type Cost, type Load, mergeLoads, runLoad } from './load.ts'
import type { Scenario } from './scenarios.ts'
import { startServer } from './server.ts'

/** A program that answers over HTTP. */
export interface HttpTarget {
  readonly name: string
  /** Servers that share the connections of the load. */
  readonly urls: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Processes whose CPU time is counted, with all that they have started. */
  pids(): readonly number[]
  /** Null: it has none. */
  readonly database: Database | null
  stop(): Promise<void>
}

/** A program under the load of a scenario. */
export interface Target {
  readonly name: string
  measure(round: Round): Promise<Measured>
  /** Undoes the writes of a round. */
  restore(): Promise<void>
  stop(): Promise<void>
}

export interface Round {
  readonly connections: number
  readonly seconds: number
  /** Time before the seconds that count. */
  readonly leadInSeconds: number
  readonly seed: number
}

export interface Measured {
  readonly load: Load
  /** Load beside it, if the scenario has one. */
  readonly background: Load | null
  readonly cost: Cost
}

const CONNECTIONS_OF_BACKGROUND = 4
/** The background begins with the load, and must not end before it. */
const BACKGROUND_LONGER_SECONDS = 0.5

/** The load, translated for a target. */
export type Asked = Pick<Scenario, 'operations' | 'background'>

/** Puts a program under the load of a scenario. */
export function overHttp(target: HttpTarget, asked: Asked, postmaster: number): Target {
  const { name, database, stop } = target
  return {
    name,
    measure: (round) => measureHttp(target, asked, postmaster, round),
    async restore() {
      if (database) await restore(database.url, database.rows)
    },
    stop,
  }
}

/** Puts `count` servers on one database under the load. They start for each round, so that none hears what others have written. */
export function serversTarget(
  { postmasterPid }: Cluster,
  database: Database,
  asked: Asked,
  count: number,
  workersOfAll: number,
): Target {
  const name = count === 1 ? 'roster' : `roster-${count}-servers`
  const workers = Math.max(1, Math.floor(workersOfAll / count))
  const stop = async () => undefined
  return {
    ...{ name, stop },
    restore: () => restore(database.url, database.rows),
    async measure(round) {
      const servers = await Promise.all(Array.from({ length: count }, () => startServer({ databaseUrl: database.url, workers })))
      const { headers = {} } = servers[0] ?? {}
      const target = { name, urls: servers.map(({ url }) => url), headers, pids: () => servers.map(({ pid }) => pid) }
      try {
        return await measureHttp({ ...target, database, stop }, asked, postmasterPid, round)
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
  const readAll = () => [readCpu(pids()), readCpu([postmaster])] as const
  let [before, after] = [readAll(), readAll()]
  let rssMb: number | null = null
  const onBegin = () => void (before = readAll())
  const onEnd = () => {
    after = readAll()
    rssMb = largestRssMb(pids())
  }
  const connections = Math.max(1, Math.floor(round.connections / urls.length))
  const loads = urls.map((url, index) => {
    const seed = round.seed * urls.length + index
    return runLoad({ ...round, url, headers, operations, connections, seed, ...(index === 0 ? { onBegin, onEnd } : {}) })
  })
  const beside = background && {
    ...{ ...round, ...background, headers, url: urls[0] as string, connections: CONNECTIONS_OF_BACKGROUND },
    seconds: round.seconds + round.leadInSeconds + BACKGROUND_LONGER_SECONDS,
    leadInSeconds: 0,
  }
  const [other, ...all] = await Promise.all([beside ? runLoad(beside) : null, ...loads])
  const [serverUs, postgresUs] = ([0, 1] as const).map((index) => cpuUsBetween(before[index], after[index]))
  const cost = { serverUs: serverUs ?? null, postgresUs: postgresUs ?? null, rssMb }
  return { load: mergeLoads(all as Load[]), background: other, cost }
}
