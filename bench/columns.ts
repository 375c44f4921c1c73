import postgres from 'postgres'
import { cpuUsBetween, readCpu } from './cpu.ts'
import { restore } from './data/restore.ts'
import type { Rows } from './data/table.ts'
import type { Cluster, Database } from './database.ts'
import { requestSource } from './load/requests.mjs'
import type { Operation } from './operation.ts'
import type { Options } from './options.ts'
import type { ColumnsRound, WriteCost } from './results.ts'
import { faultOf } from './sample.ts'
import { scenariosFor } from './scenarios.ts'
import { type Server, startServer } from './server.ts'
import { status } from './status.ts'
import { seedOf } from './suite.ts'
import { overHttp } from './targets.ts'

/** What the server logs of a table that it has read. */
const READ = /a table is in columns\b.*\btable=absence\b.*\bmb=(\d+)\b.*\bms=(\d+)/
const READS_WITHIN_MS = 120_000
const LOOK_MS = 5
const CONNECTIONS = 16
const WRITES_PER_SECOND = 1_000
/** Beside the writes, so that what they change is taken in, and not left for later. */
const LISTS_PER_SECOND = 10
const LEAD_IN_SECONDS_MAX = 1

/** A server that nothing else is asked of; the database must have no other one. */
interface Place {
  readonly cluster: Pick<Cluster, 'postmasterPid'>
  readonly database: Database
}

/**
 * What it costs to have the absences in columns, in rounds: each starts a server with them and one without, in turns, with
 * one worker. @throws Error where the server reads no table into columns, or answers otherwise than expected
 */
export async function measureColumns(place: Place, { rounds, seconds, seed }: Options): Promise<ColumnsRound[]> {
  const measured: ColumnsRound[] = []
  for (let round = 1; round <= rounds; round++) {
    status(`columns: round ${round} of ${rounds}`)
    const load = { seconds, seed: seedOf(seed, 'columns', round) }
    const without = round % 2 === 0 ? await measureWithout(place, load) : null
    const { writes, ...read } = await measureWith(place, load)
    measured.push({ ...read, with: writes, without: without ?? (await measureWithout(place, load)) })
  }
  status(null)
  return measured
}

interface Load {
  readonly seconds: number
  readonly seed: number
}

type Read = Omit<ColumnsRound, 'with' | 'without'>

async function measureWith(place: Place, load: Load): Promise<Read & { readonly writes: WriteCost }> {
  const read: { mb: number; ms: number }[] = []
  const onLine = (line: string) => {
    const [, mb, ms] = READ.exec(line) ?? []
    if (mb !== undefined) read.push({ mb: Number(mb), ms: Number(ms) })
  }
  const startMs = performance.now()
  return withServer(place, { LOG_LEVEL: 'info' }, onLine, async (server) => {
    const listensMs = performance.now() - startMs
    const ask = newLists(place.database, load.seed)
    const cost = await untilRead(place, server, ask, () => read[0])
    await ask(server)
    const firstListMs = performance.now() - startMs
    return { listensMs, firstListMs, ...cost, writes: await measureWrites(place, server, load) }
  })
}

function measureWithout(place: Place, load: Load): Promise<WriteCost> {
  const settings = { LOG_LEVEL: 'info', COLUMNS_MB: '0' }
  return withServer(place, settings, undefined, (server) => measureWrites(place, server, load))
}

async function withServer<T>(
  { database }: Place,
  settings: Readonly<Record<string, string>>,
  onLine: ((line: string) => void) | undefined,
  use: (server: Server) => Promise<T>,
): Promise<T> {
  const server = await startServer({
    databaseUrl: database.url,
    workers: 1,
    settings,
    ...(onLine === undefined ? {} : { onLine }),
  })
  try {
    return await use(server)
  } finally {
    await server.stop()
    await restore(database.url, database.rows)
  }
}

/** One client asks for new lists, until it is worth a copy; then for nothing, until that is read: what it costs is its own. */
async function untilRead(
  { cluster, database }: Place,
  server: Server,
  ask: (server: Server) => Promise<void>,
  readOf: () => { mb: number; ms: number } | undefined,
): Promise<Pick<Read, 'loadMs' | 'loadServerMs' | 'loadPostgresMs' | 'mb'>> {
  const sql = postgres(database.url, { max: 1 })
  try {
    const readCpus = () => [readCpu([server.pid]), readCpu([cluster.postmasterPid])] as const
    const giveUpMs = performance.now() + READS_WITHIN_MS
    let before = readCpus()
    while (readOf() === undefined && !(await isReading(sql))) {
      before = readCpus()
      await ask(server)
      if (performance.now() > giveUpMs) throw new Error('the server has read no table into columns')
    }
    while (readOf() === undefined && performance.now() < giveUpMs) await Bun.sleep(LOOK_MS)
    const after = readCpus()
    const read = readOf()
    if (read === undefined) throw new Error('the server has not read the absences into columns to their end')
    const [loadServerMs, loadPostgresMs] = [0, 1].map((which) => {
      const us = cpuUsBetween(before[which] ?? null, after[which] ?? null)
      return us === null ? null : us / 1_000
    })
    return { loadMs: read.ms, mb: read.mb, loadServerMs: loadServerMs ?? null, loadPostgresMs: loadPostgresMs ?? null }
  } finally {
    await sql.end()
  }
}

async function isReading(sql: postgres.Sql): Promise<boolean> {
  const [found] = await sql`
    select exists (select from pg_stat_activity where state = 'active' and query ilike 'copy (%absence%to stdout') as yes`
  return found?.yes
}

async function measureWrites({ cluster, database }: Place, server: Server, load: Load): Promise<WriteCost> {
  const { url, headers, pid } = server
  const { rows } = database
  const asked = {
    operations: operationsOf('patch-absence', rows),
    background: { operations: operationsOf('new-lists', rows), rate: LISTS_PER_SECOND },
  }
  const target = { name: 'roster', url, headers, pids: () => [pid], stop: async () => undefined }
  const { measure } = overHttp(target, asked, cluster.postmasterPid)
  const leadInSeconds = Math.min(LEAD_IN_SECONDS_MAX, load.seconds / 2)
  const round = { ...load, connections: CONNECTIONS, rate: WRITES_PER_SECOND, leadInSeconds }
  const { load: writes, background, cost } = await measure(round)
  const fault = faultOf(writes) ?? (background && faultOf(background))
  if (fault) throw new Error(`writes beside lists: ${fault}`)
  return {
    writesPerSecond: writes.requests / writes.seconds,
    serverCpuUs: cost.serverUs === null ? null : cost.serverUs / writes.requests,
    rssMb: cost.rssMb,
  }
}

/** Asks for one list after the other, none of which was asked before. */
function newLists({ rows }: Database, seed: number): (server: Server) => Promise<void> {
  const next = requestSource(operationsOf('new-lists', rows), seed)
  return async ({ url, headers }) => {
    const [{ path } = { path: '' }] = next(1)
    const answer = await fetch(url + path, { headers })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`GET ${path} is answered ${answer.status}`)
  }
}

function operationsOf(name: string, rows: Rows): readonly Operation[] {
  return scenariosFor(rows, [name]).flatMap(({ operations }) => operations)
}
