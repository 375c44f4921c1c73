// The supervisor: starts PostgreSQL and workers, watches them, and ends them in the reverse order.
import { readDevelopmentKey } from '../admit/apiKey.ts'
import { type Config, isPooled } from '../config/config.ts'
import { isAway } from '../execute/outcomes.ts'
import { HookSender } from '../hooks/sender.ts'
import { readCursorSecret } from '../keys/store.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { parseTargets } from '../model/targets.ts'
import type { EmbeddedPostgres } from '../postgres/embedded.ts'
import { checkChanges, loadSample, MIGRATIONS, migrate, migrationFolders, migrationNames } from '../postgres/migrate.ts'
import { deleteOldRows, oldAnswers, oldChanges, oldRowChanges } from '../postgres/oldRows.ts'
import { warnOfSuperuser } from '../postgres/rights.ts'
import { loadEntities } from '../registry.ts'
import { watchCertificates } from './certificates.ts'
import { startEmbeddedDatabase } from './embeddedDatabase.ts'
import { openTables } from './limitTables.ts'
import { createMonitor } from './monitor.ts'
import { orDatabaseError, orStartError, portTaken, readForStart, requireTls, StartError, takePort } from './startError.ts'
import { WorkerPool } from './workerPool.ts'
import { WorkerFailed } from './workerProcess.ts'

export interface Started {
  readonly url: string
  readonly adminUrl: string | null
  /** To be shown to a developer; null where the operator makes the keys. */
  readonly developmentKey: string | null
  readonly hasKeys: boolean
  /** False: the server waits for its database. */
  readonly isServing: boolean
}

const AGAIN_MS = 250
/** Answers within this time ask clients to close their connections, so that none is cut. */
const LEAVE_MS = 250

/** Brings up all that a server consists of, in order, watches over it, and ends it in the reverse order. */
export class Supervisor {
  private readonly releases: (() => void)[] = []
  private embedded: Promise<EmbeddedPostgres> | null = null
  private pool: WorkerPool | null = null
  private monitor: ReturnType<typeof createMonitor> | null = null
  /** Null until the database has been there. */
  private cursorSecret: string | null = null
  private isStopping = false
  private stopOldRows: (() => Promise<void>) | null = null
  private hooks: HookSender | null = null
  private certificates: ReturnType<typeof watchCertificates> = null
  private entities: readonly Entity[] = []

  /** `onFailure`: called when the server cannot go on, and only its end is left. */
  constructor(
    private readonly config: Config,
    private readonly log: Log,
    private readonly onFailure: () => void,
  ) {}

  /** Resolves when all workers answer. @throws StartError; Error for a fault of ours */
  async start(): Promise<Started> {
    const { config } = this
    this.certificates = watchCertificates(config, this.log, () => this.restartWorkers())
    const migrationFiles = readForStart(() => migrationNames(config))
    const { adminHost, adminPort } = config
    this.releases.push(await takePort(config))
    if (adminPort !== null) this.releases.push(await takePort({ host: adminHost, port: adminPort, setting: 'ADMIN_PORT' }))
    if (config.databaseUrl === null) this.embedded = startEmbeddedDatabase(config, this.log, this.onFailure)
    const embedded = await this.embedded?.catch(orStartError('the embedded PostgreSQL cannot be used'))
    const databaseUrl = config.databaseUrl ?? (embedded as EmbeddedPostgres).url
    this.entities = await loadEntities(config.entitiesDir).catch(orStartError('the entities cannot be used'))
    const tables = readForStart(() => openTables(config, this.log, () => this.restartWorkers()))
    this.releases.push(tables.release)
    const directUrl = config.databaseDirectUrl ?? databaseUrl
    if (adminPort !== null)
      this.monitor = createMonitor(config, {
        ...{ url: directUrl, migrationFiles, isServing: () => this.cursorSecret !== null && !this.isStopping },
        ...{ workers: () => this.pool, hooks: () => this.hooks?.use ?? null },
      })
    const developmentKey = this.embedded && !config.bootstrapApiKey ? readDevelopmentKey(config.dataDir) : null
    const reason = await this.openDatabase(directUrl)
    const isThere = reason === null
    if (!isThere) this.log.warn('database unreachable: the server waits for it', { reason })
    if (this.isStopping) throw new StartError('the server was stopped while it started')
    this.pool = new WorkerPool({
      count: config.workers,
      log: this.log,
      startMessage: (port) => ({
        kind: 'start',
        config: { ...config, port: port ?? config.port },
        databaseUrl,
        directUrl,
        cursorSecret: this.cursorSecret,
        bootstrapKey: config.bootstrapApiKey ?? developmentKey,
        migrationFiles,
        certificate: this.certificates?.current() ?? null,
        tables: tables.ensure(),
      }),
      sums: this.monitor?.sums ?? null,
      onEnd: (worker) => tables.leave(worker),
      onKeys: (worker, limits) => {
        this.hooks?.look() // an operator may have changed them
        return tables.take(worker, limits)
      },
    })
    const { url, hasKeys: isOpen } = await this.pool.start().catch((error) => {
      if (!(error instanceof WorkerFailed)) throw error
      throw error.code === 'EADDRINUSE' ? portTaken(config) : new StartError(error.message, { cause: error })
    })
    const adminUrl = this.monitor?.start() ?? null
    if (!isThere) this.awaitDatabase(directUrl)
    return { url, adminUrl, developmentKey, hasKeys: isOpen || !isThere, isServing: isThere }
  }

