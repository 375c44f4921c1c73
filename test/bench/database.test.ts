import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cluster, openCluster } from '../../bench/database.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, isAlive, run, until } from '../support/process.ts'

const TIMEOUT_MS = 60_000
const settings = { fsync: 'off', synchronous_commit: 'off', shared_buffers: '64MB' }

let dataDir: string
let written = ''
let cluster: Cluster
const output = { write: (text: string) => (written += text) }

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'roster-bench-'))
  chmodSync(dataDir, 0o755) // where the user nobody can go
  copyCluster(dataDir)
  cluster = await openCluster({ dataDir, settings, output })
}, TIMEOUT_MS)
afterAll(async () => {
  await endPrograms()
  await cluster.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Whether the rows of the next database were loaded, not found. */
async function isLoadedNow(absences: number): Promise<boolean> {
  written = ''
  await cluster.database(absences)
  return written.includes('absence ')
}

async function value(text: string): Promise<unknown> {
  const sql = connect(cluster.url('bench_100'))
  const [row] = await sql.unsafe(text)
  await sql.end()
  return row?.value
}

const COUNT = 'select count(*)::int as value from absence'

test(
  'a database is loaded once, and kept for the next run',
  async () => {
    expect(await isLoadedNow(100)).toBe(true)
    expect(await isLoadedNow(100)).toBe(false)
    await cluster.stop()
    cluster = await openCluster({ dataDir, settings, output })
    expect(await isLoadedNow(100)).toBe(false)
    expect(await value(COUNT)).toBe(100)
  },
  TIMEOUT_MS,
)

test(
  'each number of rows has a database of its own',
  async () => {
    expect(await isLoadedNow(200)).toBe(true)
    const { url, rows } = await cluster.database(200)
    expect(url).toBe(cluster.url('bench_200'))
    expect(rows).toEqual({ absences: 200, employees: 40, companies: 20 })
    expect(await isLoadedNow(100)).toBe(false)
  },
  TIMEOUT_MS,
)

test(
  'a copy with more indexes is made once, and what was written there is undone',
  async () => {
    const { url, rows } = await cluster.indexedDatabase(200)
    expect([url, rows.absences]).toEqual([cluster.url('bench_200_indexed'), 200])
    const indexed = connect(url)
    const find = () => indexed`select count(*)::int as value from absence where status = 'changed'`
    const indexes = () => indexed`
      select pg_get_indexdef(indexrelid) as made from pg_index
      where indexrelid::regclass::text like 'absence_new%' order by 1`
    expect((await indexes()).map(({ made }) => made.replace(/^.* USING btree /, ''))).toEqual([
      '(start, id) INCLUDE (type, period_hours)',
      '(status, start, id)',
    ])
    await indexed`update absence set status = 'changed' where id < 5`
    written = ''
    await cluster.indexedDatabase(200)
    expect([written, (await find())[0]?.value]).toEqual(['', 0])
    await indexed.unsafe('drop index absence_new_lists')
    await indexed.end()
    await cluster.indexedDatabase(200)
    expect(written).toContain('copy with more indexes')
    expect(await isLoadedNow(200)).toBe(false)
  },
  TIMEOUT_MS,
)

test(
  'what an earlier run has written is undone',
  async () => {
    await value(`delete from absence where id < 50; insert into company (name) values ('left behind')`)
    expect(await isLoadedNow(100)).toBe(false)
    expect([await value(COUNT), await value('select count(*)::int as value from company')]).toEqual([100, 10])
  },
  TIMEOUT_MS,
)

for (const [what, change] of [
  ['whose loading was cut short', 'drop schema bench cascade; delete from absence where id > 50'],
  ['of another generator', `update bench.loaded set rows = 'other'`],
  ['of other migrations', `update migration set checksum = 'other' where file like '0001%'`],
  ['with a migration that is not there', `insert into migration (file, checksum) values ('0099_later.sql', '')`],
])
  test(
    `a database ${what} is loaded anew`,
    async () => {
      await value(change as string)
      expect(await isLoadedNow(100)).toBe(true)
      expect(await value(COUNT)).toBe(100)
    },
    TIMEOUT_MS,
  )

test('postmasterPid is that of a process that ends with the cluster', async () => {
  const pid = cluster.postmasterPid
  expect(isAlive(pid)).toBe(true)
  await cluster.stop()
  expect(isAlive(pid)).toBe(false)
  cluster = await openCluster({ dataDir, settings, output })
})

test(
  'a load ends when the cluster is stopped, and the next start has all rows',
  async () => {
    const outcome = cluster.database(6_000).then(
      () => 'loaded',
      (error) => error.message,
    )
    await until(() => isThere('bench_6000'))
    await cluster.stop()
    expect(await outcome).toBe('the bench was stopped')
    cluster = await openCluster({ dataDir, settings, output })
    expect(await isLoadedNow(6_000)).toBe(true)
    expect(await isLoadedNow(100)).toBe(false)
  },
  TIMEOUT_MS,
)

test(
  'what a killed run has left running is stopped, and its half-loaded rows are replaced',
  async () => {
    await cluster.stop()
    const program = `
      const { openCluster } = await import('${join(import.meta.dir, '../../bench/database.ts')}')
      const cluster = await openCluster({ dataDir: '${dataDir}', settings: ${JSON.stringify(settings)} })
      console.log(cluster.postmasterPid)
      await cluster.database(10_000)`
    const child = run([process.execPath, '--no-env-file', '-e', program])
    const [, postmaster] = await child.waitFor(/^(\d+)\n(.|\n)*company /)
    child.kill('SIGKILL')
    await child.ended
    expect(isAlive(Number(postmaster))).toBe(true)
    cluster = await openCluster({ dataDir, settings, output })
    expect(isAlive(Number(postmaster))).toBe(false)
    expect(await isLoadedNow(10_000)).toBe(true)
  },
  TIMEOUT_MS,
)

test(
  'a PostgreSQL that has ended by itself is an error, and the next start works',
  async () => {
    process.kill(cluster.postmasterPid, 'SIGQUIT')
    await until(() => !isAlive(cluster.postmasterPid))
    await expect(cluster.database(100)).rejects.toThrow('PostgreSQL has ended by itself')
    await cluster.stop()
    cluster = await openCluster({ dataDir, settings, output })
    expect(await isLoadedNow(100)).toBe(false)
  },
  TIMEOUT_MS,
)

async function isThere(name: string): Promise<boolean> {
  return (await value(`select count(*)::int as value from pg_database where datname = '${name}'`)) === 1
}
