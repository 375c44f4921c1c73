// The supervisor: starts PostgreSQL and workers, watches them, and stops them in the reverse order.
import { readDevelopmentKey } from '../admit/apiKey.ts'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import type { EmbeddedPostgres } from '../postgres/embedded.ts'
import { migrationNames } from '../postgres/migrate.ts'
import { loadEntities } from '../registry.ts'
import type { Roles } from '../roles/roles.ts'
import { BackgroundJobs } from './backgroundJobs.ts'
import { watchCertificates } from './certificates.ts'
import { startEmbeddedDatabase } from './embeddedDatabase.ts'
import { openTables } from './limitTables.ts'
import { startMonitor } from './monitor.ts'
import { openDatabase } from './openDatabase.ts'
import { type Part, Parts } from './parts.ts'
import { RolesText } from './rolesText.ts'
import { orStartError, readForStart, StartError, takePort } from './startError.ts'
import { WorkerPool } from './workerPool.ts'

export interface Started {
  readonly url: string
  readonly adminUrl: string | null
  /** Key that a server with an embedded PostgreSQL makes for development; null if BOOTSTRAP_API_KEY or DATABASE_URL is set. */
  readonly developmentKey: string | null
  readonly hasKeys: boolean
  /** False if the server waits for its database. */
  readonly isServing: boolean
}

const RETRY_MS = 250
/** Time at a stop in which responses ask clients to close their connections, so that no request is cut off. */
const LEAVE_MS = 250

/** Starts, watches and stops all parts of a server. */
export class Supervisor {
  private readonly running: Parts
  private entities: readonly Entity[] = []
  private migrationFiles: readonly string[] = []
  private embedded: Promise<EmbeddedPostgres> | null = null
  private databaseUrl = ''
  private tables: ReturnType<typeof openTables> | null = null
  private certificates: ReturnType<typeof watchCertificates> = null
  private monitor: ReturnType<typeof startMonitor> | null = null
  private pool: WorkerPool | null = null
  private readonly jobs: BackgroundJobs
  private readonly rolesText: RolesText
  /** The roles file as it was at the start. */
  private roles: Roles | null = null
  /** Secret with which workers sign cursors; null until the database is reachable. */
  private cursorSecret: string | null = null
  private developmentKey: string | null = null
  private ready: { readonly url: string; readonly hasKeys: boolean } | null = null

  /** `onFailure` is called when the server cannot go on and must be stopped. */
  constructor(
    private readonly config: Config,
    private readonly log: Log,
    private readonly onFailure: () => void,
  ) {
    this.running = new Parts(log)
    this.jobs = new BackgroundJobs(config, log)
    this.rolesText = new RolesText(config.rolesFile, log)
  }

  /** Returns the parts in the order of their start: each part needs some of the parts before it. */
  parts(): Part[] {
    const { config } = this
    const { adminHost, adminPort } = config
    return [
      this.certificatesPart(),
      portPart('port', () => takePort(config)),
      ...(adminPort === null
        ? []
        : [portPart('admin port', () => takePort({ host: adminHost, port: adminPort, setting: 'ADMIN_PORT' }))]),
      ...(config.databaseUrl === null ? [this.postgresPart()] : []),
      { name: 'entities', start: () => this.readEntities() },
      this.tablesPart(),
      { name: 'database', start: () => this.firstOpen() },
      { name: 'background jobs', stop: () => this.jobs.stop() },
      this.workersPart(),
    ]
  }

  /** Resolves when all workers answer, or wait for the database. @throws StartError; other errors are bugs */
  async start(): Promise<Started> {
    await this.running.start(this.parts())
    if (this.running.isStopping || this.ready === null) throw new StartError('the server was stopped while it started')
    const isServing = this.cursorSecret !== null
    if (!isServing) this.awaitDatabase()
    return {
      url: this.ready.url,
      adminUrl: this.monitor?.url ?? null,
      developmentKey: this.developmentKey,
      hasKeys: this.ready.hasKeys || !isServing,
      isServing,
    }
  }

  stop(): Promise<void> {
    return this.running.stop()
  }

  /**
   * Kills the workers and the embedded PostgreSQL at once. A PostgreSQL that is still starting is stopped by the next start of
   * the server.
   */
  async kill(): Promise<void> {
    for (const worker of this.pool?.workers ?? []) worker.kill()
    this.embedded?.then((started) => started.kill()).catch(() => undefined)
  }

  /**
   * Replaces all workers by new workers, which start with the current code, keys and roles file. If the roles file cannot be
   * used, the old workers stay.
   */
  readonly renewWorkers = (): void => {
    if (this.rolesText.readAnew()) this.restartWorkers()
  }

  /** Replaces the workers one after the other, with the current code and keys; no request fails. */
  private readonly restartWorkers = (): void => {
    this.pool?.restart()
  }

