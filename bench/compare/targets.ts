import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import postgres from 'postgres'
import { migrate, readMigrations } from '../../src/postgres/migrate.ts'
import { load } from '../data/load.ts'
import { Progress } from '../data/progress.ts'
import { restore } from '../data/restore.ts'
import type { Cluster, Database } from '../database.ts'
import { exhaust, makeExhaustedKey } from '../exhaustedKey.ts'
import { forgetLists } from '../forget.ts'
import { followLinks } from '../links.ts'
import type { Scenario } from '../scenarios.ts'
import { type Server, startServer } from '../server.ts'
import { overHttp, type Target } from '../targets.ts'

/** Where the rows are that a target serves; one for both, unless their migrations differ. */
interface Stored extends Pick<Database, 'url' | 'rows'> {
  /** Headers with a key whose limit every server here uses up before it is loaded. */
  readonly exhausted: Readonly<Record<string, string>>
}

/** A server that runs the source of one commit. */
export interface CommitTarget {
  readonly name: 'before' | 'after'
  readonly database: Stored
  readonly server: Server
}

/** The server of the checkout at `root`, on this database. @throws Error when it does not come up */
export async function openTarget(name: CommitTarget['name'], root: string, database: Stored): Promise<CommitTarget> {
  const server = await startServer({ databaseUrl: database.url, root })
  await exhaust(server.url, database.exhausted)
  return { name, database, server }
}

/** The server under the load of the scenario; it goes on when the load has ended. */
export async function underLoad(
  { name, server, database }: CommitTarget,
  scenario: Scenario,
  cluster: Cluster,
): Promise<Target> {
  const headers = { none: {}, exhausted: database.exhausted, valid: server.headers }[scenario.key ?? 'valid']
  const target = { name, url: server.url, headers, pids: () => [server.pid], stop: async () => undefined }
  return overHttp(target, await followLinks(target, scenario), cluster.postmasterPid)
}

/** Sets back what both have written. */
export async function restoreTargets(targets: readonly CommitTarget[]): Promise<void> {
  for (const { url, rows } of databasesOf(targets)) await restore(url, rows)
}

/** Makes both give up what they have in memory. */
export async function forgetTargets(targets: readonly CommitTarget[]): Promise<void> {
  for (const { url } of databasesOf(targets)) await forgetLists(url)
}

function databasesOf(targets: readonly CommitTarget[]): Iterable<Stored> {
  return new Map(targets.map(({ database }) => [database.url, database])).values()
}

/** Whether both checkouts have the same migrations, so that one database serves both. */
export function sameMigrations(root: string, other: string): boolean {
  const [ours, theirs] = [root, other].map((folder) =>
    readMigrations(join(folder, 'sql')).map(({ file, checksum }) => `${file} ${checksum}`),
  )
  return isDeepStrictEqual(ours, theirs)
}

/** The database of the working tree. */
export async function openDatabase(cluster: Cluster, absences: number): Promise<Stored> {
  const { url, rows } = await cluster.database(absences)
  return { url, rows, exhausted: await makeExhaustedKey(url) }
}

/** A database with the same rows by the migrations of the checkout at `root`, made anew. */
export async function makeDatabase(cluster: Cluster, root: string, rows: Database['rows']): Promise<Stored> {
  await dropDatabase(cluster)
  await administer(cluster, `create database ${NAME} template template0`)
  const url = cluster.url(NAME)
  await migrate(url, join(root, 'sql'))
  await load(url, rows, new Progress(process.stdout))
  return { url, rows, exhausted: await makeExhaustedKey(url) }
}

/** Throws away what `makeDatabase` has made, if anything. */
export function dropDatabase(cluster: Cluster): Promise<void> {
  return administer(cluster, `drop database if exists ${NAME} with (force)`)
}

const NAME = 'bench_compare'

async function administer(cluster: Cluster, statement: string) {
  const sql = postgres(cluster.url('postgres'), { max: 1, onnotice: () => undefined })
  await sql.unsafe(statement)
  await sql.end()
}
