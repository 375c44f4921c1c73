import { afterEach, beforeEach } from 'bun:test'
import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { createDatabase } from './postgres.ts'
import { endPrograms, freePort, temporaryFolder, until, workersOf } from './process.ts'
import { KEY } from './server.ts'

export const PATH = '/Companies?PageSize=5'
export const headers = { authorization: `ApiKey ${KEY}` }

/** Folder, port and database with which a test starts a server in separate processes, perhaps several times. */
export interface Place {
  folder: string
  port: number
  DATABASE_URL: string
  /** Settings of a server at this place, on a database of the tests, so that PostgreSQL is not started. */
  settings: Record<string, string>
}

/** For the top of a test file: gives each test a folder, a port and a database. */
export function usePlace(): Place {
  const place = {} as Place
  let folder: ReturnType<typeof temporaryFolder>
  beforeEach(async () => {
    folder = temporaryFolder()
    place.folder = folder.path
    place.port = freePort()
    place.DATABASE_URL = await createDatabase()
    const { port, DATABASE_URL } = place
    place.settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, DATABASE_POOL: '4', RATE_LIMIT_CLIENTS: '2' }
  })
  afterEach(async () => {
    await endPrograms()
    rmSync(memoryFolderOf(place.folder, place.port), { recursive: true, force: true })
    folder.remove()
  })
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
