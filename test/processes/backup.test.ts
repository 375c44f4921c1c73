import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { outputOf } from '../cli/roster.ts'
import { copyCluster } from '../support/cluster.ts'
import { type PlainPostgres, startPlainPostgres } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { postgresTool, postgresWithTools } from '../support/postgresTools.ts'
import { freePort, leaveOut, type RunningProgram, temporaryFolder } from '../support/process.ts'
import { askAt, headersOf, keyIn } from '../support/requests.ts'
import type { Json } from '../support/server.ts'
import { ServerProcesses } from '../support/serverProcesses.ts'

// Backups as in docs/operations/databases.md: a dump while a server writes, and what servers and clients find after a restore.

const LIMIT = 100_000
const folder = temporaryFolder()
const port = freePort()
const dump = join(folder.path, 'roster.dump')
/** A server runs on after the test that starts it, since backups are made while it runs. */
const processes = new ServerProcesses()
let postgres: PlainPostgres
let server: RunningProgram
let url: string
let client: string

afterAll(async () => {
  await processes.end()
  for (const data of [folder.path, join(folder.path, 'data')])
    rmSync(memoryFolderOf(data, port), { recursive: true, force: true })
})

const roleUrl = (database: string) =>
  Object.assign(new URL(postgres.url), { username: 'roster_app', password: 'app', pathname: `/${database}` }).href

async function start(settings: Record<string, string>) {
  ;({ server, url } = await processes.start({ PORT: String(port), WORKERS: '1', DATABASE_POOL: '3', ...settings }))
}

const serveOver = (database: string) =>
  start({
    ...{ DATABASE_URL: roleUrl(database), DATA_DIR: folder.path, HOOKS_ALLOW: '127.0.0.1' },
    ...{ RATE_LIMITS: `${LIMIT}/12h`, RATE_LIMITS_ANONYMOUS: `${LIMIT}/12h`, RATE_LIMIT_CLIENTS: '4' },
  })

const serveEmbedded = (data: string, more: Record<string, string> = {}) =>
  start({ DATA_DIR: data, DEMO_DATA: '0', BOOTSTRAP_API_KEY: '', ...more })

const stop = async () => expect(await server.stop()).toBe(0)

const commandOver = (database: string, ...words: string[]) =>
  outputOf({ DATABASE_URL: roleUrl(database), DATA_DIR: folder.path, HOOKS_ALLOW: '127.0.0.1' }, ...words)

const ask = (path: string, method = 'GET', body?: object) =>
  askAt(path.startsWith('http') ? path : url + path, method, body, headersOf(client))
const create = (path: string, row: object) => ask(path, 'POST', row)

const LISTS = [
  ...['/Companies?sort=-Name&PageSize=5', '/Employees?Company=Company%203', '/Employees?sort=Manager,-DisplayName'],
  ...['/Absences?sort=-Start&Status=Approved', '/Absences?Employee=Ana%20Marsh', '/Absences?Period.Days=>1'],
]
const lists = () =>
  Promise.all(
    LISTS.map(async (path) => {
      const { status, headers, body } = await ask(path)
      return [path, status, headers.get('x-total-count'), body]
    }),
  )

const nextToken = async () => (await ask('/Changes?after=now')).body.next as string
const after = async (token: string) => {
  const { status, body } = await ask(`/Changes?after=${token}`)
  return status === 200 ? body.changes.length : `${status} ${body.Error.Code}`
}

test('a restored copy of DATA_DIR has all rows and the development key; after a start with CHANGES_DAYS=0, old tokens get 410', async () => {
  const data = join(folder.path, 'data')
  chmodSync(folder.path, 0o755) // PostgreSQL may run as the user `nobody`
  copyCluster(data)
  await serveEmbedded(data)
  client = readFileSync(join(data, 'development.key'), 'utf8').trim()
  await create('/Companies', { Name: 'Company 1' })
  const atCopy = await lists()
  const before = await nextToken()
  await stop()
  expect(Bun.spawnSync(['cp', '-a', data, `${data}.backup`]).exitCode).toBe(0)
  await serveEmbedded(data)
  await create('/Companies', { Name: 'written later' })
  const later = await nextToken()
  expect([await after(before), await after(later)]).toEqual([1, 0])
  await stop()

  rmSync(data, { recursive: true })
  expect(Bun.spawnSync(['cp', '-a', `${data}.backup`, data]).exitCode).toBe(0)
  await serveEmbedded(data, { CHANGES_DAYS: '0' })
  await stop()
  await serveEmbedded(data)
  expect(await lists()).toEqual(atCopy)
  expect([await after(before), await after(later)]).toEqual(['410 TokenExpired', '410 TokenExpired'])
  await stop()
})

