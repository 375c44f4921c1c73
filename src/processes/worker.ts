// Runs the server of one worker: starts its parts, from connection pools to the listener, and stops them.
import { resolve } from 'node:path'
import type { RightsOfPerson } from '../admit/persons.ts'
import type { Reader } from '../columns/collation.ts'
import { type Config, hostInUrl, isPooled } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import { Database, type DatabaseOptions } from '../execute/database.ts'
import { LIST_LOCK_MS_MAX, LOCK_MS_MAX, QUERY_MS_MAX, QUESTIONS_POOL } from '../execute/limits.ts'
import { ListReads, shareConnections } from '../execute/listReads.ts'
import { LongWrites } from '../execute/longWrites.ts'
import { isAway } from '../execute/outcomes.ts'
import { endConnections } from '../execute/pool.ts'
import { type Parts as AppParts, createApp } from '../http/app.ts'
import { createCors } from '../http/cors.ts'
import { ownRoutesOf } from '../http/elysia.ts'
import type { OwnRoute } from '../http/ownRoutes.ts'
import { breakOffStreams } from '../http/streamBody.ts'
import { TableCopies } from '../memory/tableCopies.ts'
import { countDelay, gauge, seriesOf, setGauges } from '../metrics/counts.ts'
import { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import type { NamedView } from '../model/namedView.ts'
import { CurrentRights } from '../operations/currentRights.ts'
import { descriptorsMax, keepDescriptors } from '../os/descriptors.ts'
import { ListenSocket } from '../os/listenSocket.ts'
import { lowerPriority } from '../os/priority.ts'
import { loadEntities } from '../registry.ts'
import { RightsReader } from '../rights/reader.ts'
import type { Roles } from '../roles/roles.ts'
import { FINISH_MS, type WorkerContext } from './messages.ts'
import { type Part, Parts } from './parts.ts'
import { requireTables } from './requireTables.ts'
import { parseForWorker } from './rolesText.ts'
import { slowStatements } from './slowStatements.ts'
import { WorkerAdmission } from './workerAdmission.ts'

/** File descriptors that a worker may need in addition to its database connections: files, channels, the runtime. */
const OWN_FILES = 16
/** Time at a stop for handshakes that have begun, and for the first requests of their connections. */
const HANDSHAKE_MS = 50
/** Time at a stop for handshakes with TLS, which take longer. */
const HANDSHAKE_TLS_MS = 500
/**
 * Maximum time that a question about several tables waits for a lock on one of the tables. Meanwhile, lists of all these tables
 * wait for the question.
 */
const JOINT_LOCK_MS_MAX = 20
/** Time to send the answers of requests whose statements were ended with their connection pools. */
const LAST_ANSWERS_MS = 500
const DELAY_EVERY_MS = 1_000

/** Starts the server of a worker. @throws Error with code EADDRINUSE if the port is taken */
export async function startWorker(config: Config, context: WorkerContext): Promise<Worker> {
  const entities = await loadEntities(config.entitiesDir)
  const roles = parseForWorker(context.rolesText, entities)
  const worker = new Worker(config, context, entities, roles)
  await worker.start()
  return worker
}

/** The server of a worker: connection pools, copies of tables, keys, app and listener. */
export class Worker {
  private readonly running: Parts
  private readonly pools: Pools
  private readonly memory: TableCopies | null
  private readonly keys: WorkerAdmission
  private readonly cursors: Cursors
  private readonly views: readonly NamedView[]
  private app: ReturnType<typeof createApp> | null = null
  /** True until the database is reachable. */
  private isWaiting: boolean
  private isDraining = false
  private drain: Drain = { leaveMs: 0, finishByMs: Number.POSITIVE_INFINITY }
  url = ''

  constructor(
    private readonly config: Config,
    private readonly context: WorkerContext,
    private readonly entities: readonly Entity[],
    roles: Roles | null,
  ) {
    this.views = roles?.views ?? []
    const rights = new RightsReader(entities, this.views, roles)
    this.running = new Parts(context.log)
    this.isWaiting = context.cursorSecret === null
    this.pools = openPools(config, context)
    this.memory = createMemory(config, context, this.pools)
    this.keys = new WorkerAdmission(
      config,
      context,
      this.pools.database,
      (record) => rights.read(record),
      this.rightsOfPersons(roles, rights),
    )
    this.cursors = new Cursors(context.cursorSecret ?? '')
  }

  /** Returns the function that finds the rights of a person by the roles. Without a roles file a person has no rights. */
  private rightsOfPersons(roles: Roles | null, reader: RightsReader): RightsOfPerson {
    const none = { rights: reader.read({ rights: '', addresses: null }), moment: null }
    if (roles === null) return () => none
    const ofPersons = new CurrentRights({ roles, memory: this.memory, listReads: this.pools.listReads })
    return (claims, isEmailVerified, reads) => ofPersons.of(claims, isEmailVerified, reads)
  }

  get port(): number {
    return this.app?.server?.port as number
  }

  get hasKeys(): boolean {
    return this.keys.hasKeys()
  }

  /** Returns the parts in the order of their start: each part needs the parts before it. */
  parts(): Part[] {
    return [
      // Requests that still run at the end are answered 503 when their database connection ends, so clients are disconnected
      // last.
      { name: 'clients', stop: () => this.leaveClients() },
      { name: 'pools', stop: () => this.pools.end() },
      { name: 'entities', start: () => this.checkTables() },
      { name: 'memory', stop: () => this.memory?.end() },
      { name: 'keys', start: () => this.readKeys(), stop: () => this.keys.close() },
      this.listenerPart(),
    ]
  }

  async start(): Promise<void> {
    await this.running.start(this.parts())
    // Without ADMIN_PORT nobody reads the metrics, and the timer would cost an idle server a little.
    if (this.config.adminPort !== null) this.measure()
  }

  /** Resolves when the worker has the current keys of the database. */
  refreshKeys(): Promise<void> {
    return this.keys.keys.refresh()
  }

  /** Begins to answer requests, because the database is reachable. `cursorSecret`: the database's secret for cursors. */
  async begin(cursorSecret: string): Promise<void> {
    if (!this.isWaiting) return
    await this.refreshKeys().catch(() => undefined)
    this.cursors.replaceSecret(cursorSecret)
    this.keys.begin(cursorSecret)
    this.isWaiting = false
  }

  /**
   * Lets clients leave for `leaveMs`, gives requests `finishMs` more to finish, and closes the connections. A further call can
   * only shorten the time.
   */
  async stop(leaveMs: number, finishMs = FINISH_MS): Promise<void> {
    const finishByMs = Math.min(this.drain.finishByMs, performance.now() + leaveMs + finishMs)
    this.drain = { leaveMs: this.isDraining ? this.drain.leaveMs : leaveMs, finishByMs }
    if (this.isDraining) return
    this.isDraining = true
    await this.running.stop()
  }

  private async checkTables(): Promise<void> {
    if (!this.isWaiting) await requireTables(this.entities, this.pools.database)
  }

  private async readKeys(): Promise<void> {
    if (this.isWaiting) return
    await this.refreshKeys().catch((error) => {
      const { cause = error } = error
      // If the deadline was missed, the cause has no code. The database does not answer then, and the worker starts without its
      // keys.
      const isLate = error instanceof ApiError && cause.code === undefined
      if (!isLate && !isAway(cause)) throw new Error(`the keys cannot be read: ${cause.message}`, { cause })
    })
  }

  private listenerPart(): Part {
    const { config, context } = this
    let listener: ListenSocket | null = null
    let endKeeping: () => void = () => undefined
    return {
      name: 'listener',
      start: async () => {
        this.app = createApp(this.appParts(), await ownRoutes(config.appFile))
        // Waits for Redis: before it answers, this machine would admit requests by its own count only.
        await this.keys.ready
        const tls = context.certificate
        // Workers share the port; the supervisor has made sure that no other server uses it.
        this.app.listen({ hostname: config.host, port: config.port, reusePort: true, ...(tls && { tls }) })
        this.url = `${tls ? 'https' : 'http'}://${hostInUrl(config.host)}:${this.port}`
        listener = new ListenSocket(this.port)
        endKeeping = keepDescriptors(config.databasePool + OWN_FILES, listener, () =>
          context.log.warn('no descriptors left: new clients wait until others have left', { limit: descriptorsMax() }),
        )
      },
      stop: async () => {
        const { leaveMs } = this.drain
        const handshakeMs = context.certificate ? HANDSHAKE_TLS_MS : HANDSHAKE_MS
        await Bun.sleep(Math.max(0, leaveMs - handshakeMs))
        endKeeping()
        listener?.stopAccepting()
        await Bun.sleep(Math.min(leaveMs, handshakeMs))
        // `drain` is read again each time, because another call of `stop` may have shortened the time.
        while (this.requestsInFlight > 0 && performance.now() < this.drain.finishByMs) await Bun.sleep(10)
      },
    }
  }

  private appParts(): AppParts {
    const { config, context, pools } = this
    return {
      entities: this.entities,
      views: this.views,
      database: pools.database,
      listReads: pools.listReads,
      longWrites: pools.longWrites,
      admission: this.keys.admission,
      addCors: createCors(config.corsOrigins),
      cursors: this.cursors,
      memory: this.memory,
      changes: config.changesDays === 0 ? null : { hasValues: config.changesValues },
      migrationFiles: context.migrationFiles,
      limits: {
        ofKeys: config.rateLimits,
        anonymous: config.rateLimitsAnonymous,
        ofPersons: config.oidcIssuer === null ? null : config.rateLimitsPersons,
      },
      documentNeedsKey: config.documentNeedsKey,
      signIn: this.keys.signIn(),
      log: context.log,
      baseUrl: () => config.publicUrl ?? this.url,
      isDraining: () => this.isDraining,
      isWaiting: () => this.isWaiting,
    }
  }

  private get requestsInFlight(): number {
    return this.app?.server?.pendingRequests ?? 0
  }

  private async leaveClients(): Promise<void> {
    breakOffStreams()
    // The pools have ended, so the requests that still waited for them are answered. A busy processor needs a moment to send the
    // answers.
    const byMs = performance.now() + LAST_ANSWERS_MS
    do await Bun.sleep(20)
    while (this.requestsInFlight > 0 && performance.now() < byMs)
    this.app?.server?.stop(true)
  }

  private measure(): void {
    const { pools, memory } = this
    countDelays()
    setGauges(() => {
      gauge(seriesOf('requestsInFlight'), this.requestsInFlight)
      gaugePool('rows', pools.sizes.others, pools.database.load)
      gaugePool('lists', pools.sizes.lists, pools.lists.load)
      gaugePool('longWrites', 1, pools.longWrites.load)
      const { questions, jointQuestions } = pools
      gaugePool('memory', 2 * QUESTIONS_POOL, {
        sent: questions.load.sent + jointQuestions.load.sent,
        queries: questions.load.queries + jointQuestions.load.queries,
      })
      gauge(seriesOf('memoryBytesMax'), memoryBytes(this.config))
      gauge(seriesOf('memoryTables'), memory?.use.tables ?? 0)
      gauge(seriesOf('memoryBytes'), memory?.use.bytes ?? 0)
    })
  }
}

/** Progress of a stop. */
interface Drain {
  readonly leaveMs: number
  /** End of the time for requests to finish, by `performance.now()`. */
  readonly finishByMs: number
}

type Pools = ReturnType<typeof openPools>

/** Creates the connection pools; connections open when they are needed. */
function openPools(config: Config, { log, databaseUrl }: WorkerContext) {
  const sizes = shareConnections(config.databasePool)
  const options: DatabaseOptions = {
    url: databaseUrl,
    poolSize: sizes.others,
    prepare: config.databasePrepare,
    onStatement: slowStatements(log, config.slowStatementMs),
    isPooled: isPooled(config),
    name: `roster ${crypto.randomUUID()}`,
    onOutcomeUnknown(connections, closed) {
      // Connections are ended by their application name. A pooler may give this name to connections that other clients use, which
      // must not be ended.
      if (!isPooled(config)) endConnections(database, connections, closed)
    },
  }
  const database = new Database({ ...options, lockMsMax: LOCK_MS_MAX })
  const longWrites = new LongWrites({ ...options, url: directUrl(config, databaseUrl) })
  const lists = new Database({
    ...options,
    poolSize: sizes.lists,
    kind: 'list',
    name: `${options.name}/lists`,
    fallback: database,
    lockMsMax: LIST_LOCK_MS_MAX,
  })
  const listReads = new ListReads({
    sharedPool: database,
    listPool: lists,
    connections: sizes.lists,
    mayCancel: !isPooled(config),
    // The embedded PostgreSQL shares the processors with the workers, so its lists run at a lower priority.
    onBackend: config.databaseUrl === null ? lowerPriority : undefined,
  })
  const questions = new Database({ ...options, poolSize: QUESTIONS_POOL, name: `${options.name}/memory` })
  const jointQuestions = new Database({
    ...options,
    poolSize: QUESTIONS_POOL,
    name: `${options.name}/joint`,
    lockMsMax: JOINT_LOCK_MS_MAX,
    failsAtLocks: true,
  })
  return {
    sizes,
    database,
    lists,
    listReads,
    longWrites,
    questions,
    jointQuestions,
    async end() {
      await Promise.all([database, lists, longWrites, questions, jointQuestions].map((pool) => pool.end()))
    },
  }
}

/**
 * Returns the address for long statements: DATABASE_DIRECT_URL if it is set. Through a pooler, a connection cannot choose its
 * `statement_timeout`, so the short timeout of the role would end these statements.
 */
function directUrl(config: Config, databaseUrl: string): string {
  return config.databaseDirectUrl ?? databaseUrl
}

function memoryBytes({ memoryMb }: Config): number {
  return memoryMb * 2 ** 20
}

function createMemory(config: Config, { log, databaseUrl }: WorkerContext, pools: Pools): TableCopies | null {
  const bytesMax = memoryBytes(config)
  if (bytesMax === 0) return null
  const readerOf = (pool: Database): Reader => ({
    read: (statement) => pool.readUnbatched(statement, performance.now() + QUERY_MS_MAX, () => undefined),
  })
  return new TableCopies({
    bytesMax,
    url: directUrl(config, databaseUrl),
    database: pools.database,
    questions: readerOf(pools.questions),
    jointQuestions: readerOf(pools.jointQuestions),
    log,
  })
}

function gaugePool(pool: string, size: number, { sent, queries }: Database['load']): void {
  gauge(seriesOf('connectionsMax', pool), size)
  gauge(seriesOf('statementsSent', pool), sent)
  gauge(seriesOf('queries', pool), queries)
}

/** Measures once a second how late timers of this process are, for the metrics. */
function countDelays(): void {
  let dueMs = performance.now() + DELAY_EVERY_MS
  setInterval(() => {
    const nowMs = performance.now()
    countDelay(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + DELAY_EVERY_MS
  }, DELAY_EVERY_MS).unref()
}

/** Loads the routes of the Elysia app that `file` exports; the API's keys, limits and errors apply to them. @throws Error */
async function ownRoutes(file: string | null): Promise<OwnRoute[]> {
  return file === null ? [] : ownRoutesOf((await import(resolve(file))).default, file)
}
