import { join } from 'node:path'
import { startAndWait } from './children.ts'
import { cpuUsBetween, largestRssMb, readCpu } from './cpu.ts'
import type { ConstantAnswer } from './floors/constant.ts'
import { runSqlFloor, type SqlFloor } from './floors/sql.ts'
import { type FloorStatement, floorStatement, patternOf } from './floors/statement.ts'
import { type Load, runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import type { Cost } from './sample.ts'
import type { Scenario } from './scenarios.ts'

/** Something that a scenario's load is put on. */
export interface Target {
  readonly name: string
  /** Whether its load reaches the database. */
  readonly isStored: boolean
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

/** A server that answers over HTTP. */
export interface Site {
  readonly name: string
  /** Default: true. */
  readonly isStored?: boolean
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The processes whose CPU is its own, with all that they have started. */
  pids(): readonly number[]
  stop(): Promise<void>
}

const CONNECTIONS_OF_BACKGROUND = 4
/** The background begins with the load, and must not end before it. */
const BACKGROUND_LONGER_SECONDS = 0.5

/** `scenario` in the site's own terms. */
export function siteTarget(
  site: Site,
  scenario: Pick<Scenario, 'operations' | 'background'>,
  postmaster: number,
): Target {
  const { name, isStored = true, stop } = site
  return { name, isStored, measure: (round) => measureSite(site, scenario, postmaster, round), stop }
}

async function measureSite(
  { url, headers, pids }: Site,
  { operations, background }: Pick<Scenario, 'operations' | 'background'>,
  postmaster: number,
  round: Round,
): Promise<Measured> {
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

/** Bun.serve with the answers that `server` gives to these operations. */
export async function startConstant(server: Site, operations: readonly Operation[]): Promise<Site> {
  const answers = await Promise.all(operations.map((operation) => ask(server, operation)))
  return startFloor('constant', 'floors/constant.ts', answers, {})
}

/** Bun.serve and postgres.js with the statements of these operations, and nothing else. */
export async function startBare(databaseUrl: string, operations: readonly Operation[]): Promise<Site> {
  return startFloor('bare', 'floors/bare.ts', await statementsOf(operations), { DATABASE_URL: databaseUrl })
}

function statementsOf(operations: readonly Operation[]): Promise<FloorStatement[]> {
  return Promise.all(operations.map(floorStatement))
}

async function startFloor(name: string, file: string, input: unknown, environment: Record<string, string>) {
  const command = [process.execPath, '--no-env-file', join(import.meta.dir, file)]
  const options = { input: JSON.stringify(input), environment: { NODE_ENV: 'production', ...environment } }
  const child = await startAndWait(command, /listens on (\S+)/, options)
  const isStored = 'DATABASE_URL' in environment
  return { name, isStored, url: child.found, headers: {}, pids: () => [child.pid], stop: child.stop }
}

/** Any value of a range will do: their answers are of about one size. */
async function ask(
  { url, headers }: Site,
  { method, path, body, headers: own, status }: Operation,
): Promise<ConstantAnswer> {
  const answer = await fetch(url + path.replace(/\{(\d+)\.\.\d+\}/g, '$1'), {
    method,
    headers: { ...headers, ...own, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body }),
  })
  return { method, pattern: patternOf(path), status, body: await answer.text() }
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