if (postgresWithTools)
  describe('a dump', () => {
    let atDump: Json[]
    let tokens: { before: string; later: string }
    let nextPage: string

    beforeAll(async () => {
      postgres = await startPlainPostgres({ native: postgresWithTools as string })
      const sql = connect(postgres.url)
      await sql.unsafe("create role roster_app login password 'app'")
      await sql.unsafe('create database hr owner roster_app template template0')
      await sql.end()
      await serveOver('hr')
      client = keyIn(await commandOver('hr', 'keys', 'create', '--name', 'client', '--rights', '*:read,*:write'))
      const companies = Array.from({ length: 7 }, (_, at) => ({ Name: `Company ${at + 1}`, Enabled: at % 2 === 0 }))
      expect((await create('/Companies', companies)).status).toBe(201)
      const people = ['Ana', 'Bo', 'Cy', 'Di', 'Ed'].map((FirstName, at) => {
        const manager = at > 0 ? { ManagerId: 1 } : {}
        return { FirstName, LastName: 'Marsh', CompanyId: 3 - (at % 2), ...manager }
      })
      for (const person of people) expect((await create('/Employees', person)).status).toBe(201)
      const absences = people.map((_, index) => ({
        EmployeeId: index + 1,
        Status: index % 2 ? 'Requested' : 'Approved',
        Start: `2026-0${index + 1}-01T08:00:00Z`,
        Period: { Days: index + 0.5 },
      }))
      expect((await create('/Absences', absences)).status).toBe(201)
      await commandOver('hr', 'hooks', 'add', '--url', `http://127.0.0.1:${freePort()}/`, '--entity', '*')
    })
    afterAll(async () => {
      await processes.end()
      await postgres.stop()
    })

    test('a dump can be taken while a server writes', async () => {
      const before = await nextToken()
      await create('/Companies', { Name: 'Company 8' })
      atDump = await lists()
      nextPage = /<([^>]+)>; rel="next"/.exec((await ask('/Companies?PageSize=5')).headers.get('link') ?? '')?.[1] as string
      await postgresTool('pg_dump', '--format=custom', `--file=${dump}`, roleUrl('hr'))
      await ask('/Companies/3', 'PATCH', { Name: 'written later' })
      await create('/Companies', { Name: 'written later' })
      tokens = { before, later: await nextToken() }
      // Three employees have the name that was changed.
      expect([await after(tokens.before), await after(tokens.later)]).toEqual([6, 0])
      await commandOver('hr', 'keys', 'revoke', '--name', 'client')
      await stop()
    })

    test('a dump restored into a new database has the rows, keys and cursors; counts of limits continue, and tokens get 410', async () => {
      await postgresTool('psql', '--command=create database restored owner roster_app template template0', postgres.url)
      await postgresTool('pg_restore', '--exit-on-error', '--single-transaction', `--dbname=${roleUrl('restored')}`, dump)
      await serveOver('restored')
      // The key was revoked after the dump, so it is valid here.
      expect(await lists()).toEqual(atDump)
      expect((await ask(nextPage)).body.map(({ name }: Json) => name)).toEqual(['Company 6', 'Company 7', 'Company 8'])
      expect([await after(tokens.before), await after(tokens.later)]).toEqual(['410 TokenExpired', '410 TokenExpired'])
      expect(Number((await ask('/')).headers.get('x-ratelimit-remaining'))).toBeLessThan(LIMIT - 20)
      expect((await create('/Companies', { Name: 'Company 9' })).body.id).toBe(9)
      expect((await ask('/Companies/3', 'PATCH', { Name: 'Renamed' })).status).toBe(200)
      expect((await ask('/Employees/1')).body.company).toBe('Renamed')
      const token = await nextToken()
      await create('/Companies', { Name: 'Company 10' })
      expect(await after(token)).toBe(1)
      // Its position is among changes that are no longer kept.
      await server.waitFor(/a hook is parked: changes behind its place may be missing/)
      await stop()
    })

    test('a dump restored into its own database has the rows, and tokens get 410 after begin_changes()', async () => {
      const options = ['--clean', '--if-exists', '--exit-on-error', '--single-transaction']
      await postgresTool('pg_restore', ...options, `--dbname=${roleUrl('hr')}`, dump)
      await postgresTool('psql', '--command=select begin_changes()', roleUrl('hr'))
      await serveOver('hr')
      expect(await lists()).toEqual(atDump)
      expect([await after(tokens.before), await after(tokens.later)]).toEqual(['410 TokenExpired', '410 TokenExpired'])
      await stop()
    })
  })
else
  test('dumps are not tested, because PostgreSQL’s tools are missing', () =>
    leaveOut('CI_REQUIRES_POSTGRES_TOOLS', 'there is no PostgreSQL with pg_dump'))
