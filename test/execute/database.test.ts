import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { compileGet } from '../../src/compile/row.ts'
import company from '../../src/entities/company.ts'
import { Database } from '../../src/execute/database.ts'
import { param, type Sql, type Statement, sql, toStatement } from '../../src/model/sql.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/process.ts'

const { url, sql: admin } = useDatabase()
let database: Database

beforeEach(() => {
  database = new Database({ url, poolSize: 1, prepare: true })
})
afterEach(() => database.end())

const read = (piece: Sql) => database.read(toStatement(piece))
/** A write that was perhaps done: a retry could do it twice. */
const unknown = { code: 'OutcomeUnknown', target: 'Api', headers: {} }
const unavailable = { code: 'ServiceUnavailable', target: 'Api', headers: { 'Retry-After': '1' } }

/**
 * Runs `during` while PostgreSQL runs a statement of the pool under test that contains `HELD`; afterwards it goes on. Given the
 * backends that run it.
 */
async function whileHeld(ask: () => unknown, during: (backends: number[]) => Promise<void>): Promise<void> {
  await admin.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(1)`
    ask()
    let pids: number[] = []
    await until(async () => {
      const rows = await transaction`select pid from pg_locks where locktype = 'advisory' and not granted`
      pids = rows.map(({ pid }) => pid as number)
      return pids.length > 0
    })
    await during(pids)
  })
}
const HELD = sql`pg_advisory_xact_lock(1)::text`

async function terminate(pids: number[]): Promise<void> {
  await admin`select pg_terminate_backend(pid) from unnest(${pids}::int[]) as pid`
}

test('a text with a second statement after a semicolon is refused', async () => {
  await expect(database.write({ text: 'select 1; delete from company', values: [] })).rejects.toThrow()
})

test.each([
  ['jit', 'off'],
  ['TimeZone', 'UTC'],
  ['DateStyle', 'ISO, MDY'],
  ['statement_timeout', '3s'],
  ['application_name', 'roster'],
])('each connection has %s %s', async (name, value) => {
  expect(await database.read({ text: `show ${name}`, values: [] })).toEqual([[value]])
})

describe('deadlines', () => {
  test('D39: statements on a frozen connection get 503 at their deadline, and later statements get a new connection', async () => {
    const asked: Promise<unknown>[] = []
    await whileHeld(
      () => asked.push(read(sql`select ${HELD}`)),
      async ([pid]) => {
        process.kill(pid as number, 'SIGSTOP')
        try {
          for (let other = 0; other < 5; other++) asked.push(read(sql`select 'behind'::text`))
          for (const answer of await Promise.allSettled(asked))
            expect(answer).toMatchObject({ status: 'rejected', reason: unavailable })
          expect(await read(sql`select 'new'::text`)).toEqual([['new']])
        } finally {
          process.kill(pid as number, 'SIGCONT')
        }
      },
    )
  })

  test('D39: while 1,000 queries wait, the next one is refused immediately', async () => {
    const waiting = Array.from({ length: 1_000 }, () => read(sql`select 'x'::text`))
    await expect(read(sql`select 'too much'::text`)).rejects.toMatchObject(unavailable)
    expect(new Set((await Promise.all(waiting)).map(([row]) => row?.[0]))).toEqual(new Set(['x']))
    expect(await read(sql`select 'room'::text`)).toEqual([['room']])
  })

  test('concurrent reads by id each get the row of their id, or none if the id is missing', async () => {
    const made = await admin`insert into company (name) select 'c' || n from generate_series(1, 20) as n returning id::text`
    const ids = [...made.map(({ id }) => id as string).toReversed(), made[5]?.id as string, '999999']
    const rows = await Promise.all(ids.map((id) => database.read(compileGet(company, id))))
    expect(rows.map((found) => found.map(([id]) => id))).toEqual([...ids.slice(0, -1).map((id) => [id]), []])
  })

  test('if a batch of reads fails at a table lock, its reads are not sent one by one', async () => {
    const sent: string[] = []
    const onStatement = (text: string) => void sent.push(text)
    const waiting = new Database({ url, poolSize: 2, prepare: true, lockMsMax: 50, queryMsMax: 1_500, onStatement })
    await admin.begin(async (transaction) => {
      await transaction`lock table company in access exclusive mode`
      const reads = Array.from({ length: 128 }, (_, index) => waiting.read(compileGet(company, String(index + 1))))
      for (const { status } of await Promise.allSettled(reads)) expect(status).toBe('rejected')
    })
    await waiting.end()
    expect(sent.length).toBeGreaterThan(0)
    expect(sent.filter((text) => text === compileGet(company, '1').text)).toEqual([])
  })

  test('a batch of reads is not split into single statements after one of its reads got 503 at its deadline', async () => {
    const sent: string[] = []
    const onStatement = (text: string) => void sent.push(text)
    const own = new Database({ url, poolSize: 2, prepare: true, queryMsMax: 1_000, onStatement })
    await own.read(toStatement(sql`select 'connected'::text`))
    const asked = [own.read(compileGet(company, '1'))]
    Bun.sleepSync(900)
    for (const id of ['2', '3', '4']) asked.push(own.read(compileGet(company, id)))
    Bun.sleepSync(200)
    const [first] = await Promise.allSettled(asked)
    await own.end()
    expect(first).toMatchObject({ status: 'rejected', reason: unavailable })
    expect(sent).not.toContain(compileGet(company, '1').text)
  })

  test('D69: while 400 writes of one API key are in flight, its next write is refused immediately; writes of other keys succeed', async () => {
    // On a busy machine 400 writes may take longer than the deadline of each.
    const patient = new Database({ url, poolSize: 1, prepare: true, queryMsMax: 100_000 })
    const write = (keyId: string) => patient.write({ ...toStatement(sql`select 'x'::text`), keyId: keyId })
    const waiting = Array.from({ length: 400 }, () => write('a'))
    await expect(write('a')).rejects.toMatchObject(unavailable)
    expect(await write('b')).toEqual([['x']])
    await Promise.all(waiting)
    expect(await write('a')).toEqual([['x']])
    await patient.end()
  })
})

describe('a lost connection', () => {
  test('a read whose connection is killed is sent again', async () => {
    let answer: Promise<unknown> = Promise.resolve()
    await whileHeld(
      () => (answer = read(sql`select ${HELD} || 'reread'`)),
      (pids) => terminate(pids),
    )
    expect(await answer).toEqual([['reread']])
  })

  const pidOf = async () => Number((await read(sql`select pg_backend_pid()::text`))[0]?.[0])

  test('reads sent at the moment when their connection is killed are sent again', async () => {
    for (let round = 0; round < 3; round++) {
      await terminate([await pidOf()])
      const [answer] = await Promise.allSettled([read(sql`select 'again'::text`)])
      expect(answer).toMatchObject({ status: 'fulfilled', value: [['again']] })
    }
  })

  test('D44: a write whose connection is killed is OutcomeUnknown and not sent again', async () => {
    const insert = sql`
      with held as materialized (select ${HELD} as s)
      insert into company (name) select s || ${param('rewritten')} from held returning id`
    let answer: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([])
    await whileHeld(
      () => (answer = Promise.allSettled([database.write(toStatement(insert))])),
      (pids) => terminate(pids),
    )
    const [{ reason }] = (await answer) as [PromiseRejectedResult]
    expect(reason).toMatchObject(unknown)
    expect(reason.headers).toEqual({})
    expect(await read(sql`select count(*) from company where name = 'rewritten'`)).toEqual([['0']])
  })

  test('D39: a statement for an unreachable database fails with ServiceUnavailable', async () => {
    const away = new Database({ url: Object.assign(new URL(url), { port: '9' }).href, poolSize: 1, prepare: true })
    for (const run of [away.read, away.write])
      await expect(run.call(away, toStatement(sql`select 'x'::text`))).rejects.toMatchObject(unavailable)
    await away.end()
  })
})

describe('errors', () => {
  test('D51: a write to a read-only database fails with ReadOnly, or with ServiceUnavailable if earlier writes have succeeded', async () => {
    const write = (to: Database) => to.write(toStatement(sql`insert into company (name) values ('x') returning name`))
    const options = encodeURIComponent('-c default_transaction_read_only=on')
    const reading = new Database({ url: `${url}?options=${options}`, poolSize: 1, prepare: true })
    const allow = { Allow: 'GET, HEAD, OPTIONS' }
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(write(reading)).rejects.toMatchObject({ code: 'ReadOnly', headers: allow })
    expect(await reading.read(toStatement(sql`select 1::text`))).toEqual([['1']])
    await reading.end()

    expect(await write(database)).toEqual([['x']])
    // As it would be after a failover to a standby that is not promoted yet.
    await read(sql`select set_config('default_transaction_read_only', 'on', false)`)
    await expect(write(database)).rejects.toMatchObject(unavailable)
  })

  test('two writes that deadlock both succeed, since the one that is rolled back is sent again', async () => {
    const pool = new Database({ url, poolSize: 5, prepare: true })
    const [a, b] = (await pool.write(toStatement(sql`insert into company (name) values ('a'), ('b') returning id`))).flat()
    const rename = (first: string, second: string): Statement => ({
      text: `with one as materialized (update company set name = 'one' where id = $1 returning id),
        pause as materialized (select pg_sleep(0.1)::text as slept from one)
        select two.id from pause cross join lateral (select id from company where id = $2 for update) as two`,
      values: [first, second],
    })
    const statements = [rename(a as string, b as string), rename(b as string, a as string)]
    expect(await Promise.all(statements.map((statement) => pool.write(statement)))).toEqual([[[b as string]], [[a as string]]])
    await pool.end()
  })
})
