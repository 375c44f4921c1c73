import { join } from 'node:path'
import { readDevelopmentKey } from '../admit/developmentKey.ts'
import { LimiterFiles, type LimiterTables } from '../admit/limiterFiles.ts'
import { ChangeLogOwner } from '../changes/owner.ts'
import { sweepListeners } from '../changes/sweepListeners.ts'
import type { Config } from '../config.ts'
import { isAway } from '../execute/sqlstate.ts'
import { readCursorSecret } from '../keys/cursorSecret.ts'
import { KeyStore } from '../keys/store.ts'
import { type KeyWatch, watchKeys } from '../keys/watch.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import type { KeyRecord } from '../model/key.ts'
import { takeMemoryFolder } from '../os/folder.ts'
import { type EmbeddedPostgres, startEmbedded } from '../postgres/embedded.ts'
import { keepRunning } from '../postgres/keepRunning.ts'
import { migrate, readMigrations } from '../postgres/migrate.ts'
import { loadSample } from '../postgres/sample.ts'
import { loadEntities } from '../registry.ts'
import type { ReportMessage } from './messages.ts'
import { asStartError, orStartError, portTaken, StartError, takePort } from './startError.ts'
import { WorkerFailed, WorkerProcesses } from './workerPool.ts'

const MIGRATIONS = join(import.meta.dir, '../../sql')

/** What a started server tells. */
export interface Started {
  readonly url: string
  readonly workers: number
  /** To be shown to a developer; null where keys are the operator's business. */
  readonly developmentKey: string | null
  readonly hasKeys: boolean
}

/** Until they have been read for the first time. */
const NO_KEYS: readonly KeyRecord[] = []
const KEYS_MS_MAX = 10_000
/** Between looks for a database that is away. */
const AGAIN_MS = 250
/** What PostgreSQL takes. */
const CONNECTIONS_MAX = 262_143
/** Clients that send within this time are told to close their connection, so that none is cut. */
const LEAVE_MS = 250

/** Brings up all that a server consists of, in order, watches over it, and ends it in the reverse order. */
export class Supervisor {
  private readonly releases: (() => void)[] = []
  private embedded: Promise<EmbeddedPostgres> | null = null
  /** The same, once it has started. */
  private running: EmbeddedPostgres | null = null
  private processes: WorkerProcesses | null = null
  private store: KeyStore | null = null
  private watch: KeyWatch | null = null
  private keys = NO_KEYS
  private keysFailure: unknown = null
  /** Null until the database has been there. */
  private cursorSecret: string | null = null
  private lastNote: Promise<void> = Promise.resolve()
  private isStopping = false
  private isWaiting = false
  private memory: LimiterTables | null = null
  private changes: ChangeLogOwner | null = null
  private entities: readonly Entity[] = []

  /** `onFailure`: what cannot be mended from here has happened. */
  constructor(
    private readonly config: Config,
    private readonly log: Log,
    private readonly onFailure: () => void,
  ) {}

  /** @throws StartError, and Error for what nobody expects */
  async start(): Promise<Started> {
    const { config } = this
    this.releases.push(await takePort(config))
    const databaseUrl = config.databaseUrl ?? (await this.startDatabase())
    const files = this.openMemory()
    this.entities = await loadEntities()
    const developmentKey = this.embedded && !config.bootstrapApiKey ? readDevelopmentKey(config.dataDir) : null
    const isThere = await this.openDatabase(databaseUrl, files)
    if (this.isStopping) throw new StartError('the server was stopped while it started')
    const bootstrapKeys = [config.bootstrapApiKey ?? developmentKey].filter((key) => key !== null)
    const migrationFiles = readMigrations(MIGRATIONS).map(({ file }) => file)
    this.processes = new WorkerProcesses({
      count: config.workers,
      log: this.log,
      startMessage: (port, process) => ({
        kind: 'start',
        config: { ...config, port: port ?? config.port },
        databaseUrl,
        cursorSecret: this.cursorSecret,
        bootstrapKeys,
        migrationFiles,
        keys: this.keys,
        memory: this.ensureMemory(files),
        changes: this.changes?.enter(process) ?? null,
      }),
      onEnd: (process) => this.changes?.leave(process),
      onReport: (report) => this.take(report),
    })
    const { url, processes } = await this.processes.start().catch((error) => {
      if (error instanceof WorkerFailed) throw error.code === 'EADDRINUSE' ? portTaken(config) : asStartError(error)
      throw error
    })
    if (!isThere) this.awaitDatabase(databaseUrl, files)
    const hasKeys = !isThere || bootstrapKeys.length + this.keys.length > 0
    return { url, workers: processes, developmentKey, hasKeys }
  }

  private take(report: ReportMessage) {
    if (report.kind === 'used') this.noteUsed(report.ids)
    else if (report.kind === 'disown') this.changes?.disown(report.connections)
    else this.changes?.wake()
  }

  /** New processes with the code and the keys of now, one after the other; no request fails. */
  restartWorkers(): void {
    this.processes?.restart()
  }

  async stop(): Promise<void> {
    this.isStopping = true
    this.watch?.stop()
    await this.processes?.stop(LEAVE_MS)
    await this.lastNote
    await this.changes?.stop()
    await this.store?.end()
    await (await this.embedded?.catch(() => null))?.stop()
    for (const release of this.releases.splice(0)) release()
  }

