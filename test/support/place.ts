import { afterEach, beforeEach } from 'bun:test'
import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { createDatabase } from './postgres.ts'
import { endPrograms, freePort, runMain, temporaryFolder, until, workersOf } from './process.ts'
import { KEY } from './server.ts'

export const LISTENS = /listens on (https?:\S+?),/
export const PATH = '/Companies?PageSize=5'
export const headers = { authorization: `ApiKey ${KEY}` }

/** Settings of servers whose tests read the log: on a busy machine any statement may be slow. */
export const QUIET = { LOG_LEVEL: 'warn', SLOW_STATEMENT_MS: '0' }

/** Resources of each test of a whole server. */
export interface Place {
  folder: string
  port: number
  DATABASE_URL: string
  /** Same as `start`, without waiting for it. */
  launch(environment?: Record<string, string>): ReturnType<typeof runMain>
  /** Starts a server with two workers on a database of the tests, so that PostgreSQL is not started. */
  start(environment?: Record<string, string>): Promise<{ server: ReturnType<typeof runMain>; url: string }>
}

/** For the top of a test file: gives each test a folder, a port and a database, and ends its servers. */
export function usePlace(): Place {
  const place = { launch, start } as Place
  let folder: ReturnType<typeof temporaryFolder>
  beforeEach(async () => {
    folder = temporaryFolder()
    place.folder = folder.path
    place.port = freePort()
    place.DATABASE_URL = await createDatabase()
  })
  afterEach(async () => {
    await endPrograms()
    rmSync(memoryFolderOf(place.folder, place.port), { recursive: true, force: true })
    folder.remove()
  })

  function launch(environment: Record<string, string> = {}) {
    const { DATABASE_URL, port } = place
    const settings = { DATA_DIR: place.folder, PORT: String(port), DATABASE_URL, DATABASE_POOL: '4', ...QUIET }
    const limits = { RATE_LIMITS: '100000/1s', RATE_LIMITS_ANONYMOUS: '10000/1s', RATE_LIMIT_CLIENTS: '2' }
    return runMain({ ...settings, ...limits, WORKERS: '2', BOOTSTRAP_API_KEY: KEY, ...environment })
  }

  async function start(environment: Record<string, string> = {}) {
    const server = launch(environment)
    const [, url = ''] = await server.waitFor(LISTENS)
    return { server, url }
  }
  return place
}

/** Waits until there are `count` workers, none of which is among `old`. */
export async function renewed(pid: number, count: number, old: readonly number[]): Promise<number[]> {
  let now: number[] = []
  await until(() => {
    now = workersOf(pid)
    return now.length === count && !now.some((worker) => old.includes(worker))
  })
  return now
}

/** Repeats a request once: a kept connection to a worker that has died fails at its first use. */
export async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === 400) throw error
      await Bun.sleep(50)
    }
  }
}
