import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { type EmbeddedPostgres, startEmbedded } from '../../src/postgres/embedded.ts'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect } from '../support/postgres.ts'
import { postmasterOf, temporaryFolder, until } from '../support/process.ts'

const NOBODY = 65534
const settings = { fsync: 'off', synchronous_commit: 'off' }
const isRoot = process.getuid?.() === 0
const REFUSED = '42501'

let dataDir: string
let running: EmbeddedPostgres | null
let sql: postgres.Sql
beforeEach(() => {
  dataDir = temporaryFolder().path
  chmodSync(dataDir, 0o755) // so that the user nobody can enter it
  running = null
})
afterEach(async () => {
  await sql?.end()
  await running?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

async function start(asRoot?: 'namespace' | 'nobody') {
  if (!existsSync(join(dataDir, 'postgres'))) copyCluster(dataDir)
  running = await startEmbedded({ dataDir, settings, ...(asRoot ? { asRoot } : {}) })
  sql = connect(running.url)
  return running
}

async function stop() {
  await sql.end()
  await running?.stop()
  running = null
}

/** Returns the code of PostgreSQL's refusal, or the result if it did not refuse. */
const outcome = (text: string) =>
  sql.unsafe(text).then(
    (rows) => `done: ${JSON.stringify(rows)}`,
    (error) => error.code as string,
  )

const ATTEMPTS = [
  "copy (select 1) to program 'cat'",
  "create temporary table got (line text); copy got from program 'id'",
  "create table got (line text); copy got from program 'id'",
  "create table got (line text); copy got from '/etc/passwd'",
  "copy company to '/tmp/roster-company'",
  "select pg_read_file('/etc/passwd')",
  "select pg_read_file('postmaster.pid')",
  "select pg_read_binary_file('/etc/passwd')",
  "select pg_ls_dir('/')",
  "select pg_stat_file('/etc/passwd')",
  'select pg_ls_logdir()',
  "select lo_import('/etc/passwd')",
  "select lo_export(lo_create(0), '/tmp/roster-export')",
  'select * from pg_authid',
  'select * from pg_shadow',
  'create role other',
  'create role other superuser',
  'alter role roster_app superuser',
  'alter role roster_app createrole',
  "alter role roster password 'x'",
  'grant roster to roster_app',
  'grant pg_read_server_files to roster_app',
  'grant pg_execute_server_program to roster_app',
  'set role roster',
  'set session authorization roster',
  'set role pg_read_server_files',
  "alter system set log_statement = 'all'",
  "set log_statement = 'all'",
  "set session_preload_libraries = 'x'",
  "load '/tmp/x.so'",
  'create extension plpgsql version "1.0" schema pg_catalog',
  'create extension pg_trgm',
  'create trusted language other',
  "create function shell(text) returns int language c as '/lib/x86_64-linux-gnu/libc.so.6', 'system'",
  "create function internal(text) returns text language internal as 'pg_read_file_all'",
  'create event trigger t on ddl_command_end execute function notify_change()',
  'create database other',
  'drop database postgres',
  'alter database postgres owner to roster_app',
  'create schema other',
  "create tablespace other location '/tmp'",
  "create subscription other connection '' publication other with (connect = false)",
  'create publication other for all tables',
  "select pg_create_physical_replication_slot('other')",
  'checkpoint',
  'select pg_reload_conf()',
  'select pg_rotate_logfile()',
  'drop function pg_read_file(text)',
  'update pg_database set datallowconn = false',
]

/** Codes of refusals: a right, a file or a language is missing, or the statement is never allowed. */
const NO = [REFUSED, '0A000', '58P01', '42704', '42710', '55000', '2BP01', '55006', '42P13']

describe('the role of the server in the embedded PostgreSQL', () => {
  test('the role of the server can use its tables, but no file, program, role, setting, extension or language', async () => {
    const { url } = await start()
    await migrate(url, MIGRATIONS)
    const found: string[] = []
    for (const attempt of ATTEMPTS) {
      const code = await outcome(attempt)
      if (!NO.includes(code)) found.push(`${attempt}: ${code}`)
    }
    expect(found).toEqual([])
    // Each attempt is valid SQL: these are refused only for a missing right.
    for (const attempt of ATTEMPTS.slice(0, 30)) expect([attempt, await outcome(attempt)]).toEqual([attempt, REFUSED])
    expect(await outcome("insert into company (name) values ('Acme') returning name")).toBe('done: [{"name":"Acme"}]')
  })

  test('the role of the server is in no other role and has no attribute; the superuser has no password, and cannot connect', async () => {
    const { url } = await start()
    await migrate(url, MIGRATIONS)
    expect(new URL(url).username).toBe('roster_app')
    const [role] = await sql`
        select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
          (select count(*)::int from pg_auth_members where member = pg_roles.oid) as memberships
        from pg_roles where rolname = current_user`
    expect(Object.values(role ?? {})).toEqual([false, false, false, false, false, 0])
    for (const user of ['roster', 'postgres'])
      for (const password of ['', new URL(url).password, 'roster']) {
        const other = connect(Object.assign(new URL(url), { username: user, password }).href)
        await expect(other`select 1`.execute()).rejects.toThrow(/pg_hba.conf rejects|password authentication failed/)
      }
    for (const database of ['template1', 'template0']) {
      const other = connect(Object.assign(new URL(url), { pathname: database }).href)
      await expect(other`select 1`.execute()).rejects.toThrow(/pg_hba.conf rejects|not currently accepting/)
    }
  })

  test('the role of the server can see and end its own backends; its triggers record changes', async () => {
    const { url } = await start()
    await migrate(url, MIGRATIONS)
    const other = connect(url)
    const sleeping = other`select pg_sleep(60)`.execute().catch(({ code }) => code)
    const find = () => sql`select pid from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()`
    await until(async () => (await find()).count === 1)
    const [row] = await find()
    expect(Object.values((await sql`select pg_cancel_backend(${row?.pid})`)[0] ?? {})).toEqual([true])
    expect(await sleeping).toBe('57014')
    await sql`insert into company (name) values ('Acme')`
    expect(await sql`select from row_change where relation = 'company'::regclass`).toHaveLength(1)
  })
})

/** Returns the lines of /proc/<pid>/status, for the postmaster and each process that it has started. */
function statuses(): Record<string, string>[] {
  const postmaster = postmasterOf(dataDir) as number
  const pids = readdirSync('/proc').filter((name) => {
    const stat = /^\d+$/.test(name) && existsSync(`/proc/${name}/stat`) ? readFileSync(`/proc/${name}/stat`, 'utf8') : ''
    return Number(name) === postmaster || Number(/\) \S (\d+)/.exec(stat)?.[1]) === postmaster
  })
  return pids.map((pid) => Object.fromEntries(linesOf(pid).map((line) => line.split(/:\s*/) as [string, string])))
}
const linesOf = (pid: string) => readFileSync(`/proc/${pid}/status`, 'utf8').split('\n').filter(Boolean)

if (process.platform === 'linux')
  for (const asRoot of isRoot ? (['nobody', 'namespace'] as const) : [undefined])
    test(`processes of PostgreSQL have no capability, and cannot get one${asRoot ? `: as root, by ${asRoot}` : ''}`, async () => {
      await start(asRoot)
      await sql`select 1`
      const all = statuses()
      expect(all.length).toBeGreaterThan(3)
      const user = asRoot === 'nobody' ? NOBODY : (process.getuid?.() ?? 0)
      for (const { Uid, CapEff, CapPrm, CapInh, CapAmb, CapBnd, NoNewPrivs, Groups } of all) {
        expect(Uid?.split('\t').map(Number)).toEqual([user, user, user, user])
        for (const set of [CapEff, CapPrm, CapInh, CapAmb]) expect(Number(`0x${set}`)).toBe(0)
        expect(NoNewPrivs).toBe('1')
        if (asRoot === 'nobody') expect([Number(`0x${CapBnd}`), Groups?.trim()]).toEqual([0, ''])
      }
    })

if (isRoot)
  test('a start as root runs PostgreSQL as the user nobody if that user can enter the folder, and else in a namespace', async () => {
    const cluster = join(dataDir, 'postgres')
    const users = () => [...new Set(['', 'base', 'PG_VERSION'].map((name) => statSync(join(cluster, name)).uid))]
    for (const [mode, user] of [
      [0o700, 0],
      [0o755, NOBODY],
      [0o700, 0],
    ] as const) {
      chmodSync(dataDir, mode)
      await start()
      await sql`create table if not exists kept as select 'kept' as note`
      expect((await sql`select note from kept`)[0]?.note).toBe('kept')
      expect([users(), Number(statuses()[0]?.Uid?.split('\t')[0])]).toEqual([[user], user])
      await stop()
    }
  })

if (isRoot)
  test('a start as root does not follow symbolic links in the folder of PostgreSQL to files of root', async () => {
    await start('nobody')
    await stop()
    const cluster = join(dataDir, 'postgres')
    const secret = join(dataDir, 'secret')
    writeFileSync(secret, 'of root', { mode: 0o600 })
    for (const name of ['pg_hba.conf.part', 'planted']) symlinkSync(secret, join(cluster, name))
    writeFileSync(join(cluster, 'pg_hba.conf'), 'local all all trust\n')
    for (const other of ['namespace', 'nobody'] as const) {
      await start(other)
      if (other === 'namespace') await stop()
    }
    expect((await sql`select 1 as one`)[0]?.one).toBe(1)
    expect([statSync(secret).uid, readFileSync(secret, 'utf8')]).toEqual([0, 'of root'])
    expect(readFileSync(join(cluster, 'pg_hba.conf'), 'utf8')).not.toContain('trust')
  })

test('a restart writes pg_hba.conf again only if the password of the role has changed', async () => {
  const entrances = () => statSync(join(dataDir, 'postgres', 'pg_hba.conf')).ino
  const { url } = await start()
  const first = entrances()
  await stop()
  expect([(await start()).url.split('@')[0], entrances()]).toEqual([url.split('@')[0], first])
  await stop()
  writeFileSync(join(dataDir, 'postgres.password'), 'another', { mode: 0o600 })
  expect(new URL((await start()).url).password).toBe('another')
  expect((await sql`select current_user as role`)[0]?.role).toBe('roster_app')
  expect(entrances()).not.toBe(first)
})
