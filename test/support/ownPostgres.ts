import { afterAll, beforeAll } from 'bun:test'
import { type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'
import { copyCluster } from './cluster.ts'
import { postmasterOf, temporaryFolder } from './process.ts'

/** A PostgreSQL that can stop, and start again at the same address. */
export interface OwnPostgres {
  /** Folder with its cluster, in `postgres`. */
  readonly folder: string
  readonly url: string
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

/** For the top of a test file: one PostgreSQL for all its tests. */
export function useOwnPostgres(): OwnPostgres {
  const folder = temporaryFolder()
  let postgres: EmbeddedPostgres
  beforeAll(async () => {
    copyCluster(folder.path)
    postgres = await startEmbedded({
      dataDir: folder.path,
      settings: { fsync: 'off', max_prepared_transactions: '1' },
      access: 'everything',
    })
  })
  afterAll(async () => {
    await postgres?.stop()
    folder.remove()
  })
  return {
    folder: folder.path,
    get url() {
      return postgres.url
    },
    async goAway() {
      process.kill(postmasterOf(folder.path) as number, 'SIGKILL')
      await postgres.failed
    },
    comeBack: () => postgres.restart(),
  }
}
