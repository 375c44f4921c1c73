// The embedded PostgreSQL of a server: restarts it when it ends.
import type { Config } from '../config/config.ts'
import { MEMORY_CONNECTIONS } from '../execute/limits.ts'
import type { Log } from '../log.ts'
import { type EmbeddedPostgres, startEmbedded } from '../postgres/embedded.ts'

/** Greatest `max_connections` that PostgreSQL allows. */
const CONNECTIONS_MAX = 262_143

/** Starts the embedded PostgreSQL, and restarts it when it ends. `onFailure` is called when it has ended too often. */
export async function startEmbeddedDatabase(config: Config, log: Log, onFailure: () => void): Promise<EmbeddedPostgres> {
  const { dataDir, databasePool, workers } = config
  // Each worker's connections count twice, because the pools of a replaced worker end while its successor opens new ones. `+ 1`
  // is the connection for long writes.
  const connections = Math.min(2 * (databasePool + 1 + MEMORY_CONNECTIONS) * workers + 20, CONNECTIONS_MAX)
  // Parallel workers of one list would take the processors from all other requests.
  const settings = { max_parallel_workers_per_gather: '0', max_connections: String(connections) }
  const embedded = await startEmbedded({ dataDir, settings })
  keepRunning(embedded, log, onFailure)
  return embedded
}

/** Maximum number of restarts in a row. The count begins again at 0 when PostgreSQL has run for `STEADY_MS`. */
const RESTARTS_MAX = 5
const STEADY_MS = 60_000
/** Pause before the second restart, in ms; it doubles with each further restart. */
const PAUSE_MS = 100

/** Restarts PostgreSQL whenever it ends although the server has not stopped it, until it has ended too often. */
async function keepRunning(postgres: EmbeddedPostgres, log: Log, onFailure: () => void): Promise<void> {
  let restarts = 0
  let startedMs = Number.NEGATIVE_INFINITY
  let lines = await postgres.failed
  for (;;) {
    if (performance.now() - startedMs > STEADY_MS) restarts = 0
    if (restarts === RESTARTS_MAX) {
      log.error('PostgreSQL ended too often: the server stops', { log: lines })
      return onFailure()
    }
    const pauseMs = restarts === 0 ? 0 : PAUSE_MS * 2 ** (restarts - 1)
    restarts++
    log.error('PostgreSQL ended and is started again', { pauseMs, log: lines })
    await Bun.sleep(pauseMs)
    const fault = await postgres.restart().then(() => null, String)
    startedMs = performance.now()
    if (fault === null) log.info('PostgreSQL runs again')
    lines = fault ?? (await postgres.failed)
  }
}
