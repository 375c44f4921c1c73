import { beforeAll, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { migrate, readMigrations } from '../../src/postgres/migrate.ts'
import { connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { temporaryFolder, until } from '../support/process.ts'
import { makeKey, startServer } from '../support/server.ts'

// A database of every version so far, with its rows, is brought to the newest one: for each file of sql/, the files up to it make
// the version, rows come in as plain SQL of the columns that it has, and the rest is applied.

const SECRET = 'a secret of before, which cursors that clients hold are signed with'
const key = makeKey({ name: 'of before', limits: '1000000/1s' })
const { id, name, hash, rights, limits } = key.record

/** What a version could have, by the number of the file that made the table, in the order in which rows refer to each other. */
const ROWS: Record<string, string> = {
  '0001': "insert into company (name, enabled) values ('Ångström', true), ('Blue Moon', false), (null, true), ('', false)",
  '0002': `
    insert into employee (first_name, last_name, started, company_id, company_key, manager_id, manager_key) values
      ('Ana', 'Marsh', '2020-02-29T12:00:00Z', 2, '=Blue Moon', null, null),
      ('Bo', null, null, 3, '', 1, '=Ana Marsh'), (null, '', null, 4, '=', 2, '=Bo'), ('Cy', 'Lee', null, null, null, 3, '')`,
  '0003': `
    insert into absence (status, employee_id, employee_key, start, "end", period_prefered, period_days) values
      ('Approved', 1, '=Ana Marsh', '2026-01-01', '2026-01-02', 'Hours', 0.12345678), ('Requested', 3, '', null, null, null, null),
      (null, null, null, '2026-01-01', null, 'Days', 9999999999)`,
  '0004': `
    insert into api_key (id, name, hash, rights, limits) values ('${id}', '${name}', '\\x${hash}', '${rights}', '${limits}');
    update api_key_version set version = 7`,
  '0005': `update cursor_secret set secret = '${SECRET}'`,
  '0009': `
    insert into idempotency_key (id, request, answer) values
      ('00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002', '{1,Blue Moon,f,731}')`,
  '0013': `
    insert into entity_change (position, entity, id, action, key, changed) values
      (pg_current_xact_id()::text::bigint, 'company', 2, 'u', '${id}', '{Name}')`,
  '0014': `
    insert into hook (id, url, secret, events, run, position, number)
      select '0123456789', 'https://receiver.example.com/', 'whsec_c2VjcmV0', '{*}', run, 0, 0 from change_feed`,
}

const LISTS = [
  ...['/Companies?sort=-Name', '/Companies?Name=Blue%20Moon', '/Employees?sort=Company,-DisplayName', '/Employees?Manager=Bo'],
  ...['/Employees?Company=', '/Absences?sort=Employee,-Period.Days', '/Absences?Start=>2025-12-31T00:00:00Z'],
]
const files = readMigrations(MIGRATIONS).map(({ file }) => file)
const folder = temporaryFolder()

/** The files up to this one, as the version that it was the last of had them. */
function folderOf(last: string): string {
  const path = join(folder.path, last)
  mkdirSync(path)
  for (const file of files) if (file <= last) copyFileSync(join(MIGRATIONS, file), join(path, file))
  return path
}

/** Makes a database of the version that `last` ended, with rows, and brings it here; of no version, where it is null. */
async function bring(last: string | null): Promise<string> {
  const url = await createDatabase('empty')
  const sql = connect(url)
  const isOld = (number: string) => last !== null && `${number}_` < last
  if (last !== null) await migrate(url, folderOf(last))
  for (const [number, text] of Object.entries(ROWS)) if (isOld(number)) await sql.unsafe(text)
  expect(await migrate(url, MIGRATIONS)).toEqual(files.filter((file) => last === null || file > last))
  for (const [number, text] of Object.entries(ROWS)) if (!isOld(number)) await sql.unsafe(text)
  return url
}

interface Line {
  readonly entity: string
  readonly id: number
  readonly action: string
  readonly changed: readonly string[]
}

/** What a server with the newest files says of it, and what it does. */
async function served(databaseUrl: string) {
  const server = await startServer({ databaseUrl })
  const send = (method: string, path: string, body?: unknown) => server.send(method, path, body, key.headers)
  // A server that has just begun may have no connection in time on a busy machine: that is no matter of versions.
  const list = async (path: string) => {
    let answer = await send('GET', path)
    await until(async () => answer.status !== 503 || (answer = await send('GET', path)).status !== 503)
    const { status, headers, text } = answer
    return [path, status, headers.get('x-total-count'), text]
  }
  // A line is shown once all transactions of the cluster that began before it have ended.
  const linesOf = async (path: string, count: number) => {
    let lines: Line[] = []
    await until(async () => (lines = (await send('GET', path)).body.changes ?? []).length >= count)
    return lines
  }
  const lists = await Promise.all(LISTS.map(list))
  const before = await linesOf('/Companies/2/Changes', 1)
  const token = (await send('GET', '/Changes?after=now')).body.next
  const renamed = await send('PATCH', '/Companies/2', { Name: 'Renamed' })
  const made = await send('POST', '/Absences', { EmployeeId: 2, Status: 'Approved' })
  const copies = await Promise.all(
    ['/Employees?Company=Renamed', '/Employees?Company=Blue%20Moon', '/Absences?Employee=Bo'].map(list),
  )
  const changes = await linesOf(`/Changes?after=${token}`, 2)
  const tables = await server.sql`
    select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`
  const empty: string[] = []
  for (const { relname } of tables)
    if ((await server.sql`select from ${server.sql(relname)} limit 1`).count === 0) empty.push(relname)
  const [kept] = await server.sql`
    select secret, version::int, (select count(*) from idempotency_key)::int as answers, (select count(*) from hook)::int as hooks
    from cursor_secret, api_key_version`
  await server.stop()
  const changed = ({ entity, id, action, changed }: Line) => [entity, id, action, changed]
  return {
    ...{ lists, copies, before: before.map(changed), changes: changes.map(changed), kept, empty },
    answers: [renamed.status, renamed.body, made.status, made.body],
  }
}

let newest: Awaited<ReturnType<typeof served>>
beforeAll(async () => {
  newest = await served(await bring(null))
})

test('a new database has what the rows say', () => {
  expect(newest.lists.map(([, status, total]) => [status, total])).toEqual([
    ...[
      [200, '4'],
      [200, '1'],
      [200, '4'],
      [200, '1'],
    ],
    ...[
      [200, '3'],
      [200, '3'],
      [200, '2'],
    ],
  ])
  expect(newest.copies.map(([, , total]) => total)).toEqual(['1', '0', '1'])
  expect(newest.before).toEqual([['Companies', 2, 'update', ['Name']]])
  expect(newest.changes).toEqual([
    ['Companies', 2, 'update', ['Name']],
    ['Employees', 1, 'update', ['Company']],
    ['Absences', 4, 'create', []],
  ])
  expect(newest.kept).toMatchObject({ secret: SECRET, version: 7, answers: 1, hooks: 1 })
  // Each table has rows above, so that a file that adds one adds its rows here.
  expect(newest.empty).toEqual([])
})

// On another version of PostgreSQL the first one is enough: all other files are applied to it.
for (const file of process.env.TEST_POSTGRES ? files.slice(0, 1) : files.slice(0, -1))
  test(`a database of the version that ended with ${file} has the same, and serves the same, with the newest files`, async () => {
    expect(await served(await bring(file))).toEqual(newest)
  })
