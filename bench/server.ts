import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryFolderOf } from '../src/os/folder.ts'
import { startAndWait } from './children.ts'

interface Server {
  /** Without a slash at the end. */
  readonly url: string
  /** The supervisor's. */
  readonly pid: number
  /** The key, for every request. */
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

interface Options {
  readonly databaseUrl: string
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
export async function startServer({ databaseUrl, workers, root = ROOT, hasMemory = true }: Options): Promise<Server> {
  const dataDir = mkdtempSync(join(tmpdir(), 'roster-bench-'))
  // It ends when its launcher does, which are we.
  const own = { ROSTER_LAUNCHER: String(process.pid), DATABASE_URL: databaseUrl, DATA_DIR: dataDir }
  const chosen = { ...(hasMemory ? {} : { MEMORY_MB: '0' }), ...(workers ? { WORKERS: String(workers) } : {}) }
  const child = await startAndWait([process.execPath, '--no-env-file', 'src/main.ts'], /listens on (http:\S+?),/, {
    cwd: root,
    environment: { ...SETTINGS, ...own, ...chosen },
  }).catch((error) => {
    removeAll(dataDir)
    throw error
  })
  return {
    url: child.found,
    pid: child.pid,
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
