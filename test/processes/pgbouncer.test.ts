import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import type postgres from 'postgres'
import { Database } from '../../src/execute/database.ts'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { readMigrations } from '../../src/postgres/migrate.ts'
import { hasPgBouncer, type RunningPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { asPlainRole, connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, run, runMain, temporaryFolder, until } from '../support/process.ts'
import { KEY } from '../support/server.ts'

function pgBouncerTests() {
  let folder: ReturnType<typeof temporaryFolder>
  let pooler: RunningPgBouncer
  let direct: string
  let server: RunningProgram
  let url: string
  beforeAll(async () => {
    folder = temporaryFolder()
    direct = await asPlainRole(await createDatabase('empty'))
    // Fewer than the clients at once, and than the connections of the workers.
    pooler = await startPgBouncer(direct, 3)
    const settings = { DATA_DIR: folder.path, DATABASE_URL: pooler.url, DATABASE_PREPARE: 'false', WORKERS: '2' }
    const limits = { RATE_LIMITS: '1000000/1s', RATE_LIMITS_ANONYMOUS: '1000000/1s', RATE_LIMIT_CLIENTS: '8' }
    server = runMain({ ...settings, ...limits, BOOTSTRAP_API_KEY: KEY, LOG_LEVEL: 'warn' })
    ;[, url = ''] = await server.waitFor(/listens on (http:\S+?),/)
  })
  afterAll(async () => {
    await endPrograms()
    await pooler?.stop()
    rmSync(memoryFolderOf(folder.path, 0), { recursive: true, force: true })
    folder.remove()
  })

  async function ask(method: string, path: string, body?: object, key = KEY, more: Record<string, string> = {}) {
    const headers = { authorization: `ApiKey ${key}`, 'content-type': 'application/json', ...more }
    const answer = await fetch(url + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }

  test('the server has migrated a new database through it', async () => {
    const sql = connect(direct)
    const applied = await sql`select file from migration where checksum <> '' order by file`
    await sql.end()
    expect(applied.map(({ file }) => file)).toEqual(readMigrations(MIGRATIONS).map(({ file }) => file))
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })

  test('rows are created, read, changed, listed and deleted by many clients at once, each write once', async () => {
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

  test('a write with an Idempotency-Key is done once, sent by many at once and again, though connections are shared', async () => {
    const keys = Array.from({ length: 30 }, (_, index) => `through a pooler ${index}`)
    const send = async (method: string, path: string, key: string, body?: object) => {
      const under = { 'Idempotency-Key': `"${method} ${key}"` }
      let answer = await ask(method, path, body, KEY, under)
      while (answer.status === 409 && answer.body.Error.Code === 'InProgress') answer = await ask(method, path, body, KEY, under)
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

  test('a statement with values behind one without, at the same time over one connection, is answered', async () => {
    const database = new Database({ url: pooler.url, poolSize: 1, prepare: false })
    for (let round = 0; round < 20; round++) {
      const plain = database.read({ text: 'select 1::text', values: [] })
      const withValue = database.read({ text: 'select $1::text', values: ['a'] })
      expect(await Promise.all([plain, withValue])).toEqual([[['1']], [['a']]])
    }
    await database.end(0)
  })

  test('a key is made and revoked through it', async () => {
    const roster = async (...words: string[]) => {
      const settings = { DATABASE_URL: pooler.url, DATABASE_PREPARE: 'false', DATA_DIR: folder.path }
      const command = run([process.execPath, '--no-env-file', 'src/main.ts', 'keys', ...words], settings)
      expect(await command.ended).toBe(0)
      return command.output().trimEnd().split('\n').at(-1) as string
    }
    const key = await roster('create', '--name', 'a', '--rights', '*:read')
    expect((await ask('GET', '/Companies', undefined, key)).status).toBe(200)
    await roster('revoke', '--name', 'a')
    await until(async () => (await ask('GET', '/Companies', undefined, key)).status === 401)
  })

  test('nothing of this was worth a warning', () => expect(server.output()).not.toMatch(/ (warn|error) /))
}

/** `isDirect`: with an address past the pooler. */
function memoryTests(isDirect: boolean) {
  let folder: ReturnType<typeof temporaryFolder>
  let pooler: RunningPgBouncer
  let server: RunningProgram
  let url: string
  let sql: postgres.Sql
  beforeAll(async () => {
    folder = temporaryFolder()
    const direct = await createDatabase('empty')
    pooler = await startPgBouncer(direct, 3)
    const past = isDirect ? { DATABASE_DIRECT_URL: direct } : {}
    const database = { DATABASE_URL: pooler.url, ...past, DATABASE_PREPARE: 'false' }
    const limits = { RATE_LIMITS: '1000000/1s', RATE_LIMITS_ANONYMOUS: '1000000/1s', RATE_LIMIT_CLIENTS: '8' }
    const settings = {
      DATA_DIR: folder.path,
      WORKERS: '2',
      BOOTSTRAP_API_KEY: KEY,
      LOG_LEVEL: 'warn',
    }
    server = runMain({ ...settings, ...database, ...limits })
    ;[, url = ''] = await server.waitFor(/listens on (http:\S+?),/)
    sql = connect(direct)
  })
  afterAll(async () => {
    await endPrograms()
    await sql?.end()
    await pooler?.stop()
    rmSync(memoryFolderOf(folder.path, 0), { recursive: true, force: true })
    folder.remove()
  })

  async function ask(method: string, path: string, body?: object, more: Record<string, string> = {}) {
    const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json', ...more }
    const answer = await fetch(url + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const totalOf = async (path: string) => (await ask('GET', path)).headers.get('x-total-count')

  /** Whether a list is known without the table. */
  const isKnown = (path: string, total: string) =>
    sql.begin(async (transaction) => {
      await transaction`lock table company in access exclusive mode`
      const answers = await Promise.race([totalOf(path), Bun.sleep(1_000)])
      return answers === total
    })

  /** In both workers, whichever answers. */
  async function untilKnown(path: string, total: string) {
    await until(async () => {
      await Promise.all(Array.from({ length: 16 }, () => ask('GET', path)))
      return (await isKnown(path, total)) && (await isKnown(path, total))
    })
  }

  test('lists come from memory, and show each write of the server and of others', async () => {
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

  test('writes of many at once, in batches and under keys, by the server and past it, leave totals that are true', async () => {
    const filters = ['', '?Enabled=true', '?Name=kept', '?Name=made', '?Enabled=true&Name=made']
    const write = async (number: number) => {
      if (number % 5 === 0) await sql`insert into company (name, enabled) values ('made', ${number % 2 === 0})`
      else {
        const once = number % 2 === 0 ? { 'Idempotency-Key': crypto.randomUUID() } : {}
        await ask('POST', '/Companies', { Name: 'made', Enabled: number % 3 === 0 }, once)
      }
      await ask('GET', `/Companies${filters[number % filters.length]}`)
    }
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 40 }, (_, number) => write(number)))
    for (const filter of filters) {
      const condition = filter.includes('made') ? sql`name = 'made'` : filter.includes('kept') ? sql`name = 'kept'` : sql`true`
      const enabled = filter.includes('Enabled') ? sql`enabled` : sql`true`
      const [row] = await sql`select count(*)::text as total from company where ${condition} and ${enabled}`
      expect(await totalOf(`/Companies${filter}`)).toBe(row?.total as string)
    }
  })

  test('a write whose connection is ended is in no list', async () => {
    await untilKnown('/Companies?Name=kept', '2')
    await ask('POST', '/Companies', { Name: 'begun' })
    const held = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = sql.begin(async (transaction) => {
      await transaction`select from company where name = 'begun' for update`
      locked.resolve()
      await held.promise
    })
    await locked.promise
    const { id } = (await ask('GET', '/Companies?Name=begun')).body[0]
    const lost = ask('PATCH', `/Companies/${id}`, { Name: 'lost' })
    const waiting = () => sql`select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%update%'`
    await until(async () => (await waiting()).length > 0)
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%update%'`
    expect((await lost).status).toBe(503)
    held.resolve()
    await holding
    expect(await totalOf('/Companies?Name=lost')).toBe('0')
  })

  test('nothing of this was worth an error', () => expect(server.output()).not.toMatch(/ error /))
}

if (hasPgBouncer) {
  describe('behind PgBouncer in transaction mode', pgBouncerTests)
  describe('memory behind PgBouncer in transaction mode', () => memoryTests(false))
  describe('memory behind PgBouncer in transaction mode, with an address past it', () => memoryTests(true))
} else
  test('behind PgBouncer in transaction mode', () => {
    if (process.env.CI_REQUIRES_PGBOUNCER) throw new Error('pgbouncer is not installed')
    console.warn('left out, since there is no pgbouncer: apt-get install pgbouncer')
  })