  /** Ends what runs without waiting for it. */
  async kill(): Promise<void> {
    this.processes?.kill()
    this.running?.kill()
  }

  private async startDatabase(): Promise<string> {
    const { dataDir, databasePool, workers } = this.config
    // Twice each pool, since a pool that is replaced ends while the new one begins; and one of each for long writes.
    const connections = Math.min(2 * (databasePool + 1) * workers + 20, CONNECTIONS_MAX)
    const settings = { max_connections: String(connections) }
    this.embedded = startEmbedded({ dataDir, settings })
    const embedded = await this.embedded.catch(orStartError('the embedded PostgreSQL cannot be used'))
    this.running = embedded
    keepRunning(embedded, {
      onEnd: (log, pauseMs) => this.log.error('PostgreSQL has ended and is started again', { pauseMs, log }),
      onBack: () => this.log.info('PostgreSQL is there again'),
      onFailure: (log) => {
        this.log.error('PostgreSQL has ended, and so does the server', { log })
        this.onFailure()
      },
    })
    return embedded.url
  }

  private openMemory(): LimiterFiles {
    const { dataDir, port, rateLimits, rateLimitsAnonymous, rateLimitClients } = this.config
    const { databasePrepare, listCache, workers } = this.config
    try {
      const folder = takeMemoryFolder(dataDir, port)
      const shape = { limits: rateLimits, anonymousLimits: rateLimitsAnonymous, clients: rateLimitClients }
      const files = new LimiterFiles(folder.path, shape)
      this.releases.push(() => files.close(), folder.release)
      this.ensureMemory(files)
      if (listCache && databasePrepare)
        this.changes = new ChangeLogOwner({ folder: folder.path, workers, log: this.log })
      else if (listCache) this.log.info('lists are read from the database: behind a pooler nobody hears of changes')
      return files
    } catch (error) {
      throw asStartError(error as Error)
    }
  }

  /** A convenience, of which one may get lost. */
  private noteUsed(ids: readonly string[]) {
    const noted = this.store?.touch(ids).catch(() => undefined)
    this.lastNote = Promise.all([this.lastNote, noted]).then(() => undefined)
  }

  /** The memory as it has to be now; as it was last, where it cannot be mended at the moment. */
  private ensureMemory(files: LimiterFiles): LimiterTables {
    const before = this.memory
    try {
      this.memory = files.ensure(this.keys, ({ message }, key) => {
        this.log.warn('the limits of a key cannot be used: RATE_LIMITS hold for it', { key, error: message })
      })
    } catch (error) {
      if (before === null) throw error
      this.log.error('the memory of the limits cannot be mended', { error: (error as Error).message })
      return before
    }
    // A table was damaged and is made anew: workers that have the old one would count apart.
    if (before !== null && before.serial !== this.memory.serial) this.processes?.restart()
    return this.memory
  }

  /** Reads what workers need of the database. False: it is away. @throws StartError for what an operator must mend */
  private async openDatabase(url: string, files: LimiterFiles): Promise<boolean> {
    const orFail = orStartError('the database cannot be used')
    try {
      await migrate(url, MIGRATIONS).catch(orFail)
      if (this.embedded) await loadSample(url, MIGRATIONS, this.config.demoData)
      if (this.changes) this.changes.listen(url, this.entities)
      else sweepListeners(url).catch(() => undefined) // costs time alone where it does not work out
      const cursorSecret = await readCursorSecret(url).catch(orFail)
      await this.readKeys(url, files)
      this.cursorSecret = cursorSecret
      return true
    } catch (error) {
      if (!isAway(error)) throw error
      if (!this.isWaiting) this.log.warn('the server waits for the database', { reason: (error as Error).message })
      this.isWaiting = true
      return false
    }
  }

  /** Until it is there, whenever that is; then the workers answer. */
  private async awaitDatabase(url: string, files: LimiterFiles) {
    try {
      while (!this.isStopping && !(await this.openDatabase(url, files))) await Bun.sleep(AGAIN_MS)
    } catch (error) {
      if (this.isStopping) return
      this.log.error('the server cannot go on', { reason: (error as Error).message })
      return this.onFailure()
    }
    if (this.isStopping || this.cursorSecret === null) return
    const { keys, cursorSecret } = this
    this.processes?.broadcast({ kind: 'begin', cursorSecret, keys, memory: this.ensureMemory(files) })
    this.log.info('the database is there, and the server goes on')
  }

  private async readKeys(databaseUrl: string, files: LimiterFiles) {
    this.store ??= new KeyStore(databaseUrl, this.config.databasePrepare)
    if (this.watch === null) files.noteNews() // from now on workers expect news
    this.watch ??= watchKeys(this.store, {
      onChange: (keys) => {
        this.keys = keys
        this.processes?.broadcast({ kind: 'keys', keys, memory: this.ensureMemory(files) })
      },
      onNews: (ms) => files.noteNews(ms),
      onError: (error) => {
        this.keysFailure = error
        this.log.warn('the keys cannot be read; workers ask for them by themselves', { error: String(error) })
      },
    })
    await Promise.race([this.watch.first, Bun.sleep(KEYS_MS_MAX)])
    const { keysFailure: cause } = this
    if (cause !== null && this.keys === NO_KEYS) throw new StartError(`the keys cannot be read: ${cause}`, { cause })
  }
}