  /** Replaces the workers one after the other, with the code and the keys of now; no request fails. */
  restartWorkers(): void {
    this.pool?.restart()
  }

  async stop(): Promise<void> {
    this.isStopping = true
    this.certificates?.stop()
    await Promise.all([this.stopOldRows?.(), this.hooks?.stop()])
    await this.pool?.stop(LEAVE_MS)
    this.monitor?.stop()
    await (await this.embedded?.catch(() => null))?.stop()
    for (const release of this.releases.splice(0)) release()
  }

  /** Ends what runs at once; an embedded PostgreSQL that is starting is stopped by the next start. */
  async kill(): Promise<void> {
    this.pool?.kill()
    this.embedded?.then(
      (embedded) => embedded.kill(),
      () => undefined,
    )
  }

  private startChores(url: string) {
    const { config, entities, log } = this
    const { changesDays, hooksAllow } = config
    this.stopOldRows = deleteOldRows(url, [oldRowChanges(), oldAnswers, ...(changesDays > 0 ? [oldChanges(changesDays)] : [])])
    // Without lines there is nothing to post; behind a pooler the lock of the sender would be that of any client.
    if (changesDays > 0 && (!isPooled(config) || config.databaseDirectUrl !== null))
      this.hooks = new HookSender(url, entities, { allowed: parseTargets(hooksAllow), log })
  }

  /** Reads what workers need of the database. Null, or why it is away. @throws StartError for what an operator must mend */
  private async openDatabase(url: string): Promise<string | null> {
    const { config, log } = this
    try {
      for (const folder of migrationFolders(config)) await migrate(url, folder).catch(orDatabaseError)
      const [isKept, tables] = [config.changesDays > 0, this.entities.map(({ table }) => table)]
      const silent = await checkChanges(url, { isKept, hasValues: config.changesValues }, tables).catch(orDatabaseError)
      if (isKept && silent.length > 0)
        log.warn('changes of tables are not recorded: triggers are missing or disabled', { tables: silent.join(' ') })
      if (this.embedded) await loadSample(url, MIGRATIONS, config.demoData && config.entitiesDir === null)
      else await warnOfSuperuser(url, log)
      const cursorSecret = await readCursorSecret(url).catch(orDatabaseError)
      if (this.stopOldRows === null) this.startChores(url)
      this.cursorSecret = cursorSecret
      return null
    } catch (error) {
      if (!isAway(error)) throw error
      await requireTls(url, error as Error)
      return (error as Error).message
    }
  }

  /** Retries until the database is reachable; then the workers answer requests. */
  private async awaitDatabase(url: string) {
    try {
      while (!this.isStopping && (await this.openDatabase(url)) !== null) await Bun.sleep(AGAIN_MS)
    } catch (error) {
      if (this.isStopping) return
      this.log.error('the database cannot be used: the server stops', { reason: (error as Error).message })
      return this.onFailure()
    }
    const { cursorSecret } = this
    if (this.isStopping || cursorSecret === null) return
    this.pool?.broadcast({ kind: 'begin', cursorSecret })
    this.log.info('database reachable: the server answers requests')
  }
}
