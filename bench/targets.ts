import { cpuUsBetween, largestRssMb, readCpu } from './cpu.ts'
import { restore } from './data.ts'
import type { Cluster, Database } from './database.ts'
import { addFound, type Found, readFound, sharesBetween } from './found.ts'
import { type DrawnRequest, requestSource } from './load/requests.mjs'
import { type Cost, faultOf, type Load, mergeLoads, type Round, runLoad } from './load.ts'
import type { Operation } from './operation.ts'
import type { Scenario } from './scenarios.ts'
import { type HttpTarget, startServer } from './server.ts'

/** A program under the load of a scenario. */
export interface Target {
  readonly name: string
  measure(round: Round): Promise<Measured>
  /** Undoes the writes of a round. */
  restore(): Promise<void>
  /** Stops programs that run only for this scenario. */
  stop?(): Promise<void>
}

export interface Measured {
  readonly load: Load
  /** Reason why the requests of the background do not count; null if they count. */
  readonly fault: string | null
  /** Answered background requests per second; null if there is no background. */
  readonly besidePerSecond: number | null
  readonly cost: Cost
  /** Percentages of the lists, by how a server found them. */
  readonly found?: Readonly<Record<string, number>>
}

/** Maximum number of concurrent background requests. */
const BACKGROUND_MAX = 16
/** Maximum time for the lists of another kind before a round, in seconds. */
const BEFORE_SECONDS_MAX = 300
/** Number of quick answers in a row after which a table counts as loaded: enough that each of a few workers has given some. */
const QUICK_MIN = 40
const QUICK_MS = 10
const QUICK_PAUSE_MS = 25

/** The load, translated for a target. */
export interface Asked extends Pick<Scenario, 'operations' | 'background'> {
  /** Lists to request before the lead-in of each round. */
  readonly before?: { readonly operation: Operation; readonly lists: number }
}

/** Returns a target that puts a program under load over HTTP. */
export function overHttp(target: HttpTarget, asked: Asked, postmaster: number): Target {
  const { name, database } = target
  return {
    name,
    measure: (round) => measureHttp({ ...target, admins: target.admin ? [target.admin] : [] }, asked, postmaster, round),
    async restore() {
      if (database) await restore(database.url, database.rows)
    },
  }
}

/**
 * Returns a target of `count` servers on one database. Servers are started for each round, so that none has seen earlier writes.
 */
export function serversTarget(
  { postmasterPid }: Cluster,
  database: Database,
  asked: Asked,
  count: number,
  workersOfAll: number,
): Target {
  const name = count === 1 ? 'roster' : `roster-${count}-servers`
  const workers = Math.max(1, Math.floor(workersOfAll / count))
  return {
    name,
    restore: () => restore(database.url, database.rows),
    async measure(round) {
      const servers = await Promise.all(Array.from({ length: count }, () => startServer(name, database, { workers })))
      const [{ headers }] = servers as [HttpTarget]
      const [urls, pids] = [servers.flatMap((server) => server.urls), servers.flatMap((server) => server.pids)]
      try {
        const admins = servers.flatMap(({ admin }) => admin ?? [])
        return await measureHttp({ urls, headers, pids, admins, hasMemory: true }, asked, postmasterPid, round)
      } finally {
        await Promise.all(servers.map((server) => server.stop()))
      }
    },
  }
}

interface Loaded extends Pick<HttpTarget, 'urls' | 'headers' | 'pids' | 'hasMemory' | 'cancelStatements'> {
  /** Addresses of metrics. */
  readonly admins: readonly string[]
}

async function measureHttp(
  { urls, headers, pids, admins, hasMemory, cancelStatements }: Loaded,
  { operations, background, before: first }: Asked,
  postmaster: number,
  round: Round,
): Promise<Measured> {
  const reads = first ? [first.operation] : operations.filter(({ method }) => method === 'GET')
  if (hasMemory && reads.length > 0) await Promise.all(urls.map((url) => untilLoaded(url, headers, reads, round)))
  if (first) await askFirst(urls, headers, first, round)
  const readAll = () => [readCpu(pids), readCpu([postmaster])] as const
  let [before, after] = [readAll(), readAll()]
  let rssMb: number | null = null
  let own = process.cpuUsage()
  const countFound = async () => addFound(await Promise.all(admins.map(readFound)))
  const foundBefore = await countFound()
  let found = [countFound(), countFound()] as [Promise<Found>, Promise<Found>]
  const onBegin = () => {
    before = readAll()
    found = [countFound(), found[1]]
    own = process.cpuUsage()
  }
  let stopCancelling: (() => Promise<void>) | null = null
  const onEnd = () => {
    own = process.cpuUsage(own)
    after = readAll()
    found = [found[0], countFound()]
    rssMb = largestRssMb(pids)
    // The background writes continue until all answers have arrived, and must not be canceled.
    if (!background) stopCancelling = cancelStatements?.() ?? null
  }
  const connections = Math.max(1, Math.floor(round.connections / urls.length))
  const loads = urls.map((url, index) => {
    const seed = round.seed * urls.length + index
    return runLoad({ ...round, url, headers, operations, connections, seed, ...(index === 0 ? { onBegin, onEnd } : {}) })
  })
  const stop = background && runBackground(background, urls[0] as string, headers, round.seed)
  const all = await Promise.all(loads).finally(() => stopCancelling?.())
  const beside = stop ? await stop() : null
  const [serverUs, postgresUs] = ([0, 1] as const).map((index) => cpuUsBetween(before[index], after[index]))
  const cost = { ownUs: own.user + own.system, serverUs: serverUs ?? null, postgresUs: postgresUs ?? null, rssMb }
  const shares = sharesBetween(await found[0], await found[1])
  // On a busy machine the server may answer both readings of a short round after the round. Then the lists before it count, too.
  const isMissed = Object.keys(shares).length === 0
  return {
    load: mergeLoads(all),
    fault: beside?.fault ?? null,
    besidePerSecond: beside?.perSecond ?? null,
    cost,
    found: isMissed ? sharesBetween(foundBefore, await countFound()) : shares,
  }
}

