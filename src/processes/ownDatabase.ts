import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { type EmbeddedPostgres, startEmbedded } from '../postgres/embedded.ts'
import { keepRunning } from '../postgres/keepRunning.ts'

/** The most that PostgreSQL takes as max_connections. */
const CONNECTIONS_MAX = 262_143
/** Parallel workers would take the processors from all other requests, one after the other for each list. */
const EMBEDDED = { max_parallel_workers_per_gather: '0' }

/** Starts the embedded PostgreSQL, and again when it ends; `onFailure`: it has ended too often. */
export async function startOwnDatabase(config: Config, log: Log, onFailure: () => void): Promise<EmbeddedPostgres> {
  const { dataDir, databasePool, workers } = config
  // Twice each pool, since a pool that is replaced ends while the new one begins; and one of each for long writes, and three
  // for memory.
  const connections = Math.min(2 * (databasePool + 4) * workers + 20, CONNECTIONS_MAX)
  const settings = { ...EMBEDDED, max_connections: String(connections) }
  const embedded = await startEmbedded({ dataDir, settings })
  keepRunning(embedded, {
    onEnd: (lines, pauseMs) => log.error('PostgreSQL ended and is started again', { pauseMs, log: lines }),
    onBack: () => log.info('PostgreSQL runs again'),
    onFailure: (lines) => {
      log.error('PostgreSQL ended too often: the server stops', { log: lines })
      onFailure()
    },
  })
  return embedded
}
