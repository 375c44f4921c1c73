// The embedded PostgreSQL of a server: starts it again when it ends.
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { type EmbeddedPostgres, startEmbedded } from '../postgres/embedded.ts'

/** The most that PostgreSQL takes as max_connections. */
const CONNECTIONS_MAX = 262_143

/** Starts the embedded PostgreSQL, and again when it ends; `onFailure`: it has ended too often. */
export async function startEmbeddedDatabase(config: Config, log: Log, onFailure: () => void): Promise<EmbeddedPostgres> {
  const { dataDir, databasePool, workers } = config
  // Twice each pool, since a pool that is replaced ends while the new one begins; and one of each for long writes, and three
  // for memory.
  const connections = Math.min(2 * (databasePool + 4) * workers + 20, CONNECTIONS_MAX)
  // Parallel workers would take the processors from all other requests, one after the other for each list.
  const settings = { max_parallel_workers_per_gather: '0', max_connections: String(connections) }
  const embedded = await startEmbedded({ dataDir, settings })
  keepRunning(embedded, log, onFailure)
  return embedded
}

/** Restarts in a row; one that has run for `STEADY_MS` begins another row. */
const RESTARTS_MAX = 5
const STEADY_MS = 60_000
/** The pause before the second restart; each one after it is twice as long. */
const PAUSE_MS = 100

/** Starts PostgreSQL again each time it ends by itself, until it ends too often. */
async function keepRunning(postgres: EmbeddedPostgres, log: Log, onFailure: () => void): Promise<void> {
  let restarts = 0
  let startedMs = Number.NEGATIVE_INFINITY
  for (let lines = await postgres.failed; ; ) {
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
