import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryFolderOf } from '../src/os/folder.ts'
import { startAndWait } from './children.ts'
import type { Database } from './database.ts'

/** A program that answers over HTTP. */
export interface HttpTarget {
  readonly name: string
  /** Base addresses without a slash at the end; the connections of the load are divided among them. */
  readonly urls: readonly string[]
  /** Headers of every request, such as the key. */
  readonly headers: Readonly<Record<string, string>>
  /** Processes whose CPU time is counted, with their descendants. */
  readonly pids: readonly number[]
  /** Address of the program's metrics, without a slash at the end. */
  readonly admin?: string
  /** True if the program loads tables into memory. */
  readonly hasMemory?: boolean
  /** Database of the program; null if it has none. */
  readonly database: Database | null
  /** Begins to cancel the program's statements. Returns a function that stops this. */
  cancelStatements?(): () => Promise<void>
  stop(): Promise<void>
}

interface Options {
  /** Number of workers; default: one per processor. */
  readonly workers?: number
  /** Checkout whose source runs; default: this one. */
  readonly root?: string
  /** False: lists are read from the database. Default: true. */
  readonly hasMemory?: boolean
  /** Settings that replace the settings of the bench. */
  readonly settings?: Readonly<Record<string, string>>
}

const KEY = 'bench-key-0123456789'
const LISTENS = /listens on (http:\S+?),/
/** Matches the line with the address of the metrics, which follows the line with the address of the server. */
const METRICS = /Metrics: (http:\S+)\/metrics/
const ROOT = join(import.meta.dir, '..')

/**
 * Settings with rate limits that the load cannot reach. There are as many rules as by default, because the number of rules
 * decides what a decision costs. The limit of addresses is lower, because their table needs 256 bytes for each request of the
 * limit.
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

/** Starts the server as a user would, with a new data folder. @throws Error if it does not start */
export async function startServer(
  name: string,
  database: Database,
  { workers, root = ROOT, hasMemory = true, settings = {} }: Options,
): Promise<HttpTarget> {
  const dataDir = mkdtempSync(join(tmpdir(), 'roster-bench-'))
  // The server ends when its launcher ends. Here this process is the launcher.
  const own = { ROSTER_LAUNCHER: String(process.pid), DATABASE_URL: database.url, DATA_DIR: dataDir }
  // Another commit may not have this setting, and may have other metrics.
  const hasAdmin = root === ROOT
  const chosen = {
    ...(hasAdmin ? { ADMIN_PORT: '0' } : {}),
    ...(hasMemory ? {} : { MEMORY_MB: '0' }),
    ...(workers ? { WORKERS: String(workers) } : {}),
    ...settings,
  }
  let url = ''
  const onLine = (line: string) => void (url ||= LISTENS.exec(line)?.[1] ?? '')
  const last = hasAdmin ? METRICS : LISTENS
  const child = await startAndWait([process.execPath, '--no-env-file', 'src/main.ts'], last, {
    cwd: root,
    onLine,
    environment: { ...SETTINGS, ...own, ...chosen },
  }).catch((error) => {
    removeAll(dataDir)
    throw error
  })
  return {
    name,
    database,
    hasMemory,
    urls: [url],
    pids: [child.pid],
    ...(hasAdmin ? { admin: child.found } : {}),
    headers: { Authorization: `ApiKey ${KEY}` },
    async stop() {
      await child.stop()
      removeAll(dataDir)
    },
  }
}

/** Deletes the data, and the counts of the limits, which a server keeps for its next start. */
function removeAll(dataDir: string) {
  for (const folder of [memoryFolderOf(dataDir, 0), dataDir]) rmSync(folder, { recursive: true, force: true })
}