  private certificatesPart(): Part {
    return {
      name: 'certificates',
      start: () => {
        this.certificates = watchCertificates(this.config, this.log, this.restartWorkers)
        this.migrationFiles = readForStart(() => migrationNames(this.config))
      },
      stop: () => this.certificates?.stop(),
    }
  }

  private postgresPart(): Part {
    return {
      name: 'postgres',
      start: async () => {
        this.embedded = startEmbeddedDatabase(this.config, this.log, this.onFailure)
        await this.embedded.catch(orStartError('the embedded PostgreSQL cannot be used'))
      },
      stop: async () => {
        const started = await this.embedded?.catch(() => null)
        await started?.stop()
      },
    }
  }

  private async readEntities(): Promise<void> {
    const { config } = this
    this.databaseUrl = config.databaseUrl ?? ((await this.embedded) as EmbeddedPostgres).url
    this.entities = await loadEntities(config.entitiesDir).catch(orStartError('the entities cannot be used'))
    this.roles = this.rolesText.readForStart(this.entities)
    if (config.oidcIssuer === null && (this.roles?.outline.roles.length ?? 0) > 0)
      this.log.warn('the roles file has roles of persons, and OIDC_ISSUER is not set: nobody can sign in')
  }

  private tablesPart(): Part {
    return {
      name: 'limiter tables',
      start: () => {
        this.tables = readForStart(() => openTables(this.config, this.log, this.restartWorkers))
        if (this.embedded && !this.config.bootstrapApiKey) this.developmentKey = readDevelopmentKey(this.config.dataDir)
      },
      stop: () => this.tables?.release(),
    }
  }

  private workersPart(): Part {
    return {
      name: 'workers',
      start: async () => {
        this.pool = this.createPool()
        this.ready = await this.pool.start()
        if (this.config.adminPort !== null && !this.running.isStopping) this.monitor = this.createMonitor(this.pool)
      },
      stop: async () => {
        await this.pool?.stop(LEAVE_MS)
        // The monitor is stopped after the workers, so that their last requests are counted.
        this.monitor?.stop()
      },
    }
  }

  private createPool(): WorkerPool {
    const { config, log, migrationFiles, databaseUrl, developmentKey } = this
    const tables = this.tables as ReturnType<typeof openTables>
    return new WorkerPool({
      count: config.workers,
      log,
      startMessage: (port) => ({
        kind: 'start',
        config: { ...config, port: port ?? config.port },
        databaseUrl,
        cursorSecret: this.cursorSecret,
        bootstrapKey: config.bootstrapApiKey ?? developmentKey,
        migrationFiles,
        certificate: this.certificates?.current() ?? null,
        tables: tables.ensure(),
        rolesText: this.rolesText.take(),
      }),
      onRestarted: (isDone) => this.rolesText.endRestart(isDone),
      onKeys: (limits) => {
        // An operator who has changed the keys may have changed the hooks, too.
        this.jobs.checkHooks()
        return tables.ensure(limits)
      },
    })
  }

  private createMonitor(pool: WorkerPool) {
    return startMonitor(this.config, {
      pool,
      hooks: () => this.jobs.hookMetrics,
      url: this.databaseUrl,
      migrationFiles: this.migrationFiles,
      isServing: () => this.cursorSecret !== null && !this.running.isStopping,
    })
  }

  private async firstOpen(): Promise<void> {
    const reason = await this.open()
    if (reason !== null) this.log.warn('database unreachable: the server waits for it', { reason })
  }

  /**
   * Opens the database, and starts the background jobs. Returns the reason if the database is unreachable, else null. @throws
   * StartError
   */
  private async open(): Promise<string | null> {
    const { config, log, entities, roles } = this
    const url = config.databaseDirectUrl ?? this.databaseUrl
    const opened = await openDatabase(url, { config, log, entities, roles, isEmbedded: this.embedded !== null })
    if (opened.reason !== null) return opened.reason
    if (!this.running.isStopping) this.jobs.start(url, entities)
    this.cursorSecret = opened.cursorSecret
    return null
  }

  /** Tries to open the database until it is reachable; then tells the workers to answer requests. */
  private async awaitDatabase(): Promise<void> {
    try {
      while (!this.running.isStopping && (await this.open()) !== null) await Bun.sleep(RETRY_MS)
    } catch (error) {
      if (this.running.isStopping) return
      this.log.error('the database cannot be used: the server stops', { reason: errorOf(error).message })
      return this.onFailure()
    }
    if (this.running.isStopping || this.cursorSecret === null) return
    for (const worker of this.pool?.workers ?? []) worker.send({ kind: 'begin', cursorSecret: this.cursorSecret })
    this.log.info('database reachable: the server answers requests')
  }
}

/** Returns a part that holds a port, so that no second server listens on it. */
function portPart(name: string, take: () => Promise<() => void>): Part {
  let release: (() => void) | null = null
  return {
    name,
    async start() {
      release = await take()
    },
    stop: () => release?.(),
  }
}
