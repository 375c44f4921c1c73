import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import postgres from 'postgres'
import { version } from '../package.json'
import { type Config, ConfigError, readConfig } from './config.ts'
import { type EmbeddedPostgres, startEmbedded } from './execute/embedded.ts'
import { migrate, readMigrations } from './execute/migrate.ts'
import { createLog, type Log } from './observe/log.ts'
import { startWorker, type Worker } from './worker.ts'

const MIGRATIONS = join(import.meta.dir, '../sql')

/** Applied to a database that has nothing of ours yet. */
const FIRST_MIGRATION = '0001_company.sql'

/** A second signal this soon is the first one again: a terminal sends it to the whole group, npm passes it on. */
const SAME_SIGNAL_MS = 1_000

/** What an operator can mend. */
class StartError extends Error {}

/** What has been started, as soon as its start has begun: a signal can come in between. */
interface Running {
  embedded?: Promise<EmbeddedPostgres>
  worker?: Promise<Worker>
  /** When the first signal came; 0: none. */
  stoppingMs: number
}

const running: Running = { stoppingMs: 0 }

await serve().catch(async (error) => {
  if (running.stoppingMs > 0) return // what a stop interrupts is no fault
  // One line is enough for what an operator can mend; the stack is for what only we can.
  const known = error instanceof ConfigError || error instanceof StartError
  console.error(known ? error.message.replace(/^/gm, 'roster: ') : error)
  await stopAll()
  process.exit(1)
})

async function serve() {
  const startMs = Date.now()
  const config = readConfig(process.env)
  const log = createLog(config.logLevel, config.logFormat)
  stopOnSignals(log)
  await requirePort(config)
  const databaseUrl = config.databaseUrl ?? (await startDatabase(config, log))
  const applied = await migrate(databaseUrl, MIGRATIONS).catch(orStartError('the database cannot be used'))
  // By the first migration, not by a new cluster: a start that was cut short in between would have lost the sample.
  if (running.embedded && config.demoData && applied.includes(FIRST_MIGRATION)) await loadSample(databaseUrl)
  const key = config.bootstrapApiKey ?? developmentKey(config.dataDir)
  const migrationFiles = readMigrations(MIGRATIONS).map(({ file }) => file)
  running.worker = startWorker(config, { databaseUrl, keys: [key], migrationFiles, log })
  const { url } = await running.worker.catch((error) => {
    throw error.code === 'EADDRINUSE' ? portTaken(config) : new StartError(error.message)
  })
  announce(config, log, url, config.bootstrapApiKey ? null : key, Date.now() - startMs)
}

async function startDatabase(config: Config, log: Log): Promise<string> {
  // Twice the pool, since a pool that is replaced ends while the new one begins.
  const settings = { max_connections: String(2 * config.databasePool + 20) }
  running.embedded = startEmbedded({ dataDir: config.dataDir, settings })
  const embedded = await running.embedded.catch(orStartError('the embedded PostgreSQL cannot be used'))
  embedded.failed.then((tail) => {
    log.error('PostgreSQL has ended, and so does the server', { log: tail })
    stop(1, log)
  })
  return embedded.url
}

function orStartError(what: string) {
  return (error: Error): never => {
    throw new StartError(`${what}: ${error.message || String(error)}`)
  }
}

/** Asked before anything is started, so that a taken port costs nothing. @throws StartError */
function requirePort({ host, port }: Config): Promise<void> {
  return new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      fail(
        error.code === 'EADDRINUSE'
          ? portTaken({ host, port })
          : new StartError(`cannot listen on ${host}:${port}: ${error.message}`),
      )
    })
    probe.listen(port, host, () => probe.close(() => done()))
  })
}

function portTaken({ host, port }: { host: string; port: number }): StartError {
  return new StartError(`port ${port} on ${host} is taken by another program: stop it, or set PORT`)
}

async function loadSample(databaseUrl: string) {
  const sql = postgres(databaseUrl, { max: 1, fetch_types: false, onnotice: () => undefined })
  await sql.unsafe(readFileSync(join(MIGRATIONS, 'sample.sql'), 'utf8'))
  await sql.end()
}

/** The same at every start, so that a command copied yesterday works today. */
function developmentKey(dataDir: string): string {
  const file = join(dataDir, 'development.key')
  mkdirSync(dataDir, { recursive: true })
  if (!existsSync(file)) writeFileSync(file, `roster_dev_${randomBytes(24).toString('hex')}`, { mode: 0o600 })
  return readFileSync(file, 'utf8').trim()
}

/** The first screen of a developer. In JSON, which is for log collectors, no key is shown. */
function announce(config: Config, log: Log, url: string, key: string | null, tookMs: number) {
  if (config.logFormat === 'json') {
    log.info('listening', { url, version, ms: tookMs })
    return
  }
  const shown = key ?? '<your key>'
  const lines = [`Roster ${version} listens on ${url}, ready in ${(tookMs / 1000).toFixed(1)} s`]
  if (key) lines.push(`Key for development: ${key}`)
  lines.push(
    'Try it:',
    `  curl -i -H 'Authorization: ApiKey ${shown}' '${url}/Employees?JobTitle=Engineer&sort=-Started&PageSize=5'`,
  )
  console.log(lines.join('\n'))
}

function stopOnSignals(log: Log) {
  const onSignal = async () => {
    if (running.stoppingMs === 0) return stop(0, log)
    if (Date.now() - running.stoppingMs < SAME_SIGNAL_MS) return
    const embedded = await Promise.race([running.embedded, null])
    embedded?.kill()
    process.exit(1)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('uncaughtException', (error) => {
    log.error('the server failed', { error: String(error?.stack ?? error) })
    stop(1, log)
  })
  watchLauncher(onSignal)
}

async function stop(code: number, log: Log) {
  if (running.stoppingMs > 0) return
  running.stoppingMs = Date.now()
  await stopAll()
  log.flush()
  process.exit(code)
}

async function stopAll() {
  const worker = await running.worker?.catch(() => null)
  await worker?.stop()
  const embedded = await running.embedded?.catch(() => null)
  await embedded?.stop()
}

/** Ends with the launcher, however that ended: without it nobody would pass a signal on. */
function watchLauncher(stop: () => void) {
  const launcher = Number(process.env.ROSTER_LAUNCHER)
  if (!launcher || launcher !== process.ppid) return
  const timer = setInterval(() => {
    try {
      process.kill(launcher, 0)
    } catch {
      clearInterval(timer)
      stop()
    }
  }, 200)
  timer.unref()
}
