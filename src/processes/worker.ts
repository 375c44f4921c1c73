// One server as a worker runs it: connections to the database, app, listener, and their end.
import { resolve } from 'node:path'
import type { AnyElysia } from 'elysia'
import { type Config, hostInUrl, isPooled } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import { Database, type DatabaseOptions } from '../execute/database.ts'
import { QUERY_MS_MAX } from '../execute/deadlines.ts'
import { ListReads, shareConnections } from '../execute/listReads.ts'
import { LongWrites } from '../execute/longWrites.ts'
import { isAway } from '../execute/outcomes.ts'
import { endConnections } from '../execute/pool.ts'
import { createApp, type Parts } from '../http/app.ts'
import { createCors } from '../http/cors.ts'
import type { OwnRoute } from '../http/ownRoutes.ts'
import { breakOffStreams } from '../http/streamBody.ts'
import { TableCopies } from '../memory/tableCopies.ts'
import { cellOf, countDelay, gauge, setGauges } from '../metrics/counts.ts'
import { Cursors } from '../model/cursor.ts'
import type { Statement } from '../model/sql.ts'
import { descriptorsMax, keepDescriptors } from '../os/descriptors.ts'
import { ListenSocket } from '../os/listenSocket.ts'
import { lowerPriority } from '../os/priority.ts'
import { loadEntities } from '../registry.ts'
import { createAdmission } from './createAdmission.ts'
import { FINISH_MS, type Surroundings } from './messages.ts'
import { requireTables } from './requireTables.ts'
import { slowStatements } from './slowStatements.ts'

export type Worker = Awaited<ReturnType<typeof startWorker>>

/** Descriptors that a worker may need beside those of its connections to the database: files, channels, the runtime's own. */
const OWN_FILES = 16
/** Within this time connections that have begun are accepted, and their first request has come. */
const SETTLE_MS = 50
/** Time to settle with TLS, whose handshake comes before. */
const SETTLE_TLS_MS = 500
/** Connections for questions: those of two tables need not wait for each other. */
const QUESTIONS_POOL = 2
/** Time that a statement waits for a lock while it holds its connection; then, if it has time left, it waits without one. */
const LOCK_MS_MAX = 100
/** A list that waits for a table's lock is another fault than one that costs too much: by less than a statement may take. */
const LISTS_LOCK_MS_MAX = 2_000
const DELAY_EVERY_MS = 1_000

