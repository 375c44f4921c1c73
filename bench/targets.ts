import { cpuUsBetween, largestRssMb, readCpu } from './cpu.ts'
import { runSqlFloor, type SqlFloor } from './floors/sql.ts'
import { statementsOf } from './floors/statement.ts'
import { askOnce, type HttpTarget } from './httpTarget.ts'
import { type Load, runLoad } from './load.ts'
import type { Cost } from './sample.ts'
import type { Scenario } from './scenarios.ts'

/** Something that a scenario's load is put on. */
export interface Target {
  readonly name: string
  /** Whether its load reaches the database. */
  readonly isStored: boolean
  /** Its rows are those of the database with more indexes. Default: false. */
  readonly isIndexed?: boolean
  /** One round. */
  measure(round: Round): Promise<Measured>
  stop(): Promise<void>
}

interface Round {
  readonly connections: number
  readonly seconds: number
  /** Not counted, before the seconds that are. */
  readonly leadInSeconds: number
  readonly seed: number
  /** Requests per second, evenly spread; default: as fast as they are answered. */
  readonly rate?: number | null
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

/** What a server is asked in each round. */
export type Asked = Pick<Scenario, 'operations' | 'background' | 'prepare'>

/** A server under what it is asked; `asked` is in the server's own terms. */
export function overHttp(target: HttpTarget, asked: Asked, postmaster: number): Target {
  const { name, isStored = true, isIndexed = false, stop } = target
  return { name, isStored, isIndexed, measure: (round) => measureHttp(target, asked, postmaster, round), stop }
}

async function measureHttp(
  target: HttpTarget,
  { operations, background, prepare = [] }: Asked,
  postmaster: number,
  round: Round,
): Promise<Measured> {
  await askOnce(target, prepare)
  const { url, headers, pids } = target
  const meter = cpuMeter({ server: pids(), postgres: [postmaster] })
  let rssMb: number | null = null
  const onEnd = () => {
    meter.end()
    rssMb = largestRssMb(pids())
  }
  const common = { url, headers, ...round }
  const beside = background && {
    ...background,
    connections: CONNECTIONS_OF_BACKGROUND,
    seconds: round.seconds + round.leadInSeconds + BACKGROUND_LONGER_SECONDS,
    leadInSeconds: 0,
  }
  const [load, other] = await Promise.all([
    runLoad({ ...common, operations, onBegin: meter.begin, onEnd }),
    beside ? runLoad({ ...common, ...beside }) : null,
  ])
  const [serverUs = null, postgresUs = null] = meter.us()
  return { load, background: other, cost: { serverUs, postgresUs, rssMb } }
}

/** The statements of the scenario without HTTP. */
export async function sqlTarget(
  floor: SqlFloor,
  databaseUrl: string,
  { operations, background }: Scenario,
  postmaster: number,
): Promise<Target> {
  const statements = await statementsOf(operations)
  const beside = background ? await statementsOf(background.operations) : null
  return {
    name: floor,
    isStored: true,
    stop: async () => undefined,
    async measure({ connections, seconds, seed, rate = null }) {
      const meter = cpuMeter({ postgres: [postmaster] })
      const common = { databaseUrl, seconds, seed }
      meter.begin()
      const [load, other] = await Promise.all([
        runSqlFloor(floor, { ...common, statements, connections, rate }),
        beside && background
          ? runSqlFloor(floor, {
              ...common,
              statements: beside,
              connections: CONNECTIONS_OF_BACKGROUND,
              rate: background.rate,
            })
          : null,
      ])
      meter.end()
      const [postgresUs = null] = meter.us()
      return { load, background: other, cost: { serverUs: null, postgresUs, rssMb: null } }
    },
  }
}

/** CPU time of groups of processes between two moments. */
function cpuMeter(groups: Record<string, readonly number[]>) {
  const read = () => Object.values(groups).map((pids) => readCpu(pids))
  let before = read()
  let after = before
  return {
    begin: () => void (before = read()),
    end: () => void (after = read()),
    us: () => after.map((reading, index) => cpuUsBetween(before[index] ?? null, reading)),
  }
}
