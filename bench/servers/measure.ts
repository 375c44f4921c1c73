import { isDeepStrictEqual } from 'node:util'
import { databaseList } from '../../test/support/databaseList.ts'
import { type CpuReading, cpuUsBetween, readCpu } from '../cpu.ts'
import { restore } from '../data/restore.ts'
import { type Load, runLoad } from '../load.ts'
import { faultOf } from '../sample.ts'
import type { Server } from '../server.ts'
import { startForeignWriter } from './foreignWriter.ts'
import { isWriting, repeatedLists, type ServersScenario } from './scenarios.ts'
import { type OpenSide, openSide, type Side } from './sides.ts'

/** What one run of a side has given, of all its servers together. */
export interface SideRun {
  readonly requestsPerSecond: number
  /** By how many workers the absences were read into columns again while the load ran. */
  readonly loadsAnew: number
  readonly foreignWritesPerSecond: number | null
  /** What the receiver of webhooks has taken; null: there is none. */
  readonly postedPerSecond: number | null
  /** CPU time of the servers for each request, with all that they do beside; null: not measured. */
  readonly cpuUs: number | null
  /** Why the figures do not count; null: they do. */
  readonly fault: string | null
}

interface RunOptions {
  readonly connections: number
  readonly seconds: number
  readonly seed: number
}

const LEAD_IN_SECONDS_MAX = 1
const IN_COLUMNS_WITHIN_MS = 120_000
const EQUAL_WITHIN_MS = 30_000
const LOOK_MS = 20

/**
 * One run: the side's servers are started for it, so that none of the other side has to take in what is written, and
 * the database is set back behind them. Behind the load, lists in memory must be those that the database gives.
 */
export async function runSide(side: Side, scenario: ServersScenario, options: RunOptions): Promise<SideRun> {
  const opened = await openSide(side)
  try {
    return await measureOpen(side, opened, scenario, options)
  } finally {
    await opened.stop()
    if (isWriting(scenario)) await restore(side.database.url, side.database.rows)
  }
}

async function measureOpen(
  { database, receiver }: Side,
  opened: OpenSide,
  scenario: ServersScenario,
  { connections, seconds, seed }: RunOptions,
): Promise<SideRun> {
  const { operations, foreignWrites = 0, inColumns = false } = scenario
  const shared = { operations, connections: scenario.connections ?? connections, seed }
  if (inColumns) await readColumns(opened, shared)
  const loadsBefore = opened.readLoads()
  const meter = cpuMeter(opened.servers)
  const startMs = performance.now()
  const postedBefore = (await receiver?.taken()) ?? 0
  const writer = foreignWrites > 0 ? startForeignWriter(database.url, database.rows, foreignWrites) : null
  let loads: Load[] = []
  let writes = 0
  try {
    loads = await loadAll(opened, {
      ...{ ...shared, ...meter.around, seconds, leadInSeconds: Math.min(LEAD_IN_SECONDS_MAX, seconds / 2) },
    })
  } finally {
    writes = (await writer?.stop()) ?? 0
  }
  const elapsedSeconds = (performance.now() - startMs) / 1_000
  const posted = receiver ? (await receiver.taken()) - postedBefore : null
  const requests = loads.reduce((sum, load) => sum + load.requests, 0)
  const faults = loads.map(faultOf).filter((fault) => fault !== null)
  const wrong = await wrongLists(opened.servers, repeatedLists(scenario))
  if (wrong !== null) faults.push(wrong)
  return {
    requestsPerSecond: loads.reduce((sum, load) => sum + load.requests / load.seconds, 0),
    loadsAnew: opened.readLoads() - loadsBefore,
    foreignWritesPerSecond: writer && writes / elapsedSeconds,
    postedPerSecond: posted === null ? null : posted / elapsedSeconds,
    cpuUs: meter.us(requests),
    fault: faults.length > 0 ? faults.join(', ') : null,
  }
}

/** From when the first of the loads counts until the last has ended. */
function cpuMeter(servers: readonly Server[]) {
  const read = () => readCpu(servers.map(({ pid }) => pid))
  let before: CpuReading | null = null
  let after: CpuReading | null = null
  const onBegin = () => void (before ??= read())
  const onEnd = () => void (after = read())
  const us = (requests: number) => {
    const all = cpuUsBetween(before, after)
    return all === null || requests === 0 ? null : all / requests
  }
  return { around: { onBegin, onEnd }, us }
}

type SharedLoad = Pick<
  Parameters<typeof runLoad>[0],
  'operations' | 'seconds' | 'leadInSeconds' | 'onBegin' | 'onEnd'
> & {
  readonly connections: number
  readonly seed: number
}

/** All servers at the same time, with an even part of the connections each. */
function loadAll({ servers }: OpenSide, { connections, seed, ...load }: SharedLoad): Promise<Load[]> {
  const each = Math.max(1, Math.floor(connections / servers.length))
  return Promise.all(
    servers.map(({ url, headers }, index) =>
      runLoad({ ...load, url, headers, connections: each, seed: seed * servers.length + index }),
    ),
  )
}

/** Asks for other lists than those that are measured, until each worker has found columns worth their while. */
async function readColumns(opened: OpenSide, load: Omit<SharedLoad, 'seconds'>) {
  const untilMs = performance.now() + IN_COLUMNS_WITHIN_MS
  for (let attempt = 1; opened.readLoads() < opened.workers; attempt++) {
    if (performance.now() > untilMs)
      throw new Error(`${opened.readLoads()} of ${opened.workers} workers have read the absences into columns`)
    await loadAll(opened, { ...load, seconds: 1, seed: load.seed + attempt * 10_000 })
  }
}

/** The first list that a server has in memory otherwise than the database gives it, long after the last write; null: none. */
async function wrongLists(servers: readonly Server[], paths: readonly string[]): Promise<string | null> {
  for (const [index, server] of servers.entries())
    for (const path of paths)
      if (!(await becomesEqual(server, path)))
        return `server ${index + 1} answers GET ${path} otherwise than the database`
  return null
}

async function becomesEqual({ url, headers }: Server, path: string): Promise<boolean> {
  const ask = async () => (await fetch(url + path, { headers })).json()
  const untilMs = performance.now() + EQUAL_WITHIN_MS
  for (;;) {
    if (isDeepStrictEqual(await ask(), await databaseList(url + path, headers))) return true
    if (performance.now() > untilMs) return false
    await Bun.sleep(LOOK_MS)
  }
}
