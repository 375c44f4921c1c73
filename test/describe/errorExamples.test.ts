import { describe, expect, test } from 'bun:test'
import { type ErrorCode, errorTable } from '../../src/errors.ts'
import type { ErrorEntry } from '../../src/errorTable/entry.ts'
import { bodyOfError } from '../../src/respond/error.ts'
import { endingNoWrites, endingWrites, inGreatNumber, quickly, slowly } from '../support/brokenTables.ts'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import { connect, createSampleDatabase } from '../support/postgres.ts'
import { quietLog } from '../support/quietLog.ts'
import { KEY, makeKey } from '../support/server.ts'
import { exchange } from '../support/socket.ts'
import { startServer, useServer } from '../support/start.ts'

const keys = {
  'read Companies': makeKey({ name: 'reader', rights: '', addresses: 'read Companies' }),
  limited: makeKey({ name: 'limited', limits: '1/1m' }),
}

/** Then a busy machine has had its chance to form very many groups within the time of a statement. */
const GROUPS_MS_MAX = 120_000
/** One of the answers is a failure, which would be logged. */
const silent = quietLog({ error() {} })

const server = useServer(async () => ({
  databaseUrl: await createSampleDatabase(),
  log: silent,
  keys: Object.values(keys).map(({ record }) => record),
  environment: { RATE_LIMIT_CLIENTS: '3', MEMORY_MB: '0' },
}))

/** What has to be so, and is no longer afterwards; it may send another request than the one that it gets. */
type Circumstances = (send: (request: Partial<ErrorEntry>) => Promise<string>) => Promise<string>

/** The answer of another server on the same database to the example, as if it were of this one. */
async function answerOfOther(code: ErrorCode, options: Parameters<typeof startServer>[0]): Promise<string> {
  const other = await startServer({ databaseUrl: server.databaseUrl, log: silent, ...options })
  const answer = await exchange(other.url, bytesOf(errorTable[code]))
  await other.stop()
  return answer.replaceAll(`:${new URL(other.url).port}/`, `:${new URL(server.url).port}/`)
}

/** Answers the request of the example between two statements. */
const between =
  (before: string, after: string): Circumstances =>
  async (send) => {
    await server.sql.unsafe(before)
    const answer = await send({})
    await server.sql.unsafe(after)
    return answer
  }

const circumstances: Partial<Record<ErrorCode, Circumstances>> = {
  TooManyRows: between(
    `insert into company (name) select 'Many' from generate_series(1, 1000)`,
    `delete from company where name = 'Many'`,
  ),
  ReadOnly() {
    const options = encodeURIComponent('-c default_transaction_read_only=on')
    return answerOfOther('ReadOnly', { databaseUrl: `${server.databaseUrl}?options=${options}` })
  },
  RequestTimeout: (send) => send({ headers: { 'Content-Length': '1000' } }),
  Conflict: between('create unique index unique_names on company (name)', 'drop index unique_names'),
  async AlreadyExists() {
    await server.sql`alter table company add constraint company_name_unique unique (name)`
    const answer = await answerOfOther('AlreadyExists', { entitiesDir: folder.path })
    await server.sql`alter table company drop constraint company_name_unique`
    return answer
  },
  async InProgress(send) {
    let [answer, locked]: [string, Promise<unknown>] = ['', Promise.resolve()]
    await server.sql.begin(async (transaction) => {
      await transaction`lock table company in share mode`
      const answers = [send({}), send({})]
      answer = await Promise.race(answers)
      locked = Promise.all(answers)
    })
    await locked
    await server.sql`truncate idempotency_key`
    return answer
  },
  async IdempotencyMismatch(send) {
    expect(await send({ body: '{"Name": "Red Sun"}' })).toStartWith('HTTP/1.1 201')
    return send({})
  },
  PayloadTooLarge: (send) => send({}),
  UriTooLong: (send) => send({ request: `${errorTable.UriTooLong.request}${',Name'.repeat(700)}` }),
  async RateLimitExceeded(send) {
    const headers = { Authorization: keys.limited.headers.authorization }
    expect(await send({ headers })).toStartWith('HTTP/1.1 200')
    return send({ headers })
  },
  InternalError: between(
    `create function fail() returns trigger language plpgsql as $$
       begin raise exception 'ours' using errcode = '22012'; end $$;
     create trigger fail before insert on company execute function fail()`,
    'drop function fail cascade',
  ),
  async ServiceUnavailable(send) {
    const url = new URL(server.databaseUrl)
    const name = url.pathname.slice(1)
    url.pathname = '/postgres'
    const admin = connect(url.href)
    await admin.unsafe(`alter database ${name} allow_connections false`)
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
    const answer = await send({})
    await admin.unsafe(`alter database ${name} allow_connections true`)
    return answer
  },
  OutcomeUnknown: between(endingWrites('company'), endingNoWrites('company')),
  async TooManyGroups(send) {
    await server.sql.unsafe(inGreatNumber('absence'))
    let answer = await send({})
    const endMs = performance.now() + GROUPS_MS_MAX
    // A busy machine may take longer than a statement may.
    while (answer.startsWith('HTTP/1.1 503') && performance.now() < endMs) answer = await send({})
    await server.sql.unsafe(quickly('absence'))
    return answer
  },
  TooCostly: between(slowly('absence'), quickly('absence')),
}

const folder = declaredCompanies()

/** As it stands: fetch would mend the host, the length and the target. */
function bytesOf({ request, headers, body = '', rights }: ErrorEntry): string {
  const all: Record<string, string> = { Host: new URL(server.url).host, Connection: 'close' }
  if (rights !== null)
    all.Authorization = rights === undefined ? `ApiKey ${KEY}` : keys[rights as keyof typeof keys].headers.authorization
  if (body !== '') Object.assign(all, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  const lines = Object.entries({ ...all, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${request} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

describe('the documented example of', () => {
  test.each(Object.keys(errorTable) as ErrorCode[])('%s is what the server answers', async (code) => {
    const example = errorTable[code]
    const send = (changes: Partial<ErrorEntry>) => exchange(server.url, bytesOf({ ...example, ...changes }))
    const arrange = circumstances[code]
    const answer = arrange ? await arrange(send) : await send({})
    expect(answer).toStartWith(`HTTP/1.1 ${errorTable[code].status} `)
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
    const masked = body.replace(/retry after \d+ s/, 'retry after 60 s').replace(/"\w{4}-\d+\\"/, '"1kzp-4711\\"')
    expect(JSON.parse(masked)).toEqual(bodyOfError(code, example.answer, server.url))
  })
})

test('an error page describes the circumstances of its example if the request by itself does not cause the error', () => {
  const said = Object.entries(errorTable).flatMap(([code, { when }]) => (when === undefined ? [] : [code]))
  expect(said.sort()).toEqual(Object.keys(circumstances).sort())
})
