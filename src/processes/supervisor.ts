// The supervisor: starts PostgreSQL and workers, watches them, and ends them in the reverse order.
import { readDevelopmentKey } from '../admit/apiKey.ts'
import { type Config, isPooled } from '../config/config.ts'
import { withConnection } from '../execute/connect.ts'
import { isAway } from '../execute/outcomes.ts'
import { HookSender } from '../hooks/sender.ts'
import { readCursorSecret } from '../keys/store.ts'
import type { Log } from '../log.ts'
import type { Entity } from '../model/entity.ts'
import { parseTargets } from '../model/targets.ts'
import { withDeadline } from '../os/time.ts'
import type { EmbeddedPostgres } from '../postgres/embedded.ts'
import { checkChanges, loadSample, migrate, migrationFolders, migrationNames } from '../postgres/migrate.ts'
import { deleteOldRows, oldAnswers, oldChanges, oldRowChanges } from '../postgres/oldRows.ts'
import { warnOfSuperuser } from '../postgres/rights.ts'
import { loadEntities } from '../registry.ts'
import { watchCertificates } from './certificates.ts'
import { startEmbeddedDatabase } from './embeddedDatabase.ts'
import { openTables } from './limitTables.ts'
import { startMonitor } from './monitor.ts'
import { requireTables } from './requireTables.ts'
import { orDatabaseError, orStartError, readForStart, requireTls, StartError, takePort } from './startError.ts'
import { WorkerPool } from './workerPool.ts'

/** The result of a start; `developmentKey` is null where the operator makes the keys. */
export type Started = Awaited<ReturnType<ReturnType<typeof createSupervisor>['start']>>

const AGAIN_MS = 250
/** Answers within this time ask clients to close their connections, so that none is cut. */
const LEAVE_MS = 250
const HOOKS_MS_MAX = 1_500

