import { afterEach, expect, test } from 'bun:test'
import { outputOf } from '../cli/roster.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, postmasterOf, until, workersOf } from '../support/process.ts'
import { askAt, headersOf, keyIn } from '../support/requests.ts'
import { launchProcess, startProcess } from '../support/start.ts'

const BOOTSTRAP_API_KEY = 'a-bootstrap-key-of-a-test'

const postgres = useOwnPostgres()
const is200 = (status: number) => status === 200
afterEach(endPrograms)

const startWaiting = (WORKERS = '1') =>
  startProcess({
    DATA_DIR: `${postgres.folder}/server`,
    DATABASE_URL: postgres.url,
    BOOTSTRAP_API_KEY,
    LOG_LEVEL: 'info',
    WORKERS,
  })

test('a server that starts without its database answers 503 until the database is reachable; then requests and new keys work', async () => {
  await postgres.goAway()
  const { server, url } = await startWaiting('2')
  const ask = (path: string, key?: string) => fetch(url + path, { headers: key ? headersOf(key) : {}, keepalive: false })
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
  // Over new connections, so that each worker gets some.
  const are = async (wanted: number, path: string, key?: string) =>
    (await Promise.all(Array.from({ length: 8 }, () => status(path, key)))).every((is) => is === wanted)
  await until(() => are(200, '/readyz'))
  expect(server.output().match(/database unreachable: the server waits for it/g)).toHaveLength(1)
  expect(await status('/Companies?cursor=x', BOOTSTRAP_API_KEY)).toBe(400)
  const created = await askAt(`${url}/Companies`, 'POST', { Name: 'first' }, headersOf(BOOTSTRAP_API_KEY))
  expect(created.status).toBe(201)
  expect(await (await ask('/Companies', BOOTSTRAP_API_KEY)).json()).toHaveLength(1)

  const key = keyIn(await outputOf({ DATABASE_URL: postgres.url }, 'keys', 'create', '--name', 'a', '--rights', '*:read'))
  await until(() => are(200, '/Companies', key))
  expect(await are(401, '/Companies', 'a-key-that-only-the-table-could-know')).toBe(true)

  expect(await server.stop()).toBe(0)
})

test('each worker logs one line when the database becomes unreachable, and one when it is reachable again', async () => {
  const { server, url } = await startWaiting('2')
  const statuses = () =>
    Promise.all(
      Array.from({ length: 8 }, () =>
        fetch(`${url}/Companies/1`, { headers: headersOf(BOOTSTRAP_API_KEY), keepalive: false }).then(({ status }) => status),
      ),
    )
  const linesOf = (text: string) =>
    [...server.output().matchAll(new RegExp(`${text}.* pid=(\\d+)`, 'g'))].map(([, pid]) => Number(pid))
  const workers = workersOf(server.pid).toSorted()
  const [gone, back] = ['database unreachable: requests are answered 503', 'database reachable again']
  await until(async () => (await statuses()).every((status) => status !== 503))
  await postgres.goAway()
  await until(async () => (await statuses()).every((status) => status === 503) && linesOf(gone).length === 2)
  for (let asked = 1; asked <= 3; asked++) await statuses()
  await postgres.comeBack()
  await until(async () => (await statuses()).every((status) => status !== 503) && linesOf(back).length === 2)
  expect(await server.stop()).toBe(0)
  expect([linesOf(gone).toSorted(), linesOf(back).toSorted()]).toEqual([workers, workers])
  expect(server.output()).not.toContain('the keys cannot be read')
})

test('a worker that starts while PostgreSQL does not answer responds with 503, and with 200 as soon as PostgreSQL answers', async () => {
  const { server, url } = await startWaiting()
  const status = (path: string) => fetch(url + path, { headers: headersOf(BOOTSTRAP_API_KEY) }).then(({ status }) => status)
  const postmaster = postmasterOf(postgres.folder) as number
  // Its connections stay open, and new ones are neither refused nor answered.
  process.kill(postmaster, 'SIGSTOP')
  try {
    process.kill(workersOf(server.pid)[0] as number, 'SIGKILL')
    await until(() => status('/livez').then(is200, () => false))
    expect(await status('/Companies')).toBe(503)
  } finally {
    process.kill(postmaster, 'SIGCONT')
  }
  await until(() => status('/Companies').then(is200))
  expect(server.output()).not.toContain('a worker cannot start')
  expect(await server.stop()).toBe(0)
})

