import { afterEach, expect, test } from 'bun:test'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, run, runMain, until } from '../support/process.ts'

const LISTENS = /listens on (http:\S+?),/
const TIMEOUT_MS = 60_000
// Both workers are asked again and again with a key that is not known yet.
const RATE_LIMITS_ANONYMOUS = '1000000/1s'
const BOOTSTRAP_API_KEY = 'a-bootstrap-key-of-a-test'

const postgres = useOwnPostgres()
afterEach(endPrograms)

async function startWaiting(): Promise<{ server: RunningProgram; url: string }> {
  const settings = { DATA_DIR: `${postgres.folder}/server`, DATABASE_URL: postgres.url, BOOTSTRAP_API_KEY }
  const server = runMain({
    ...settings,
    WORKERS: '2',
    RATE_LIMIT_CLIENTS: '2',
    RATE_LIMITS_ANONYMOUS,
    LOG_LEVEL: 'info',
  })
  const [, url = ''] = await server.waitFor(LISTENS)
  return { server, url }
}

test(
  'a database that is away at the start: 503 until it comes, then everything works, keys too',
  async () => {
    await postgres.goAway()
    const { server, url } = await startWaiting()
    const ask = (path: string, key?: string, init: RequestInit = {}) =>
      fetch(url + path, { ...init, headers: key ? { authorization: `ApiKey ${key}` } : {}, keepalive: false })
    const status = async (path: string, key?: string) => (await ask(path, key)).status
    expect(server.output()).toMatch(/database unreachable: the server waits for it reason=.*/)
    expect(server.output()).toContain('The database is away: until it comes, requests are answered 503.\n')
    expect(server.output()).not.toContain('Try it')
    expect([await status('/livez'), await status('/readyz'), await status('/')]).toEqual([200, 503, 200])
    for (const key of [BOOTSTRAP_API_KEY, 'a-key-that-only-the-table-could-know']) {
      const paths = ['/Companies', '/Companies/1', '/Companies?cursor=x', '/Nothing']
      expect(await Promise.all(paths.map((path) => status(path, key)))).toEqual([503, 503, 503, 503])
    }
    expect([await status('/Companies'), await status('/Nothing')]).toEqual([401, 401])
    expect((await ask('/Companies', BOOTSTRAP_API_KEY)).headers.get('retry-after')).toBe('1')

    await postgres.comeBack()
    // Over new connections, so that either worker is asked.
    const are = async (wanted: number, path: string, key?: string) =>
      (await Promise.all(Array.from({ length: 8 }, () => status(path, key)))).every((is) => is === wanted)
    await until(() => are(200, '/readyz'))
    expect(server.output().match(/database unreachable: the server waits for it/g)).toHaveLength(1)
    expect(await status('/Companies?cursor=x', BOOTSTRAP_API_KEY)).toBe(400)
    const body = '{"Name":"first"}'
    const headers = { authorization: `ApiKey ${BOOTSTRAP_API_KEY}`, 'content-type': 'application/json' }
    expect((await fetch(`${url}/Companies`, { method: 'POST', headers, body })).status).toBe(201)
    expect(await (await ask('/Companies', BOOTSTRAP_API_KEY)).json()).toHaveLength(1)

    const words = ['--no-env-file', 'src/main.ts', 'keys', 'create', '--name', 'a', '--rights', '*:read']
    const command = run([process.execPath, ...words], { DATABASE_URL: postgres.url })
    expect(await command.ended).toBe(0)
    const key = command.output().trimEnd().split('\n').at(-1) as string
    await until(() => are(200, '/Companies', key))
    expect(await are(401, '/Companies', 'a-key-that-only-the-table-could-know')).toBe(true)

    server.kill('SIGTERM')
    expect(await server.ended).toBe(0)
  },
  TIMEOUT_MS,
)

test(
  'SIGTERM ends a server that waits',
  async () => {
    await postgres.goAway()
    const { server, url } = await startWaiting()
    expect((await fetch(`${url}/livez`)).status).toBe(200)
    server.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(server.output()).toMatch(/info {2}stopping\n(?:.*\n)*.* info {2}stopped ms=\d+\n$/)
    await postgres.comeBack()
  },
  TIMEOUT_MS,
)

test.each(['require', 'verify-full'])(
  'a database without TLS stops the start at once where sslmode=%s asks for it',
  async (mode) => {
    const server = run([process.execPath, '--no-env-file', 'src/main.ts'], {
      ...{ DATABASE_URL: `${postgres.url}?sslmode=${mode}`, DATA_DIR: `${postgres.folder}/server`, PORT: '0' },
    })
    expect(await server.ended).toBe(1)
    expect(server.output()).toBe(
      'roster: the database takes no TLS, which sslmode in DATABASE_URL asks for: turn it on there, or leave sslmode out\n',
    )
  },
  TIMEOUT_MS,
)

test.each([
  ['to make tables', 'empty'],
  ['to read them', undefined],
  ['to its schema', undefined],
] as const)(
  'a role without the right %s stops the start, which says who gives it',
  async (right, kind) => {
    const [url, role] = [new URL(await createDatabase(kind)), `lacking_${right.replaceAll(' ', '_')}`]
    const sql = connect(url.href)
    await sql.unsafe(`create role ${role} login password 'lacking'`)
    if (right === 'to its schema') await sql.unsafe('revoke usage on schema public from public')
    await sql.end()
    const DATABASE_URL = Object.assign(url, { username: role, password: 'lacking' }).href
    const DATA_DIR = `${postgres.folder}/server`
    const server = run([process.execPath, '--no-env-file', 'src/main.ts'], { DATABASE_URL, DATA_DIR, PORT: '0' })
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(
      /^roster: the role of DATABASE_URL lacks a right: let the owner .* run roster migrate, and grant what roster doctor names/,
    )
  },
  TIMEOUT_MS,
)

test(
  'a database that comes and cannot be used ends the server, with a line that says why',
  async () => {
    const sql = connect(postgres.url)
    await sql`update migration set checksum = 'another' where file like '0001%'`
    await sql`checkpoint`
    await sql.end()
    await postgres.goAway()
    const { server } = await startWaiting()
    await postgres.comeBack()
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(
      /the database cannot be used: the server stops reason=.*0001_\w+\.sql was edited after it had been applied/,
    )
  },
  TIMEOUT_MS,
)
