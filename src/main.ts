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

/** A second signal this soon is the first one again: a terminal sends it to the whole group, npm passes it on. */
const SAME_SIGNAL_MS = 1_000

/** What an operator can mend. */
class StartError extends Error {}

await serve().catch((error) => {
  // One line is enough for what an operator can mend; the stack is for what only we can.
  const known = error instanceof ConfigError || error instanceof StartError
  console.error(known ? error.message.replace(/^/gm, 'roster: ') : error)
  process.exit(1)
})

async function serve() {
  const startMs = Date.now()
  const config = readConfig(process.env)
  const log = createLog(config.logLevel, config.logFormat)
  const running: { embedded?: EmbeddedPostgres; worker?: Worker } = {}
  stopOnSignals(running, log)
  try {
    await requirePort(config)
    const databaseUrl = config.databaseUrl ?? (await startDatabase(config, running))
    await migrate(databaseUrl, MIGRATIONS).catch(orStartError('the database cannot be used'))
    if (running.embedded?.isNew && config.demoData) await loadSample(databaseUrl)
    const key = config.bootstrapApiKey ?? developmentKey(config.dataDir)
    const migrationFiles = readMigrations(MIGRATIONS).map(({ file }) => file)
    running.worker = await startWorker(config, { databaseUrl, keys: [key], migrationFiles, log }).catch((error) => {
      throw error.code === 'EADDRINUSE' ? portTaken(config) : error
    })
    announce(config, log, running.worker.url, config.bootstrapApiKey ? null : key, Date.now() - startMs)
  } catch (error) {
    await running.worker?.stop()
    await running.embedded?.stop()
    throw error
  }
}

async function startDatabase(config: Config, running: { embedded?: EmbeddedPostgres }): Promise<string> {
  const embedded = await startEmbedded({ dataDir: config.dataDir }).catch(
    orStartError('the embedded PostgreSQL cannot be used'),
  )
  running.embedded = embedded
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

/** The first screen of an operator. A key is shown to a person, never to a log collector. */
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

function stopOnSignals(running: { embedded?: EmbeddedPostgres; worker?: Worker }, log: Log) {
  let firstMs = 0
  const stop = async (code: number) => {
    if (firstMs > 0) {
      if (Date.now() - firstMs > SAME_SIGNAL_MS) process.exit(1)
      return
    }
    firstMs = Date.now()
    await running.worker?.stop()
    await running.embedded?.stop()
    log.flush()
    process.exit(code)
  }
  process.on('SIGINT', () => stop(0))
  process.on('SIGTERM', () => stop(0))
  process.on('uncaughtException', (error) => {
    log.error('the server failed', { error: String(error?.stack ?? error) })
    stop(1)
  })
  watchLauncher(() => stop(0))
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