test('SIGTERM ends a server that waits for its database, with exit code 0', async () => {
  await postgres.goAway()
  const { server, url } = await startWaiting()
  expect((await fetch(`${url}/livez`)).status).toBe(200)
  expect(await server.stop()).toBe(0)
  expect(server.output()).toMatch(/info {2}stopping\n(?:.*\n)*.* info {2}stopped ms=\d+\n$/)
  await postgres.comeBack()
})

test.each(['require', 'verify-full'])(
  'a database without TLS stops the start immediately if its address has sslmode=%s',
  async (mode) => {
    const server = launchProcess({ DATABASE_URL: `${postgres.url}?sslmode=${mode}`, DATA_DIR: `${postgres.folder}/server` })
    expect(await server.ended).toBe(1)
    expect(server.output()).toBe(
      'roster: the database takes no TLS, which sslmode in DATABASE_URL asks for: turn it on there, or leave sslmode out\n',
    )
  },
)

test.each([
  ['to make tables', 'empty'],
  ['to read tables', undefined],
  ['to its schema', undefined],
] as const)('a role without the right %s stops the start, with advice', async (right, kind) => {
  const [url, role] = [new URL(await createDatabase(kind)), `lacking_${right.replaceAll(' ', '_')}`]
  const sql = connect(url.href)
  await sql.unsafe(`create role ${role} login password 'lacking'`)
  if (right === 'to its schema') await sql.unsafe('revoke usage on schema public from public')
  await sql.end()
  const DATABASE_URL = Object.assign(url, { username: role, password: 'lacking' }).href
  const server = launchProcess({ DATABASE_URL, DATA_DIR: `${postgres.folder}/server` })
  expect(await server.ended).toBe(1)
  expect(server.output()).toMatch(
    /^roster: the role of DATABASE_URL lacks a right: let the owner .* run roster migrate, and grant what roster doctor names/,
  )
})

test('a list has rows of a transaction prepared before a crash and committed after it, although row_change has lost them', async () => {
  const sql = connect(postgres.url)
  await sql`insert into company (name) values ('early')`
  const prepare = sql.begin(async (transaction) => {
    await transaction`update company set name = 'late' where name = 'early'`
    await transaction`prepare transaction 'late'`
  })
  await prepare.catch(() => undefined)
  expect(await sql`select from pg_prepared_xacts`).toHaveLength(1)
  await sql.end()
  await postgres.goAway()
  await postgres.comeBack()
  const { server, url } = await startWaiting()
  const total = async () =>
    (await askAt(`${url}/Companies?Name=late`, 'GET', undefined, headersOf(BOOTSTRAP_API_KEY))).headers.get('x-total-count')
  for (let asked = 0; asked < 20; asked++, await Bun.sleep(50)) expect(await total()).toBe('0')
  const after = connect(postgres.url)
  await after`commit prepared 'late'`
  await after.end()
  expect(await total()).toBe('1')
  expect(server.output()).toMatch(/a table cannot be read into memory .*a transaction that was prepared before a crash is open/)
  expect(await server.stop()).toBe(0)
})

test.each([
  ['alter table absence rename to gone', 'Absence needs a migration: relation "absence" does not exist'],
  ["update migration set checksum = 'another' where file like '0017%'", '0017_baseline.sql was edited after it had been applied'],
])('a waiting server ends if the database that becomes reachable is unusable, and logs why: %s', async (statement, reason) => {
  const sql = connect(postgres.url)
  await sql.unsafe(statement)
  await sql`checkpoint`
  await sql.end()
  await postgres.goAway()
  const { server } = await startWaiting()
  await postgres.comeBack()
  expect(await server.ended).toBe(1)
  expect(server.output()).toMatch(/the database cannot be used: the server stops reason=.*/)
  expect(server.output().replaceAll('\\"', '"')).toContain(reason)
  const mended = connect(postgres.url)
  if (reason.startsWith('Absence')) await mended`alter table gone rename to absence`
  await mended.end()
})
