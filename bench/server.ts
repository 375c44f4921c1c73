import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryFolderOf } from '../src/os/folder.ts'
import { startAndWait } from './children.ts'
import type { Database } from './database.ts'

/** A program that answers over HTTP. */
export interface HttpTarget {
  readonly name: string
  /** Servers that share the connections of the load; without a slash at the end. */
  readonly urls: readonly string[]
  /** Headers of every request, such as the key. */
  readonly headers: Readonly<Record<string, string>>
  /** Processes whose CPU time is counted, with all that they have started. */
  readonly pids: readonly number[]
  /** It loads tables into its memory. */
  readonly hasMemory?: boolean
  /** Null: it has none. */
  readonly database: Database | null
  stop(): Promise<void>
}

interface Options {
  /** Default: one for each processor. */
  readonly workers?: number
  /** The checkout whose source runs; default: this one. */
  readonly root?: string
  /** False: lists come from the database. Default: true. */
  readonly hasMemory?: boolean
}

const KEY = 'bench-key-0123456789'
const ROOT = join(import.meta.dir, '..')

/**
 * As many rules as a server has by default, which decide what a decision costs, and none that load can reach.
 * Addresses have fewer, since their table is 256 times as large as their largest limit.
 */
const SETTINGS = {
  RATE_LIMITS: '1000000/1s,1000000/2s,1000000/3s',
  RATE_LIMITS_ANONYMOUS: '200000/1s',
  RATE_LIMIT_CLIENTS: '4',
  BOOTSTRAP_API_KEY: KEY,
  LOG_LEVEL: 'warn',
  LOG_FORMAT: 'pretty',
  NODE_ENV: 'production',
  PORT: '0',
}

/** Starts the server as a user would, with a data folder of its own. @throws Error when it does not come up */
export async function startServer(
  name: string,
  database: Database,
  { workers, root = ROOT, hasMemory = true }: Options,
): Promise<HttpTarget> {
  const dataDir = mkdtempSync(join(tmpdir(), 'roster-bench-'))
  // It ends when its launcher does, which are we.
  const own = { ROSTER_LAUNCHER: String(process.pid), DATABASE_URL: database.url, DATA_DIR: dataDir }
  const chosen = { ...(hasMemory ? {} : { MEMORY_MB: '0' }), ...(workers ? { WORKERS: String(workers) } : {}) }
  const child = await startAndWait([process.execPath, '--no-env-file', 'src/main.ts'], /listens on (http:\S+?),/, {
    cwd: root,
    environment: { ...SETTINGS, ...own, ...chosen },
  }).catch((error) => {
    removeAll(dataDir)
    throw error
  })
  return {
    ...{ name, database, hasMemory, urls: [child.found], pids: [child.pid] },
    headers: { Authorization: `ApiKey ${KEY}` },
    async stop() {
      await child.stop()
      removeAll(dataDir)
    },
  }
}

/** Deletes the data and the counts of the limits, which a server leaves for its next start. */
function removeAll(dataDir: string) {
  for (const folder of [memoryFolderOf(dataDir, 0), dataDir]) rmSync(folder, { recursive: true, force: true })
}
