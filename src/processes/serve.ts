// Runs `roster serve`: handles signals, prints the first screen, and sets the exit code.
import { version } from '../../package.json'
import { developmentKeyFile } from '../admit/apiKey.ts'
import type { Config } from '../config/config.ts'
import type { nearMisses } from '../config/unknownSettings.ts'
import { createLog, formatFor, type Log, printable } from '../log.ts'
import { LOOPBACK } from '../model/networks.ts'
import { StartError } from './startError.ts'
import { type Started, Supervisor } from './supervisor.ts'

/**
 * Time within which a second signal counts as a repetition of the first. One signal may arrive twice: a terminal sends it to the
 * whole group of processes, and npm passes it on, too.
 */
const SAME_SIGNAL_MS = 1_000
const LAUNCHER_MS = 1_000

/**
 * Serves until the process gets a signal. `launcher`: id of the process that passes signals on; NaN if there is no such process.
 * `misses`: probably misspelled settings.
 */
export async function serve(config: Config, launcher: number, misses: ReturnType<typeof nearMisses>): Promise<void> {
  const startMs = Date.now()
  const log = createLog(config.logLevel, config.logFormat)
  for (const { name, meant } of misses) log.warn('a variable of the environment is nearly a setting', { name, meant })
  let stoppingMs = 0

  async function stop(code: number) {
    if (stoppingMs > 0) return
    stoppingMs = Date.now()
    if (code === 0) log.info('stopping')
    await supervisor.stop()
    if (code === 0) log.info('stopped', { ms: Date.now() - stoppingMs })
    await log.flush()
    process.exit(code)
  }
  async function onSignal() {
    if (stoppingMs === 0) return stop(0)
    if (Date.now() - stoppingMs < SAME_SIGNAL_MS) return
    await supervisor.kill()
    process.exit(1)
  }

  const supervisor = new Supervisor(config, log, () => stop(1))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal)
  process.on('SIGUSR2', supervisor.renewWorkers)
  const onFault = (error: unknown) => {
    log.error('the server failed: it stops', { error: String((error as Error | null)?.stack ?? error) })
    stop(1)
  }
  process.on('uncaughtException', onFault)
  process.on('unhandledRejection', onFault)
  watchLauncher(launcher, onSignal)

  try {
    const started = await supervisor.start()
    if (started.developmentKey && !LOOPBACK.test(config.host))
      log.warn('every machine that reaches HOST can write with the development key', {
        HOST: config.host,
        key: 'printed, and in DATA_DIR in plain text',
        instead: 'set BOOTSTRAP_API_KEY, or HOST=127.0.0.1',
      })
    announce(config, log, started, Date.now() - startMs)
  } catch (error) {
    if (stoppingMs > 0) return // a stop interrupts the start, which is not a fault
    // A StartError needs only its message, by which an operator can fix it; any other error is a bug of ours, and needs its
    // stack.
    console.error(error instanceof StartError ? printable(error.message).replace(/^/gm, 'roster: ') : error)
    await stop(1)
  }
}

/**
 * Prints the first screen for a developer: on stdout, or on stderr if stdout has the log as JSON, which a program may read.
 * Prints nothing with LOG_FORMAT=json. The key is shown only on a terminal, because other outputs are stored.
 */
function announce(config: Config, log: Log, started: Started, tookMs: number) {
  const { url, adminUrl, developmentKey, hasKeys } = started
  const { workers } = config
  const isJson = (config.logFormat ?? formatFor(process.stdout)) === 'json'
  if (isJson) log.info('listening', { url, ...(adminUrl && { admin: adminUrl }), version, workers, pid: process.pid, ms: tookMs })
  if (config.logFormat === 'json') return
  const isShown = (isJson ? process.stderr : process.stdout).isTTY
  const seconds = (tookMs / 1_000).toFixed(1)
  const processes = workers === 1 ? '1 worker' : `${workers} workers`
  const lines = [`Roster ${version} listens on ${url}, ready in ${seconds} s; ${processes}, process ${process.pid}`]
  const file = developmentKeyFile(config.dataDir)
  if (developmentKey) lines.push(`Key for development: ${isShown ? developmentKey : `in ${file}`}`)
  if (developmentKey && isShown) lines.push(`Look at the data: ${url}/explore#key=${developmentKey}`)
  if (adminUrl) lines.push(`Metrics: ${adminUrl}/metrics`)
  if (!hasKeys) lines.push("No key is valid yet: npm run --silent roster -- keys create --name first --rights '*:read,*:write'")
  const query = config.entitiesDir === null ? '/Employees?JobTitle=Engineer&sort=-Started&PageSize=5' : '/'
  const key = developmentKey ? (isShown ? developmentKey : `$(cat '${file.replaceAll("'", "'\\''")}')`) : '<your key>'
  if (started.isServing) lines.push('Try it:', `  curl -i -H "Authorization: ApiKey ${key}" '${url}${query}'`)
  else lines.push('The database is away: until it comes, requests are answered 503.')
  // `console.error` would paint the text red like a fault. If stderr is closed, the error is ignored, so that the server runs on.
  if (isJson) process.stderr.on('error', () => undefined).write(`${lines.join('\n')}\n`)
  else console.log(lines.join('\n'))
}

/** Stops the server when the launcher has ended, because no other process passes signals on. */
function watchLauncher(launcher: number, stop: () => void) {
  if (launcher !== process.ppid) return
  const timer = setInterval(() => {
    if (process.ppid === launcher) return
    clearInterval(timer)
    stop()
  }, LAUNCHER_MS)
  timer.unref()
}
