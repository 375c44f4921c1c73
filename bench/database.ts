import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import postgres from 'postgres'
import { startEmbedded } from '../src/postgres/embedded.ts'
import { migrate, readMigrations } from '../src/postgres/migrate.ts'
import { load } from './data/load.ts'
import { isLoaded } from './data/marker.ts'
import { addIndexes, hasIndexes } from './data/moreIndexes.ts'
import { type Output, Progress } from './data/progress.ts'
import { restore } from './data/restore.ts'
import { type Rows, rowsFor } from './data/table.ts'

const ROOT = join(import.meta.dir, '..')
const MIGRATIONS = join(ROOT, 'sql')
export const DATA_DIR = join(ROOT, '.data/bench')

// Memory as an operator would give it. Each commit waits for the disk, as PostgreSQL does by itself.
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB' }

/** What still waits at the end, such as for a PostgreSQL that has failed, is not waited for. */
const END_SECONDS = 1
const END_SEEN_WITHIN_MS = 1_000

/** The PostgreSQL of the bench, with a database for each number of rows. */
export interface Cluster {
  /** The process whose children serve the connections. */
  readonly postmasterPid: number
  /** Address of a database by its name; whether it is there is another matter. */
  url(name: string): string
  /**
   * A database with the rows of `rowsFor(absences)`, as the generator makes them: loaded if it is not there or if
   * migrations or generator have changed since, restored if an earlier run has written to it.
   */
  database(absences: number): Promise<Database>
  /** A copy of that database with more indexes on absences, for peers alone: see `data/moreIndexes.ts`. */
  indexedDatabase(absences: number): Promise<Database>
  /** Ends PostgreSQL; the databases stay for the next run. */
  stop(): Promise<void>
}

export interface Database {
  readonly url: string
  readonly rows: Rows
}

interface Options {
  dataDir?: string
  /** Beside those of the bench, as for `postgres -c`. */
  settings?: Record<string, string>
  output?: Output
}

/**
 * Starts PostgreSQL with its data in `dataDir`. What an interrupted run left running is stopped first; when this process
 * exits, PostgreSQL does too.
 * @throws DataDirInUse while another run has the folder
 */
export async function openCluster({
  dataDir = DATA_DIR,
  settings = {},
  output = process.stdout,
}: Options = {}): Promise<Cluster> {
  const embedded = await startEmbedded({
    dataDir,
    settings: { ...SETTINGS, ...settings },
    isShared: false,
    access: 'everything',
  })
  process.once('exit', embedded.kill)
  let hasFailed = false
  const failed = embedded.failed.then((log): never => {
    hasFailed = true
    throw new Error(`PostgreSQL has ended by itself:\n${log}`)
  })
  failed.catch(() => undefined) // a caller that waits for a database gets the error
  const admin = postgres(embedded.url, { max: 1, onnotice: () => undefined })
  const [postmaster] = await admin<{ pid: number }[]>`
    select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`
  const stopping = new AbortController()
  let opening: Promise<unknown> = Promise.resolve()
  const progressOf = () => new Progress(output, stopping.signal)
  // The end of PostgreSQL may be seen later than what it does to a connection.
  const causeOf = async (error: unknown): Promise<never> => {
    if (!stopping.signal.aborted && !(error instanceof postgres.PostgresError))
      await Promise.race([failed, Bun.sleep(END_SEEN_WITHIN_MS)])
    throw error
  }
  const open = (database: Promise<Database>) => {
    const opened = Promise.race([database.catch(causeOf), failed])
    opening = opened.catch(() => undefined)
    return opened
  }
  const cluster: Cluster = {
    postmasterPid: postmaster?.pid as number,
    url: (name) => Object.assign(new URL(embedded.url), { pathname: `/${name}` }).href,
    database: (absences) => open(openDatabase(cluster, admin, rowsFor(absences), progressOf())),
    indexedDatabase: (absences) => open(openIndexed(cluster, admin, rowsFor(absences), progressOf())),
    async stop() {
      // A load ends by itself first: the driver throws where no code catches when a transaction loses its connection.
      stopping.abort(new Error('the bench was stopped'))
      await opening
      // Without it a shutdown writes for longer than it is given, and the next start has to recover.
      if (!hasFailed) await admin`checkpoint`
      await admin.end({ timeout: END_SECONDS })
      await embedded.stop()
      process.off('exit', embedded.kill)
    },
  }
  return cluster
}

async function openDatabase(cluster: Cluster, admin: postgres.Sql, rows: Rows, progress: Progress): Promise<Database> {
  const name = `bench_${rows.absences}`
  const url = cluster.url(name)
  const [there] = await admin`select from pg_database where datname = ${name}`
  if (there && (await isCurrent(url, rows))) await restore(url, rows)
  else {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.unsafe(`create database ${name} template template0`)
    await migrate(url, MIGRATIONS)
    await load(url, rows, progress)
  }
  return { url, rows }
}

async function openIndexed(cluster: Cluster, admin: postgres.Sql, rows: Rows, progress: Progress): Promise<Database> {
  const name = `bench_${rows.absences}_indexed`
  const url = cluster.url(name)
  const [there] = await admin`select from pg_database where datname = ${name}`
  if (there && (await isCurrent(url, rows, true))) await restore(url, rows)
  else {
    const { url: from } = await openDatabase(cluster, admin, rows, progress)
    progress.begin('copy with more indexes')
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.unsafe(`create database ${name} template ${new URL(from).pathname.slice(1)} strategy file_copy`)
    await addIndexes(url, rows)
    progress.end(rows.absences, 'rows')
  }
  return { url, rows }
}

async function isCurrent(url: string, rows: Rows, isIndexed = false): Promise<boolean> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    if (!(await isLoaded(sql, rows)) || (isIndexed && !(await hasIndexes(sql)))) return false
    const applied = await sql<{ file: string; checksum: string }[]>`select file, checksum from migration order by file`
    const files = readMigrations(MIGRATIONS).map(({ file, checksum }) => ({ file, checksum }))
    return isDeepStrictEqual(
      [...applied].map((row) => ({ ...row })),
      files,
    )
  } finally {
    await sql.end()
  }
}
