import { afterEach, expect, test } from 'bun:test'
import { readMigrations } from '../../src/postgres/migrate.ts'
import { asPlainRole, connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { endServers, serve } from '../support/serve.ts'

afterEach(endServers)

test('two servers that start at once on a new database both start; each migration is applied once', async () => {
  const DATABASE_URL = await asPlainRole(await createDatabase('empty'))
  const settings = { DATABASE_URL, WORKERS: '1', DATABASE_POOL: '2' }
  const servers = await Promise.all([serve(settings), serve(settings)])
  const [one, other] = servers

  const sql = connect(DATABASE_URL)
  const applied = await sql`select file, applied from migration where checksum <> '' order by file`
  expect(applied.map(({ file }) => file)).toEqual(readMigrations(MIGRATIONS).map(({ file }) => file))
  // In one transaction, so by one of the two.
  expect(new Set(applied.map(({ applied }) => String(applied))).size).toBe(1)
  expect((await sql`select from cursor_secret`).count).toBe(1)
  await sql.end()

  // What one writes, and where one ends a page, the other one knows.
  for (const number of [1, 2, 3, 4, 5, 6]) expect((await one.ask('POST', '/Companies', { Name: `${number}` })).status).toBe(201)
  const page = await one.ask('GET', '/Companies?PageSize=5')
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] as string
  const rest = await other.ask('GET', next.slice(one.url.length))
  expect([rest.status, rest.body.map(({ name }: { name: string }) => name)]).toEqual([200, ['6']])
  expect(await Promise.all(servers.map(({ server }) => server.stop()))).toEqual([0, 0])
  for (const { server } of servers) expect(server.output()).not.toMatch(/ (warn|error) /)
})