/** Asks for lists of another kind. @throws Error if some fail, or if they take too long */
async function askFirst(
  urls: readonly string[],
  headers: HttpTarget['headers'],
  { operation, lists }: NonNullable<Asked['before']>,
  { connections, seed }: Round,
): Promise<void> {
  const round = { connections, seed, seconds: BEFORE_SECONDS_MAX, loadingSeconds: 0, leadInSeconds: 0 }
  const answers = Math.ceil(lists / urls.length)
  const loads = await Promise.all(urls.map((url) => runLoad({ ...round, url, headers, operations: [operation], answers })))
  const load = mergeLoads(loads)
  const late = load.requests < lists ? `only ${load.requests} of ${lists} in ${BEFORE_SECONDS_MAX} s` : null
  const fault = faultOf(load) ?? late
  if (fault) throw new Error(`the lists of another kind: ${fault}`)
}

/**
 * Sends one request at a time until several in a row are quick. With many clients, the server and PostgreSQL would have no
 * processor left to load the table. Ends after `loadingSeconds` at the latest.
 */
async function untilLoaded(url: string, headers: HttpTarget['headers'], reads: readonly Operation[], round: Round) {
  // The values differ from those of the load, so that its lists are new.
  const draw = requestSource(reads, -1 - round.seed)
  const endMs = performance.now() + round.loadingSeconds * 1_000
  for (let quick = 0; quick < QUICK_MIN && performance.now() < endMs; ) {
    const [{ path, headers: own }] = draw(1) as [DrawnRequest]
    const startMs = performance.now()
    // Each request has its own connection, so that each worker gets some.
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(endMs - startMs)))
    const answer = await fetch(url + path, { headers: { ...headers, ...own, Connection: 'close' }, signal }).catch(() => null)
    await answer?.arrayBuffer().catch(() => null)
    quick = answer?.ok && performance.now() - startMs < QUICK_MS ? quick + 1 : 0
    await Bun.sleep(QUICK_PAUSE_MS)
  }
}

/** Result of the background requests. */
interface Beside {
  /** Reason why the background requests do not count; null if they count. */
  readonly fault: string | null
  readonly perSecond: number
}

/** Sends background requests at an even rate, or at a lower rate if answers are late. Returns a function that stops this. */
function runBackground(
  { operations, rate }: NonNullable<Asked['background']>,
  url: string,
  headers: HttpTarget['headers'],
  seed: number,
): () => Promise<Beside> {
  const draw = requestSource(operations, seed)
  const running = new Set<Promise<void>>()
  const startMs = performance.now()
  let sent = 0
  let answered = 0
  let fault: string | null = null
  const send = async () => {
    const [{ path, headers: own, status, ...init }] = draw(1) as [DrawnRequest]
    const answer = await fetch(url + path, { ...init, headers: { ...headers, ...own } })
    await answer.arrayBuffer()
    answered++
    if (answer.status !== status) fault ??= `${answer.status} instead of ${status}`
  }
  const sendDue = () => {
    const due = ((performance.now() - startMs) * rate) / 1_000
    for (; sent < due && running.size < BACKGROUND_MAX; sent++) {
      const answer = send().catch((error) => void (fault ??= error.message))
      running.add(answer)
      answer.finally(() => running.delete(answer))
    }
    // Requests that are due for too long are left out, rather than sent all at once.
    sent = Math.max(sent, Math.floor(due) - BACKGROUND_MAX)
  }
  const timer = setInterval(sendDue, 1_000 / rate)
  return async () => {
    clearInterval(timer)
    await Promise.all(running)
    return { fault, perSecond: (answered * 1_000) / (performance.now() - startMs) }
  }
}
