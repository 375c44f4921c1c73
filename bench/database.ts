import { join } from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../src/postgres/embedded.ts'
import { MIGRATIONS, migrate } from '../src/postgres/migrate.ts'
import { isLoaded, load, prepareForPeers, type Rows, restore } from './data.ts'

export const DATA_DIR = join(import.meta.dir, '../.data/bench')

// Memory as an operator would configure it. Each commit waits for the disk, as by default.
const SETTINGS = { shared_buffers: '512MB', work_mem: '32MB', max_wal_size: '4GB' }
/** Maximum number of connections: more than all servers and peers open together. */
const CONNECTIONS_MAX = 500
const END_SECONDS = 1
const CANCEL_MS = 200

/** The PostgreSQL of the bench, with a database for each number of rows. */
export interface Cluster {
  /** Id of the process whose children serve the connections. */
  readonly postmasterPid: number
  /** Opens a database with these rows: loads it if it is missing or outdated, else restores it. */
  database(rows: Rows): Promise<Database>
  /** Copies the database for peers, without Roster's triggers; `isIndexed` adds indexes for new lists. */
  peersDatabase(rows: Rows, isIndexed: boolean): Promise<Database>
  /** Creates a database with the same rows, by the migrations in `folder`. */
  otherDatabase(rows: Rows, folder: string): Promise<Database>
  /** Copies the database with these rows, which must have no connections meanwhile. Returns the URL of the copy. */
  copy(rows: Rows, name: string): Promise<string>
  /** Stops PostgreSQL; the databases are kept for the next run. */
  stop(): Promise<void>
}

export interface Database {
  readonly url: string
  readonly rows: Rows
}

/**
 * Starts PostgreSQL with its data in `dataDir`. PostgreSQL ends with this process. @throws DataDirInUse if another run uses the
 * folder
 */
export async function openCluster(dataDir: string): Promise<Cluster> {
  const settings = { ...SETTINGS, max_connections: String(CONNECTIONS_MAX) }
  const embedded = await startEmbedded({ dataDir, settings, isShared: false, access: 'everything' })
  process.once('exit', embedded.kill)
  embedded.failed.then((log) => console.error(`PostgreSQL has ended by itself:\n${log}`))
  const admin = postgres(embedded.url, { max: 1, onnotice: () => undefined })
  const [postmaster] = await admin<{ pid: number }[]>`
    select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`
  const urlOf = (name: string) => Object.assign(new URL(embedded.url), { pathname: `/${name}` }).href

  const open = async (name: string, rows: Rows, make: (url: string) => Promise<void>, source = 'template0') => {
    const url = urlOf(name)
    const [there] = await admin`select from pg_database where datname = ${name}`
    if (there && (await isLoaded(url, rows))) await restore(url, rows)
    else {
      console.log(`makes the database ${name} ...`)
      const startMs = performance.now()
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.unsafe(`create database ${name} template ${source} strategy file_copy`)
      await make(url)
      // Without a checkpoint, writing to disk would slow down the next rounds.
      await admin`checkpoint`
      console.log(`... in ${((performance.now() - startMs) / 1_000).toFixed(1)} s`)
    }
    return { url, rows }
  }
  const nameOf = ({ absences, areTogether }: Rows) => `bench_${absences}${areTogether ? '_together' : ''}`
  const database = (rows: Rows) => open(nameOf(rows), rows, (url) => migrateAndLoad(url, MIGRATIONS, rows))
  return {
    postmasterPid: postmaster?.pid as number,
    database,
    async peersDatabase(rows, isIndexed) {
      await database(rows)
      const source = nameOf(rows)
      return open(`${source}_${isIndexed ? 'indexed' : 'peers'}`, rows, (url) => prepareForPeers(url, rows, isIndexed), source)
    },
    async otherDatabase(rows, folder) {
      await admin`drop database if exists bench_compare with (force)`
      return open('bench_compare', rows, (url) => migrateAndLoad(url, folder, rows))
    },
    async copy(rows, name) {
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.unsafe(`create database ${name} template ${nameOf(rows)} strategy file_copy`)
      return urlOf(name)
    },
    async stop() {
      // Without a checkpoint, the shutdown would time out, and the next start would have to recover.
      await admin`checkpoint`.catch(() => undefined)
      await admin.end({ timeout: END_SECONDS })
      await embedded.stop()
      process.off('exit', embedded.kill)
    },
  }
}

/**
 * Cancels the statements of a database repeatedly: at the end of a round a peer still runs statements, and the next program needs
 * the processors. Returns a function that stops this.
 */
export function cancelStatements(url: string): () => Promise<void> {
  const sql = postgres(url, { max: 1 })
  const cancel = async () => {
    await sql`
      select pg_cancel_backend(pid) from pg_stat_activity
      where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`
  }
  const timer = setInterval(() => cancel().catch(() => undefined), CANCEL_MS)
  return async () => {
    clearInterval(timer)
    await sql.end()
  }
}

async function migrateAndLoad(url: string, folder: string, rows: Rows) {
  await migrate(url, folder)
  await load(url, rows)
}
