import { afterAll, beforeAll } from 'bun:test'
import { type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'
import { copyCluster } from './cluster.ts'
import { childrenOf, isAlive, postmasterOf, temporaryFolder, until } from './process.ts'

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
      const postmaster = postmasterOf(folder.path) as number
      const backends = childrenOf(postmaster)
      process.kill(postmaster, 'SIGKILL')
      await postgres.failed
      // A backend may answer until it notices that the postmaster has gone.
      await until(() => backends.every((backend) => !isAlive(backend)))
    },
    comeBack: () => postgres.restart(),
  }
}
