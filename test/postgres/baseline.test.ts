import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { examineDatabase } from '../../src/doctor/database.ts'
import { Database } from '../../src/execute/database.ts'
import { BASELINE } from '../../src/postgres/baseline.ts'
import { migrate, migrationNames, pendingMigrations } from '../../src/postgres/migrate.ts'
import { createReadiness } from '../../src/postgres/readiness.ts'
import { rosterHere } from '../cli/roster.ts'
import { connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { MAIN } from '../support/serverProcesses.ts'
import { createSingleMigrated, SINGLE_MIGRATIONS } from '../support/singleMigrations.ts'
import { dataFolder, startProcess } from '../support/start.ts'

const FILES = migrationNames({ migrationsDir: null })
const REFUSAL =
  /the last applied migration is 0016_change_triggers\.sql, older than this version upgrades from: start commit [0-9a-f]{8} of Roster on the database once \(git checkout [0-9a-f]{8}, npm start\), then this version/

/** The catalog, by kinds: what a migration can create, and what does not differ between versions of PostgreSQL. */
const CATALOG: Record<string, string> = {
  columns: `
    select relname || ' ' || relkind::text || ' ' || relpersistence::text || ' ' || relreplident::text as relation, attnum, attname,
      format_type(atttypid, atttypmod) as type, attcollation::regcollation::text as collation, attnotnull, attidentity, attgenerated,
      pg_get_expr(adbin, adrelid) as fallback, relacl::text as relation_rights, attacl::text as rights
    from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relnamespace = 'public'::regnamespace and relkind <> 'i' and relname <> 'migration' order by relname collate "C", attnum`,
  constraints: `
    select conrelid::regclass::text as relation, conname, pg_get_constraintdef(oid) as definition from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 'n' and conrelid <> 'migration'::regclass
    order by conname collate "C"`,
  indexes: `
    select pg_get_indexdef(indexrelid) as definition, indisvalid from pg_index join pg_class on pg_class.oid = indexrelid
    where relnamespace = 'public'::regnamespace and indrelid <> 'migration'::regclass order by relname collate "C"`,
  functions: `
    select oid::regprocedure::text as name, pg_get_functiondef(oid) as definition, proacl::text as rights from pg_proc
    where pronamespace = 'public'::regnamespace order by oid::regprocedure::text collate "C"`,
  triggers: `
    select tgenabled, pg_get_triggerdef(oid) as definition from pg_trigger where not tgisinternal
    order by tgname collate "C"`,
  sequences: `
    select sequencename::text, data_type::text as type, start_value::text, min_value::text, max_value::text, increment_by::text, cycle
    from pg_sequences order by sequencename collate "C"`,
}

/** Digests of the catalog of a database that commit 4d5f49ce has migrated. */
const OF_SINGLE_MIGRATIONS = {
  columns: '115 7b1b5ea7323c836f',
  constraints: '32 8453e1d6c6957ceb',
  indexes: '56 be312a2a0f17b7ae',
  functions: '20 96344fdd665a20fc',
  triggers: '15 72d3a21722928456',
  sequences: '4 7d794ba701f25815',
}

test('The baseline creates the same columns, constraints, indexes, functions, triggers and sequences as the migrations that it replaces', async () => {
  const { path } = temporaryFolder()
  copyFileSync(join(MIGRATIONS, BASELINE), join(path, BASELINE))
  const url = await createDatabase('empty')
  await migrate(url, path)
  const sql = connect(url)
  const digests: Record<string, string> = {}
  for (const [kind, query] of Object.entries(CATALOG)) {
    const rows = (await sql.unsafe(query)).map((row) => Object.values(row).join(' | '))
    // Comments inside functions may differ.
    const text = rows.join('\n').replace(/^ *--.*\n/gm, '')
    digests[kind] = `${rows.length} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  }
  expect(digests).toEqual(OF_SINGLE_MIGRATIONS)
})

async function isReady(url: string, files: readonly string[]): Promise<boolean> {
  const database = new Database({ url, poolSize: 1, prepare: true })
  try {
    return await createReadiness((statement) => database.read(statement), files)()
  } finally {
    await database.end()
  }
}

async function findingOfDoctor(url: string) {
  const findings = await examineDatabase(url, 'DATABASE_URL', readConfig({ DATABASE_URL: url }), { entities: null, roles: null })
  return findings.find(({ check }) => check === 'migrations')
}

const filesOf = async (url: string) =>
  (await connect(url)`select file from migration where checksum <> '' order by file`).map(({ file }) => file as string)

describe('A database with all migrations that the baseline replaces', () => {
  const open = () => createSingleMigrated()

  test('gets only later files from migrate, and is ready for servers of versions before and after the baseline', async () => {
    const url = await open()
    expect(await pendingMigrations(url, MIGRATIONS)).toEqual(FILES.slice(1))
    expect(await migrate(url, MIGRATIONS)).toEqual(FILES.slice(1))
    expect(await migrate(url, MIGRATIONS)).toEqual([])
    expect(await filesOf(url)).toEqual([...SINGLE_MIGRATIONS, ...FILES.slice(1)])
    expect([await isReady(url, FILES), await isReady(url, SINGLE_MIGRATIONS), await isReady(url, ['9999_future.sql'])]).toEqual([
      ...[true, true, false],
    ])
  })

  test('is reported as ok by roster doctor', async () => {
    const url = await open()
    await migrate(url, MIGRATIONS)
    expect(await findingOfDoctor(url)).toMatchObject({ state: 'ok', text: `all ${FILES.length} are applied` })
  })

  test('is served, also if the role of the server can neither create tables nor record migrations', async () => {
    const url = await open()
    await migrate(url, MIGRATIONS)
    const sql = connect(url)
    const role = `baseline_${new URL(url).pathname.slice(1)}`
    await sql.unsafe(`
      create role ${role} login password 'plain';
      grant select, insert, update, delete on all tables in schema public to ${role};
      revoke insert, update, delete on migration from ${role}`)
    const { ask, server } = await startProcess({
      DATABASE_URL: Object.assign(new URL(url), { username: role, password: 'plain' }).href,
    })
    expect((await ask('GET', '/readyz')).status).toBe(200)
    expect((await ask('POST', '/Companies', { Name: 'Acme' })).status).toBe(201)
    expect((await ask('GET', '/Changes')).body.changes).toHaveLength(1)
    expect(await server.stop()).toBe(0)
    expect(await filesOf(url)).toEqual([...SINGLE_MIGRATIONS, ...FILES.slice(1)])
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
  })
})

describe('A database that lacks the last migration before the baseline', () => {
  const open = () => createSingleMigrated(SINGLE_MIGRATIONS.length - 1)

  test('is refused by migrate, which names the commit that upgrades it, and is not changed', async () => {
    const url = await open()
    await expect(migrate(url, MIGRATIONS)).rejects.toThrow(REFUSAL)
    await expect(pendingMigrations(url, MIGRATIONS)).rejects.toThrow(REFUSAL)
    expect(await isReady(url, FILES)).toBe(false)
    expect(await filesOf(url)).toEqual(SINGLE_MIGRATIONS.slice(0, -1))
  })

  test('is refused by roster migrate and roster seed, and reported as a fault by roster doctor', async () => {
    const url = await open()
    for (const words of [['migrate'], ['migrate', '--dry-run'], ['seed', '--rows', '10']])
      expect(await rosterHere(words, { DATABASE_URL: url })).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(REFUSAL),
      })
    expect(await findingOfDoctor(url)).toMatchObject({ state: 'fault', text: expect.stringMatching(REFUSAL) })
  })

  test('makes the start of a server fail with exit code 1', async () => {
    const server = run(MAIN, { DATABASE_URL: await open(), DATA_DIR: dataFolder(), PORT: '0', WORKERS: '1' })
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(REFUSAL)
  })
})
