import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { outcomeOf } from '../support/cases.ts'
import { useDatabase } from '../support/database.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { quietLog } from '../support/quietLog.ts'
import { useServer } from '../support/start.ts'

/** With all rights; the server's own role has none but those it is given. */
const { url: databaseUrl } = useDatabase()
const name = new URL(databaseUrl).pathname.slice(1)
/** Over another database, which stays whole. */
const admin = connect(databaseUrl.replace(/\/\w+$/, '/postgres'))
/** The folder of the database, and the first file of the table of companies. */
let folder: string
let file: string
let company: number
const logged: string[] = []
let repair = () => {}

beforeAll(async () => {
  await admin.unsafe(`create role "${name}" login password 'x'; grant all on database "${name}" to "${name}"`)
  const own = connect(databaseUrl)
  await own.unsafe(
    `grant all on all tables in schema public to "${name}"; grant all on all sequences in schema public to "${name}"`,
  )
  const [row] = await own`
    insert into company (name) values ('Acme')
    returning id, pg_relation_filepath('company') as file, current_setting('data_directory') as data`
  company = Number(row?.id)
  file = join(row?.data, row?.file)
  folder = join(file, '..')
  await own.unsafe('checkpoint')
  await own.end()
})
const note = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`)
const server = useServer(() => ({
  databaseUrl: Object.assign(new URL(databaseUrl), { username: name, password: 'x' }).href,
  log: quietLog({ warn: note, error: note }),
}))
afterEach(async () => {
  repair()
  repair = () => {}
  await reconnect()
  await until(async () => (await everything()).every(({ status }) => status < 300))
})

/**
 * New backends open files anew, and read them where no page is in memory. A write over a connection whose end has not been
 * seen has an unknown outcome, so reads go first, and find these.
 */
async function reconnect() {
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
  const left = () => admin`select from pg_stat_activity where datname = ${name} and state = 'idle'`
  await until(async () => (await left()).count === 0)
  await Promise.all(Array.from({ length: 20 }, (_, id) => server.get(`/Companies/${id}`)))
}

async function everything() {
  const created = await server.post('/Companies', { Name: 'New' })
  return [
    created,
    await server.get(`/Companies/${company}`),
    await server.get('/Companies'),
    await server.patch(`/Companies/${company}`, { Enabled: true }),
    await server.put(`/Companies/${company}`, { Name: 'Acme' }),
    await server.remove(`/Companies/${created.body?.id ?? 999_999}`),
  ]
}

const UNAVAILABLE = '503 ServiceUnavailable Api'

async function requireUnavailable() {
  for (const answer of await everything()) {
    expect(outcomeOf(answer)).toBe(UNAVAILABLE)
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.text).not.toMatch(/ermission|relation|file|base\//)
  }
  expect(logged.join('\n')).not.toContain('a request failed')
}

const moveAway = (path: string) => {
  renameSync(path, `${path}.away`)
  return () => renameSync(`${path}.away`, path)
}

/** What an operator, or a disk, does to the files, with the function that puts all back; whether the server is ready then. */
const harms: [string, boolean, () => () => void][] = [
  [
    'whose table cannot be opened',
    true,
    () => {
      const files = readdirSync(folder).filter((one) => join(folder, one).startsWith(file))
      const change = (mode: number) => files.map((one) => chmodSync(join(folder, one), mode))
      change(0)
      return () => void change(0o600)
    },
  ],
  ['whose folder is missing', false, () => moveAway(folder)],
]

async function requireNotReady() {
  await until(async () => (await server.get('/readyz')).status !== 200)
  expect(outcomeOf(await server.get('/readyz'))).toBe(UNAVAILABLE)
}

describe('requests to a database', () => {
  test.each(harms)('%s are 503, not 500', async (_, isReady, harm) => {
    repair = harm()
    await reconnect()
    await requireUnavailable()
    if (!isReady) await requireNotReady()
  })

  test('that has revoked the rights of the server’s role are 503', async () => {
    const change = async (text: string) => {
      const own = connect(databaseUrl)
      await own.unsafe(text)
    }
    await change(`revoke all on all tables in schema public from "${name}"`)
    await requireUnavailable()
    await requireNotReady()
    await change(`grant all on all tables in schema public to "${name}"`)
  })
})
