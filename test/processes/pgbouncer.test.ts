import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Database } from '../../src/execute/database.ts'
import { readMigrations } from '../../src/postgres/migrate.ts'
import { outputOf } from '../cli/roster.ts'
import { untilServed } from '../support/cases.ts'
import { hasPgBouncer, type RunningPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { asPlainRole, connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { leaveOut, until } from '../support/process.ts'
import { headersOf, keyIn } from '../support/requests.ts'
import { heldRename } from '../support/rows.ts'
import type { ServerProcess } from '../support/serverProcesses.ts'
import { dataFolder, useProcess } from '../support/start.ts'

/** PgBouncer's connections to PostgreSQL: fewer than concurrent clients, and fewer than the workers' pools have. */
const POOL = 3
/** Statement timeout of the role: docs/operations/databases.md requires it for a pooler, which drops the server's own one. */
const ROLE_MS_MAX = 2_000

/** Makes one server behind a pooler for all tests of a block. `isDirect`: with an address past the pooler. */
function usePooled(makeDatabase: () => Promise<string>, isDirect = false) {
  let direct: string
  let pooler: RunningPgBouncer
  const served = useProcess(async () => {
    direct = await makeDatabase()
    pooler = await startPgBouncer(direct, POOL)
    const past = isDirect ? { DATABASE_DIRECT_URL: direct } : {}
    return { DATABASE_URL: pooler.url, ...past, DATABASE_PREPARE: 'false' }
  })
  afterAll(() => pooler?.stop())
  const ask: ServerProcess['ask'] = (...asked) => untilServed(() => served.ask(...asked))
  return { ask, output: () => served.server.output(), directUrl: () => direct, pooledUrl: () => pooler.url }
}

function pgBouncerTests() {
  const { ask, output, directUrl, pooledUrl } = usePooled(async () => asPlainRole(await createDatabase('empty')))

  test('a server migrates a new database through PgBouncer', async () => {
    const sql = connect(directUrl())
    const applied = await sql`select file from migration where checksum <> '' order by file`
    await sql.end()
    expect(applied.map(({ file }) => file)).toEqual(readMigrations(MIGRATIONS).map(({ file }) => file))
    expect((await ask('GET', '/readyz')).status).toBe(200)
  })

  test('through PgBouncer, many concurrent clients create, read, change, list and delete rows, and each write is done once', async () => {
    const { id: companyId } = (await ask('POST', '/Companies', { Name: 'Acme' })).body
    const numbers = Array.from({ length: 60 }, (_, index) => index)
    const created = await Promise.all(
      numbers.map((number) => ask('POST', '/Employees', { EmployeeNumber: `${number}`, CompanyId: companyId })),
    )
    expect(created.map(({ status }) => status)).toEqual(numbers.map(() => 201))
    const paths = created.map(({ body }) => `/Employees/${body.id}`)
    const changed = await Promise.all(paths.map((path, index) => ask('PATCH', path, { KnownAs: `k${index}` })))
    expect(changed.map(({ status, body }) => [status, body.knownAs])).toEqual(numbers.map((index) => [200, `k${index}`]))
    const read = await Promise.all(paths.map((path) => ask('GET', path)))
    expect(read.map(({ body }) => body.knownAs)).toEqual(numbers.map((index) => `k${index}`))

    // A rename changes the copies in all employees.
    expect((await ask('PATCH', `/Companies/${companyId}`, { Name: 'Renamed' })).status).toBe(200)
    const lists = await Promise.all(
      ['EmployeeNumber', '-KnownAs', 'Started', '-Id'].flatMap((sort) =>
        [1, 2, 3].map((page) => ask('GET', `/Employees?Company=Renamed&sort=${sort}&PageSize=20&Page=${page}`)),
      ),
    )
    expect(lists.map(({ status, body }) => [status, body.length])).toEqual(lists.map(() => [200, 20]))
    expect(new Set(lists.map(({ headers }) => headers.get('x-total-count')))).toEqual(new Set(['60']))

    expect((await ask('DELETE', `/Companies/${companyId}`)).status).toBe(409)
    const deleted = await Promise.all(paths.map((path) => ask('DELETE', path)))
    expect(new Set(deleted.map(({ status }) => status))).toEqual(new Set([204]))
    expect((await ask('GET', '/Employees')).headers.get('x-total-count')).toBe('0')
    expect((await ask('DELETE', `/Companies/${companyId}`)).status).toBe(204)
  })

  test('through PgBouncer, a write with an Idempotency-Key that is sent many times is done once', async () => {
    const keys = Array.from({ length: 30 }, (_, index) => `through a pooler ${index}`)
    const send = async (method: string, path: string, key: string, body?: object) => {
      const under = { 'Idempotency-Key': `"${method} ${key}"` }
      let answer = await ask(method, path, body, under)
      while (answer.status === 409 && answer.body.Error.Code === 'InProgress') answer = await ask(method, path, body, under)
      return answer
    }
    const create = (name: string) => send('POST', '/Companies', name, { Name: name })
    const first = await Promise.all(keys.flatMap((key) => [create(key), create(key), create(key)]))
    expect(new Set(first.map(({ status }) => status))).toEqual(new Set([201]))
    expect(first.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(30)
    const ids = first.filter((_, index) => index % 3 === 0).map(({ body }) => body.id)
    expect((await ask('GET', '/Companies')).headers.get('x-total-count')).toBe('30')

    const rename = (index: number) =>
      send('PATCH', `/Companies/${ids[index]}`, keys[index] as string, { Name: `renamed ${index}` })
    const renamed = await Promise.all(keys.flatMap((_, index) => [rename(index), rename(index)]))
    expect(new Set(renamed.map(({ status }) => status))).toEqual(new Set([200]))
    const remove = (index: number) => send('DELETE', `/Companies/${ids[index]}`, keys[index] as string)
    const removed = await Promise.all(keys.flatMap((_, index) => [remove(index), remove(index)]))
    expect(new Set(removed.map(({ status }) => status))).toEqual(new Set([204]))
    expect((await create(keys[0] as string)).body).toEqual(first[0]?.body)
    expect((await rename(0)).body.name).toBe('renamed 0')
    expect((await ask('GET', '/Companies')).headers.get('x-total-count')).toBe('0')
  })

  test('through PgBouncer, a statement with parameters is answered after one without parameters over the same connection', async () => {
    const database = new Database({ url: pooledUrl(), poolSize: 1, prepare: false })
    for (let round = 0; round < 20; round++) {
      const plain = database.read({ text: 'select 1::text', values: [] })
      const withValue = database.read({ text: 'select $1::text', values: ['a'] })
      expect(await Promise.all([plain, withValue])).toEqual([[['1']], [['a']]])
    }
    await database.end()
  })

  test('through PgBouncer, a key is created and revoked', async () => {
    const settings = { DATABASE_URL: pooledUrl(), DATABASE_PREPARE: 'false', DATA_DIR: dataFolder() }
    const key = headersOf(keyIn(await outputOf(settings, 'keys', 'create', '--name', 'a', '--rights', '*:read')))
    expect((await ask('GET', '/Companies', undefined, key)).status).toBe(200)
    await outputOf(settings, 'keys', 'revoke', '--name', 'a')
    await until(async () => (await ask('GET', '/Companies', undefined, key)).status === 401)
  })

  // On a busy machine a statement may have no time; then its request is sent again.
  test('through PgBouncer, no warning was logged, except that a statement had no time left', () =>
    expect(output()).not.toMatch(/ (warn(?! +ServiceUnavailable)|error) /))
}

/** `isDirect`: with an address past the pooler. */
function memoryTests(isDirect: boolean) {
  const { ask, output, directUrl } = usePooled(async () => {
    const url = await asPlainRole(await createDatabase('empty'))
    const sql = connect(url)
    await sql.unsafe(`alter role current_user set statement_timeout = ${ROLE_MS_MAX}`)
    await sql.end()
    return url
  }, isDirect)
  let sql: postgres.Sql
  beforeAll(() => {
    sql = connect(directUrl())
  })
  const totalOf = async (path: string) => (await ask('GET', path)).headers.get('x-total-count')

  /** True if a list is answered from memory, without the table. */
  const isKnown = (path: string, total: string) =>
    sql.begin(async (transaction) => {
      await transaction`lock table company in access exclusive mode`
      const answers = await Promise.race([totalOf(path), Bun.sleep(1_000)])
      return answers === total
    })

  /** Waits until both workers answer the list from memory. */
  async function untilKnown(path: string, total: string) {
    await until(async () => {
      await Promise.all(Array.from({ length: 16 }, () => ask('GET', path)))
      return (await isKnown(path, total)) && (await isKnown(path, total))
    })
  }

  test('through PgBouncer, lists from memory have each write of the server and of other programs', async () => {
    const { body: company } = await ask('POST', '/Companies', { Name: 'kept' })
    const { body: other } = await ask('POST', '/Companies', { Name: 'other' })
    await untilKnown('/Companies?Name=kept', '1')
    for (const body of [{ Name: 'renamed' }, { Enabled: true }, { Name: 'renamed again' }])
      expect((await ask('PATCH', `/Companies/${other.id}`, body)).status).toBe(200)
    expect((await ask('POST', '/Employees', { FirstName: 'x', CompanyId: company.id })).status).toBe(201)
    expect(await totalOf('/Companies?Name=renamed again')).toBe('1')
    await untilKnown('/Companies?Name=kept', '1')

    await sql`insert into company (name) values ('kept')`
    expect(await totalOf('/Companies?Name=kept')).toBe('2')
  })

  if (isDirect)
    test('through PgBouncer, a rename of many copies may take longer than the role’s statement timeout', async () => {
      const rename = (id: string) => ask('PATCH', `/Companies/${id}`, { Name: 'larger' })
      expect((await heldRename(sql, rename, () => Bun.sleep(ROLE_MS_MAX + 500))).status).toBe(200)
    })

  test('through PgBouncer, no error was logged', () => expect(output()).not.toMatch(/ error /))
}

if (hasPgBouncer) {
  describe('behind PgBouncer in transaction mode', pgBouncerTests)
  describe('memory behind PgBouncer in transaction mode', () => memoryTests(false))
  describe('memory behind PgBouncer in transaction mode, with an address past it', () => memoryTests(true))
} else
  test('a server behind PgBouncer is not tested, because pgbouncer is missing', () =>
    leaveOut('CI_REQUIRES_PGBOUNCER', 'there is no pgbouncer: apt-get install pgbouncer'))