/** Starts one server: pool, app, listener. @throws Error with code EADDRINUSE when the port is taken */
export async function startWorker(config: Config, surroundings: Surroundings) {
  const { log, databaseUrl, migrationFiles, certificate: tls } = surroundings
  const connections = shareConnections(config.databasePool)
  const options: DatabaseOptions = {
    url: databaseUrl,
    poolSize: connections.others,
    prepare: config.databasePrepare,
    onStatement: slowStatements(log, config.slowStatementMs),
    isPooled: isPooled(config),
    name: `roster ${crypto.randomUUID()}`,
    onOutcomeUnknown(connections, closed) {
      // A pooler gives a name to connections of others too.
      if (!isPooled(config)) endConnections(database, connections, closed)
    },
  }
  const database = new Database({ ...options, lockMsMax: LOCK_MS_MAX })
  // Past a pooler, where the role's time limit would end long statements.
  const directUrl = config.databaseDirectUrl ?? databaseUrl
  const longWrites = new LongWrites({ ...options, url: directUrl })
  const lists = new Database({
    ...options,
    poolSize: connections.lists,
    kind: 'list',
    name: `${options.name}/lists`,
    fallback: database,
    lockMsMax: LISTS_LOCK_MS_MAX,
  })
  const listReads = new ListReads({
    sharedPool: database,
    listPool: lists,
    places: connections.lists,
    mayCancel: !isPooled(config),
    // The embedded PostgreSQL shares the processors with the workers.
    onBackend: config.databaseUrl === null ? lowerPriority : undefined,
  })
  const entities = await loadEntities(config.entitiesDir)
  let isWaiting = surroundings.cursorSecret === null
  if (!isWaiting) await requireTables(entities, database)
  const questions = new Database({ ...options, poolSize: QUESTIONS_POOL, name: `${options.name}/memory` })
  const ask = (statement: Statement) => questions.readAlone(statement, performance.now() + QUERY_MS_MAX, () => undefined)
  const bytesMax = config.memoryMb * 2 ** 20
  const memory = bytesMax === 0 ? null : new TableCopies({ bytesMax, url: directUrl, database, questions: { read: ask }, log })
  const { admission, keys, hasKeys, ready, close } = createAdmission(config, surroundings, database)
  if (!isWaiting)
    await keys.refresh().catch((error) => {
      const { cause = error } = error
      // Of a missed deadline the cause has no code: the database is silent, and the worker starts without it.
      const isLate = error instanceof ApiError && cause.code === undefined
      if (!isLate && !isAway(cause)) throw new Error(`the keys cannot be read: ${cause.message}`, { cause })
    })
  let draining = false
  let finishByMs = Number.POSITIVE_INFINITY
  let baseUrl = config.publicUrl ?? ''
  const cursors = new Cursors(surroundings.cursorSecret ?? '')
  const parts: Parts = {
    entities,
    database,
    listReads,
    longWrites,
    admission,
    addCors: createCors(config.corsOrigins),
    cursors,
    memory,
    changes: config.changesDays === 0 ? null : { hasValues: config.changesValues },
    migrationFiles,
    limits: { ofKeys: config.rateLimits, anonymous: config.rateLimitsAnonymous },
    log,
    baseUrl: () => baseUrl,
    isDraining: () => draining,
    isWaiting: () => isWaiting,
  }
  const app = createApp(parts, await ownRoutes(config.appFile))
  // Before the store has answered, this machine would admit requests by its own count alone.
  await ready
  // Workers share the port; the supervisor has made sure that no second server does.
  app.listen({ hostname: config.host, port: config.port, reusePort: true, ...(tls && { tls }) })
  const port = app.server?.port as number
  const url = `${tls ? 'https' : 'http'}://${hostInUrl(config.host)}:${port}`
  baseUrl ||= url
  const listener = new ListenSocket(port)
  const endKeeping = keepDescriptors(config.databasePool + OWN_FILES, listener, () =>
    log.warn('no descriptors left: new clients wait until others have left', { limit: descriptorsMax() }),
  )
  const requestsInFlight = () => app.server?.pendingRequests ?? 0
  // Its timer costs a server at rest a little, and without the port there is no scrape.
  if (config.adminPort !== null) {
    countDelays()
    setGauges(() => {
      gauge(cellOf('requestsInFlight'), requestsInFlight())
      gaugePool('rows', connections.others, database.load)
      gaugePool('lists', connections.lists, lists.load)
      gaugePool('longWrites', 1, longWrites.load)
      gaugePool('memory', QUESTIONS_POOL, questions.load)
      gauge(cellOf('memoryBytesMax'), bytesMax)
      gauge(cellOf('memoryTables'), memory?.use.tables ?? 0)
      gauge(cellOf('memoryBytes'), memory?.use.bytes ?? 0)
    })
  }
  return {
    url,
    port,
    hasKeys: hasKeys(),
    /** Resolves when its keys are the database's current ones. */
    refreshKeys: () => keys.refresh(),
    /** The database is reachable, with this secret: requests are answered from now on. */
    async begin(cursorSecret: string) {
      if (!isWaiting) return
      await keys.refresh().catch(() => undefined)
      cursors.replaceSecret(cursorSecret)
      isWaiting = false
    },
    /** Lets clients leave for `leaveMs`, finishes what runs within `finishMs`, closes the connections. Again: shortens it. */
    async stop(leaveMs: number, finishMs = FINISH_MS) {
      finishByMs = Math.min(finishByMs, performance.now() + leaveMs + finishMs)
      if (draining) return
      draining = true
      const settleMs = tls ? SETTLE_TLS_MS : SETTLE_MS
      await Bun.sleep(Math.max(0, leaveMs - settleMs))
      endKeeping()
      listener.stopAccepting()
      await Bun.sleep(Math.min(leaveMs, settleMs))
      while (requestsInFlight() > 0 && performance.now() < finishByMs) await Bun.sleep(10)
      await close()
      // What still runs is answered 503 when its connection ends; so the listener goes last.
      memory?.end()
      await Promise.all([database.end(), lists.end(), longWrites.end(), questions.end()])
      breakOffStreams()
      await Bun.sleep(20)
      app.server?.stop(true)
    },
  }
}

function gaugePool(pool: string, size: number, { sent, queries }: Database['load']): void {
  gauge(cellOf('connectionsMax', pool), size)
  gauge(cellOf('statementsSent', pool), sent)
  gauge(cellOf('queries', pool), queries)
}

/** Counts for scrapes how late a timer of this process is, until its end. */
function countDelays(): void {
  let dueMs = performance.now() + DELAY_EVERY_MS
  setInterval(() => {
    const nowMs = performance.now()
    countDelay(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + DELAY_EVERY_MS
  }, DELAY_EVERY_MS).unref()
}

/** Routes of the Elysia app that is the default export of `file`, with the API's keys, limits and errors. @throws Error */
async function ownRoutes(file: string | null): Promise<OwnRoute[]> {
  if (file === null) return []
  const { default: app } = await import(resolve(file))
  if (typeof app?.handle !== 'function' || !Array.isArray(app.routes))
    throw new Error(`${file} has no default export that is an Elysia app`)
  return (app as AnyElysia).routes.map(({ method, path, hooks }): OwnRoute => {
    if (method === 'WS' || method === 'ALL' || /[*?]/.test(path))
      throw new Error(
        `${file} cannot have the route ${method} ${path}: neither WebSockets, all() nor * and ? in a path are supported`,
      )
    const { security } = (hooks?.detail ?? {}) as { security?: unknown }
    return {
      method,
      path,
      isOpen: Array.isArray(security) && security.length === 0,
      handle: async (request) => app.handle(request),
    }
  })
}
