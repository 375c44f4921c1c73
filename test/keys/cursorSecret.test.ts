import { afterAll, expect, test } from 'bun:test'
import { readCursorSecret } from '../../src/keys/store.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { connect, createDatabase, MIGRATIONS } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder } from '../support/process.ts'
import { KEY } from '../support/server.ts'

const headers = { authorization: `ApiKey ${KEY}` }
const TIMEOUT_MS = 60_000

afterAll(endPrograms)

async function newDatabase(): Promise<string> {
  const url = await createDatabase('empty')
  await migrate(url, MIGRATIONS)
  return url
}

test('a database has one secret, and no other database has the same', async () => {
  const [one, other] = [await newDatabase(), await newDatabase()]
  const secret = await readCursorSecret(one)
  expect(secret).toMatch(/^[0-9a-f-]{72}$/)
  expect(secret.slice(0, 36)).not.toBe(secret.slice(36))
  expect(await readCursorSecret(one)).toBe(secret)
  expect(await readCursorSecret(other)).not.toBe(secret)
})

test('there is never another row, and where it was deleted nothing starts', async () => {
  const url = await newDatabase()
  const sql = connect(url)
  await expect(Promise.resolve(sql`insert into cursor_secret default values`)).rejects.toThrow('cursor_secret_pk')
  await sql`delete from cursor_secret`
  await sql.end()
  await expect(readCursorSecret(url)).rejects.toThrow('cursor_secret is empty')
})

test(
  'D32: a cursor is good for every worker of every server on the database, and after a restart',
  async () => {
    const databaseUrl = await newDatabase()
    const sql = connect(databaseUrl)
    await sql`insert into company (name) select 'Company ' || n from generate_series(1, 12) as n`
    await sql.end()
    const folders = [temporaryFolder(), temporaryFolder()]
    const start = async (DATA_DIR: string) => {
      const settings = { DATA_DIR, PORT: '0', DATABASE_URL: databaseUrl, DATABASE_POOL: '2', LOG_LEVEL: 'warn' }
      const server = runMain({ ...settings, WORKERS: '2', RATE_LIMIT_CLIENTS: '2', BOOTSTRAP_API_KEY: KEY })
      const [, url = ''] = await server.waitFor(/listens on (http:\S+?),/)
      return { server, url }
    }
    const first = await start(folders[0]?.path as string)
    const answer = await fetch(`${first.url}/Companies?sort=Name&PageSize=5`, { headers })
    const [, path = ''] = /<http:\/\/[^/]+(\/[^>]+&cursor=[^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '') ?? []
    /** Over new connections, so that each worker has some of them. */
    const statuses = async (url: string) => {
      const asks = Array.from({ length: 12 }, () => fetch(url + path, { headers, keepalive: false }))
      return new Set((await Promise.all(asks)).map(({ status }) => status))
    }
    expect(await statuses(first.url)).toEqual(new Set([200]))
    const second = await start(folders[1]?.path as string)
    expect(await statuses(second.url)).toEqual(new Set([200]))
    first.server.kill('SIGTERM')
    await first.server.ended
    const again = await start(folders[0]?.path as string)
    expect(await statuses(again.url)).toEqual(new Set([200]))
    for (const { server } of [second, again]) {
      server.kill('SIGTERM')
      await server.ended
    }
    for (const folder of folders) folder.remove()
  },
  TIMEOUT_MS,
)
