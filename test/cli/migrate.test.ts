import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { neededRights } from '../../src/postgres/grants.ts'
import { MIGRATIONS, readMigrations } from '../../src/postgres/migrate.ts'
import { entities } from '../support/entities.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { rosterHere } from './roster.ts'

const FILES = readMigrations(MIGRATIONS).map(({ file }) => file)
const name = `unmigrated_${process.pid}`

let admin: postgres.Sql
let sql: postgres.Sql
let url: string
beforeAll(async () => {
  const own = new URL(await createDatabase())
  admin = connect(own.href)
  await admin.unsafe(`create database ${name} template template0 encoding 'UTF8'`)
  own.pathname = `/${name}`
  url = own.href
  sql = connect(url)
})
afterAll(async () => {
  await sql.end()
  await admin.unsafe(`drop database ${name} with (force)`)
})

const folder = temporaryFolder()

const migrate = (...words: string[]) => migrateWith({ DATABASE_URL: url }, ...words)

async function migrateWith(environment: Record<string, string>, ...words: string[]) {
  const { code, stdout, stderr } = await rosterHere(['migrate', ...words], environment)
  return { code, output: stdout + stderr }
}

test('roster migrate applies pending migrations once; --dry-run lists them and changes nothing', async () => {
  const dry = { code: 0, output: FILES.map((file) => `to apply: ${file}\n`).join('') }
  expect([await migrate('--dry-run'), await migrate('--dry-run')]).toEqual([dry, dry])
  expect(await migrate()).toEqual({ code: 0, output: FILES.map((file) => `applied: ${file}\n`).join('') })
  expect(await sql`select file from migration order by file`).toMatchObject(FILES.map((file) => ({ file })))
  const done = { code: 0, output: 'All migrations are applied.\n' }
  expect([await migrate(), await migrate('--dry-run')]).toEqual([done, done])
})

test('roster migrate does not truncate a file that stdout is appended to', async () => {
  const path = join(folder.path, 'log')
  const words = `echo before > '${path}' && '${process.execPath}' --no-env-file src/main.ts migrate >> '${path}'`
  const child = Bun.spawn(['sh', '-c', words], { cwd: join(MIGRATIONS, '..'), env: { ...process.env, DATABASE_URL: url } })
  expect([await child.exited, readFileSync(path, 'utf8')]).toEqual([0, 'before\nAll migrations are applied.\n'])
})

test('if a migration of the second folder fails, roster migrate reports the error, and the migrations that it has applied', async () => {
  const databaseUrl = await createDatabase('empty')
  const broken = '1001_broken.sql'
  writeFileSync(join(folder.path, broken), 'create tabel broken ()')
  const environment = { DATABASE_URL: databaseUrl, MIGRATIONS_DIR: folder.path }
  const error = `the database cannot be used: ${broken} failed: syntax error at or near "tabel"`
  const done = FILES.map((file) => `applied: ${file}\n`).join('')
  expect(await migrateWith(environment)).toEqual({ code: 1, output: `${done}roster: ${error}\n` })
  expect(await migrateWith(environment)).toEqual({ code: 1, output: `roster: ${error}\n` })
})

test('roster migrate --dry-run creates no embedded database, and says so', async () => {
  const dataDir = join(folder.path, 'data')
  const said = `roster: there is no database yet in ${dataDir}: the first start makes it\n`
  const { code, output } = await migrateWith({ DATA_DIR: dataDir }, '--dry-run')
  expect(code).toBe(0)
  expect(output).toContain(said)
  expect(output.replace(said, '')).toBe(FILES.map((file) => `to apply: ${file}\n`).join(''))
  expect(existsSync(dataDir)).toBe(false)
})

describe('roster migrate --grant', () => {
  const role = `granted_${process.pid}`
  let own: string
  beforeAll(async () => {
    own = await createDatabase()
    await admin.unsafe(`create role ${role} login password 'p'`)
  })
  afterAll(async () => {
    const owner = connect(own)
    await owner.unsafe(`drop owned by ${role}; drop role ${role}`)
    await owner.end()
  })
  const grant = (...words: string[]) => migrateWith({ DATABASE_URL: own }, '--grant', ...words)

  test('gives a role only the rights that a server needs, also when it is repeated', async () => {
    const { code, output } = await grant(role)
    expect([code, output.split('\n')[0]]).toEqual([0, 'All migrations are applied.'])
    expect(output).toContain(`grant select, insert, update, delete on company to ${role}\n`)
    expect(output).toContain(`grant select, delete on entity_change to ${role}\n`)
    expect(await grant(role)).toEqual({ code, output })
    const asRole = new URL(own)
    asRole.username = role
    asRole.password = 'p'
    const connection = connect(asRole.href)
    const lacking = await connection`
      select * from json_to_recordset(${JSON.stringify(neededRights(entities))}::text::json) as needed ("table" text, "rights" text)
      where exists (select from unnest(string_to_array("rights", ', ')) as one ("right") where not has_table_privilege("table", "right"))`
    const refused = await connection`truncate api_key`.catch(({ message }) => message)
    await connection.end()
    expect([lacking.count, refused]).toEqual([0, 'permission denied for table api_key'])
  })

  test('names the nearest role if the named one does not exist, and grants nothing', async () => {
    const { code, output } = await grant(role.replace('granted', 'grantd'))
    expect([code, output.split('\n')[1]]).toEqual([
      1,
      `roster: there is no role grantd_${process.pid} to grant to. Did you mean ${role}?`,
    ])
  })

  test('is refused together with --dry-run', async () => {
    expect((await grant(role, '--dry-run')).output).toContain('--dry-run grants nothing')
  })
})
