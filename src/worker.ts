import { Keyring } from './admit/apiKey.ts'
import { createApp } from './app.ts'
import { compileProbe } from './compile/entity.ts'
import type { Config } from './config.ts'
import { ApiError } from './errors.ts'
import { Database } from './execute/database.ts'
import type { Entity } from './model/entity.ts'
import type { Log } from './observe/log.ts'
import { loadEntities } from './registry.ts'

export interface Worker {
  /** `http://127.0.0.1:3000`. */
  url: string
  /** Lets clients leave for `leaveMs`, finishes what runs, closes the connections. */
  stop(leaveMs?: number): Promise<void>
}

/** What a worker needs beyond the settings. */
export interface Surroundings {
  databaseUrl: string
  keys: readonly string[]
  migrationFiles: readonly string[]
  log: Log
  /** Where the entities are declared; default: the project's own. */
  entitiesDir?: string
}

/** Clients that send within this time are told to close their connection, so that none is cut. */
const LEAVE_MS = 250
/** Short of a statement's own limit: an operator's stop has the last word. */
const FINISH_MS = 1_000

/** Starts one server: pool, app, listener. @throws Error with code EADDRINUSE when the port is taken */
export async function startWorker(config: Config, surroundings: Surroundings): Promise<Worker> {
  const { log, databaseUrl, keys, migrationFiles } = surroundings
  const database = new Database({
    url: databaseUrl,
    poolSize: config.databasePool,
    prepare: config.databasePrepare,
  })
  const entities = await loadEntities(surroundings.entitiesDir)
  await requireTables(entities, database)
  let draining = false
  let baseUrl = config.publicUrl ?? ''
  const app = createApp({
    entities,
    database,
    keyring: new Keyring(keys),
    migrationFiles,
    log,
    baseUrl: () => baseUrl,
    isDraining: () => draining,
  })
  // Elysia would share the port: a forgotten server would take half of the requests.
  app.listen({ hostname: config.host, port: config.port, reusePort: false })
  const url = `http://${hostInUrl(config.host)}:${app.server?.port}`
  baseUrl ||= url
  return {
    url,
    async stop(leaveMs = LEAVE_MS) {
      draining = true
      await Bun.sleep(leaveMs)
      const deadlineMs = performance.now() + FINISH_MS
      while ((app.server?.pendingRequests ?? 0) > 0 && performance.now() < deadlineMs) await Bun.sleep(10)
      // What still runs is answered 503 when its connection ends; so the listener goes last.
      await database.end(0)
      await Bun.sleep(20)
      app.server?.stop(true)
    },
  }
}

/** @throws Error that names the first entity whose table is not as declared */
async function requireTables(entities: readonly Entity[], database: Database) {
  for (const entity of entities)
    await database.read(compileProbe(entity)).catch(async (error) => {
      if (error instanceof ApiError) return // away for the moment, which requests are told too
      await database.end(0)
      throw new Error(`${entity.name} needs a migration: ${error.message}`, { cause: error })
    })
}

/** What a client on this machine can call: an address for all interfaces is none to connect to. */
function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