/** Starts, watches and ends all parts of a server. `onFailure`: called when the server cannot go on, and only its end is left. */
export function createSupervisor(config: Config, log: Log, onFailure: () => void) {
  const releases: (() => void)[] = []
  let embedded: Promise<EmbeddedPostgres> | null = null
  let pool: WorkerPool | null = null
  let monitor: ReturnType<typeof startMonitor> | null = null
  /** Null until the database has been there. */
  let cursorSecret: string | null = null
  let isStopping = false
  let stopOldRows: (() => Promise<void>) | null = null
  let hooks: HookSender | null = null
  let certificates: ReturnType<typeof watchCertificates> = null
  let entities: readonly Entity[] = []

  /** Resolves when all workers answer, or wait for the database. @throws StartError; Error for a fault of ours */
  async function start() {
    certificates = watchCertificates(config, log, restartWorkers)
    const migrationFiles = readForStart(() => migrationNames(config))
    const { adminHost, adminPort } = config
    releases.push(await takePort(config))
    if (adminPort !== null) releases.push(await takePort({ host: adminHost, port: adminPort, setting: 'ADMIN_PORT' }))
    if (config.databaseUrl === null) embedded = startEmbeddedDatabase(config, log, onFailure)
    const started = await embedded?.catch(orStartError('the embedded PostgreSQL cannot be used'))
    const databaseUrl = config.databaseUrl ?? (started as EmbeddedPostgres).url
    entities = await loadEntities(config.entitiesDir).catch(orStartError('the entities cannot be used'))
    const tables = readForStart(() => openTables(config, log, restartWorkers))
    releases.push(tables.release)
    const directUrl = config.databaseDirectUrl ?? databaseUrl
    const developmentKey = embedded && !config.bootstrapApiKey ? readDevelopmentKey(config.dataDir) : null
    const reason = await openDatabase(directUrl)
    const isThere = reason === null
    if (!isThere) log.warn('database unreachable: the server waits for it', { reason })
    if (isStopping) throw new StartError('the server was stopped while it started')
    pool = new WorkerPool({
      count: config.workers,
      log,
      startMessage: (port) => ({
        kind: 'start',
        config: { ...config, port: port ?? config.port },
        databaseUrl,
        cursorSecret,
        bootstrapKey: config.bootstrapApiKey ?? developmentKey,
        migrationFiles,
        certificate: certificates?.current() ?? null,
        tables: tables.ensure(),
      }),
      onKeys: (limits) => {
        hooks?.look() // an operator may have changed them
        return tables.ensure(limits)
      },
    })
    const { url, hasKeys: isOpen } = await pool.start()
    const isServing = () => cursorSecret !== null && !isStopping
    if (adminPort !== null)
      monitor = startMonitor(config, { pool, hooks: () => hooks?.use ?? null, url: databaseUrl, migrationFiles, isServing })
    if (!isThere) awaitDatabase(directUrl)
    return { url, adminUrl: monitor?.url ?? null, developmentKey, hasKeys: isOpen || !isThere, isServing: isThere }
  }

  /** Replaces the workers one after the other, with the code and the keys of now; no request fails. */
  function restartWorkers(): void {
    pool?.restart()
  }

  async function stop(): Promise<void> {
    isStopping = true
    certificates?.stop()
    // A database that hangs must not hold up the end: what is being posted is posted again.
    const hooksEnded = withDeadline(Promise.resolve(hooks?.stop()), HOOKS_MS_MAX, () => undefined)
    await Promise.all([stopOldRows?.(), hooksEnded, pool?.stop(LEAVE_MS)])
    monitor?.stop()
    await (await embedded?.catch(() => null))?.stop()
    for (const release of releases.splice(0)) release()
  }

  /** Ends what runs at once; an embedded PostgreSQL that is starting is stopped by the next start. */
  async function kill(): Promise<void> {
    for (const worker of pool?.workers ?? []) worker.kill()
    embedded?.then((started) => started.kill()).catch(() => undefined)
  }

  function startChores(url: string) {
    const { changesDays, hooksAllow } = config
    const kinds = [oldRowChanges(), oldAnswers, ...(changesDays > 0 ? [oldChanges(changesDays)] : [])]
    stopOldRows = deleteOldRows(url, kinds, (reason) => log.warn('old rows cannot be deleted', { reason }))
    // Without lines there is nothing to post; behind a pooler the lock of the sender would be that of any client.
    if (changesDays > 0 && (!isPooled(config) || config.databaseDirectUrl !== null))
      hooks = new HookSender(url, entities, { allowed: parseTargets(hooksAllow), log })
  }

  /** Reads what workers need of the database. Null, or why it is away. @throws StartError for what an operator must mend */
  async function openDatabase(url: string): Promise<string | null> {
    try {
      for (const folder of migrationFolders(config)) await migrate(url, folder).catch(orDatabaseError)
      const [isKept, tables] = [config.changesDays > 0, entities.map(({ table }) => table)]
      const silent = await checkChanges(url, { isKept, hasValues: config.changesValues }, tables).catch(orDatabaseError)
      if (isKept && silent.length > 0)
        log.warn('changes of tables are not recorded: triggers are missing or disabled', { tables: silent.join(' ') })
      if (embedded) await loadSample(url, config.demoData && config.entitiesDir === null)
      else await warnOfSuperuser(url, log)
      const secret = await readCursorSecret(url).catch(orDatabaseError)
      await withConnection(url, (sql) =>
        requireTables(entities, { read: ({ text, values }) => sql.unsafe(text, values as string[]).values() as never }),
      ).catch(orDatabaseError)
      if (stopOldRows === null) startChores(url)
      cursorSecret = secret
      return null
    } catch (error) {
      if (!isAway(error)) throw error
      await requireTls(url, error as Error)
      return (error as Error).message
    }
  }

  /** Retries until the database is reachable; then the workers answer requests. */
  async function awaitDatabase(url: string) {
    try {
      while (!isStopping && (await openDatabase(url)) !== null) await Bun.sleep(AGAIN_MS)
    } catch (error) {
      if (isStopping) return
      log.error('the database cannot be used: the server stops', { reason: (error as Error).message })
      return onFailure()
    }
    if (isStopping || cursorSecret === null) return
    for (const worker of pool?.workers ?? []) worker.send({ kind: 'begin', cursorSecret })
    log.info('database reachable: the server answers requests')
  }

  return { start, restartWorkers, stop, kill }
}
