import { afterEach, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { readMigrations } from '../../src/postgres/migrate.ts'
import { asPlainRole, connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const folders: ReturnType<typeof temporaryFolder>[] = []
afterEach(async () => {
  await endPrograms()
  for (const { path, remove } of folders.splice(0)) {
    rmSync(memoryFolderOf(path, 0), { recursive: true, force: true })
    remove()
  }
})

test('two servers that start at once on a new database both start; each migration is applied once', async () => {
  const DATABASE_URL = await asPlainRole(await createDatabase('empty'))
  const settings = { DATABASE_URL, WORKERS: '1', DATABASE_POOL: '2', RATE_LIMIT_CLIENTS: '2', BOOTSTRAP_API_KEY: KEY }
  const servers = [0, 1].map(() => {
    const folder = temporaryFolder()
    folders.push(folder)
    return runMain({ ...settings, DATA_DIR: folder.path, LOG_LEVEL: 'warn' })
  })
  const urls = await Promise.all(servers.map(async (server) => (await server.waitFor(/listens on (http:\S+?),/))[1]))

  const sql = connect(DATABASE_URL)
  const applied = await sql`select file, applied from migration where checksum <> '' order by file`
  expect(applied.map(({ file }) => file)).toEqual(readMigrations(MIGRATIONS).map(({ file }) => file))
  // In one transaction, so by one of the two.
  expect(new Set(applied.map(({ applied }) => String(applied))).size).toBe(1)
  expect((await sql`select from cursor_secret`).count).toBe(1)
  await sql.end()

  // What one writes, and where one ends a page, the other one knows.
  const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
  for (const number of [1, 2, 3, 4, 5, 6])
    expect((await fetch(`${urls[0]}/Companies`, { method: 'POST', headers, body: `{"Name":"${number}"}` })).status).toBe(201)
  const page = await fetch(`${urls[0]}/Companies?PageSize=5`, { headers })
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] as string
  const rest = await fetch(next.replace(urls[0] as string, urls[1] as string), { headers })
  expect([rest.status, ((await rest.json()) as { name: string }[]).map(({ name }) => name)]).toEqual([200, ['6']])
  for (const server of servers) server.kill('SIGTERM')
  expect(await Promise.all(servers.map(({ ended }) => ended))).toEqual([0, 0])
  for (const server of servers) expect(server.output()).not.toMatch(/ (warn|error) /)
})
