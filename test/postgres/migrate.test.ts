import { beforeEach, describe, expect, test } from 'bun:test'
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { isAway } from '../../src/execute/outcomes.ts'
import { BASELINE } from '../../src/postgres/baseline.ts'
import { migrate, readMigrations } from '../../src/postgres/migrate.ts'
import { connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'

let folder: string
let url: string
let sql: postgres.Sql

beforeEach(async () => {
  folder = temporaryFolder().path
  url = await createDatabase('empty')
  sql = connect(url)
  file('0001_first.sql', 'create table first (id int); insert into first values (1)')
  file('0002_second.sql', 'create table second (id int)')
})

const file = (name: string, text: string) => writeFileSync(join(folder, name), text)
const run = () => migrate(url, folder)
const tables = async () =>
  (await sql`select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`).map(
    ({ relname }) => relname,
  )

test('migrate applies every file once, in order', async () => {
  expect(await run()).toEqual(['0001_first.sql', '0002_second.sql'])
  expect(await run()).toEqual([])
  file('0003_third.sql', 'alter table first add name text')
  expect(await run()).toEqual(['0003_third.sql'])
  expect(await tables()).toEqual(['first', 'migration', 'second'])
  expect(Number((await sql`select * from first`).count)).toBe(1)
})

test('migrate may take longer than the role’s statement timeout', async () => {
  file('0003_long.sql', 'select pg_sleep(0.3)')
  expect(await migrate(`${url}?options=-c%20statement_timeout%3D100`, folder)).toHaveLength(3)
})

test('if several processes migrate at the same time, one applies the files and all succeed', async () => {
  const code = `
    const { migrate } = await import('${import.meta.dir}/../../src/postgres/migrate.ts')
    console.log((await migrate('${url}', '${folder}')).length)`
  const outputs = await Promise.all(
    [1, 2].map(async () => {
      const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe', stderr: 'pipe' })
      return [await child.exited, (await child.stdout.text()).trim(), await child.stderr.text()]
    }),
  )
  expect(outputs.sort()).toEqual([
    [0, '0', ''],
    [0, '2', ''],
  ])
})

describe('migrations that are refused', () => {
  test('migrate refuses an applied file that was edited', async () => {
    await run()
    appendFileSync(join(folder, '0001_first.sql'), '\n')
    file('0003_third.sql', 'create table third (id int)')
    await expect(run()).rejects.toThrow('0001_first.sql was edited after it had been applied')
    expect(await tables()).not.toContain('third')
  })

  test('migrate refuses a new file that comes before an applied one', async () => {
    rmSync(join(folder, '0001_first.sql'))
    await run()
    file('0001_first.sql', 'create table first (id int)')
    await expect(run()).rejects.toThrow('0001_first.sql comes before 0002_second.sql')
    expect(await tables()).toEqual(['migration', 'second'])
  })

  test('migrate names a file that fails, and also rolls back the files before it', async () => {
    file('0003_third.sql', 'create table third (id int); select 1 / 0')
    await expect(run()).rejects.toThrow('0003_third.sql failed: division by zero')
    expect(await tables()).toEqual([])
    file('0003_third.sql', 'create table third (id int)')
    expect(await run()).toHaveLength(3)
  })

  test('an error of a migration is not taken for an unreachable database', async () => {
    file('0003_third.sql', "do $$ begin raise 'full' using errcode = '53100'; end $$")
    const error = await run().catch((error) => error)
    expect([error.message, isAway(error)]).toEqual(['0003_third.sql failed: full', false])
  })

  test('migrate fails if the database cannot be reached', async () => {
    await expect(migrate(Object.assign(new URL(url), { port: '9' }).href, folder)).rejects.toThrow()
  })
})

test('migrate accepts files that a newer version has applied', async () => {
  await run()
  rmSync(join(folder, '0002_second.sql'))
  expect(await run()).toEqual([])
})

test('migrate ignores files that are no migrations, and refuses .sql files with a number but a wrong name', () => {
  for (const name of ['sample.sql', '0004_a.sql.orig', '0006_a.txt']) file(name, 'no SQL')
  expect(readMigrations(folder).map(({ file: name }) => name)).toEqual(['0001_first.sql', '0002_second.sql'])
  for (const name of ['003_short.sql', '0005-a.sql']) {
    file(name, 'no SQL')
    expect(() => readMigrations(folder)).toThrow(`${name} needs a name like 1002_add_notes.sql`)
    rmSync(join(folder, name))
  }
})

test('the checksum of a migration is the SHA-256 of its bytes, so it is the same on every machine', () => {
  file('0001_first.sql', 'abc')
  expect(readMigrations(folder)[0]?.checksum).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('the numbers of the files in sql/ begin with that of the baseline, and have no gap or repetition', () => {
  const files = readMigrations(MIGRATIONS).map(({ file: name }) => name)
  expect(files[0]).toBe(BASELINE)
  const numbers = files.map((name) => Number(name.slice(0, 4)))
  expect(numbers).toEqual(numbers.map((_, index) => index + 17))
})
