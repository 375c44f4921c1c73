import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import postgres from 'postgres'
import { checkDriver, type DriverQuery, openCopy, queryOf, TEXT_TYPES, withoutHoles } from '../../src/execute/driver.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/process.ts'

// Internals of postgres.js on which src/execute/driver.ts relies: an update that changes them fails here.

const { url, sql: admin } = useDatabase()
let client: postgres.Sql
beforeEach(async () => {
  await client?.end({ timeout: 0 })
  client = postgres(url, { max: 1, fetch_types: false, prepare: true, types: TEXT_TYPES })
})
afterAll(() => client.end({ timeout: 0 }))

const send = (text: string, isExclusive = false, values: string[] = []) =>
  queryOf(client, { text, values }, { prepare: true, isExclusive })
const outcome = (query: DriverQuery) =>
  Promise.resolve(query).then(
    () => 'answered',
    (error) => error.code as string,
  )
/** Runs `during` while PostgreSQL runs a query of the client, which ends afterwards; resolves with the query's outcome. */
async function whileRunning(isExclusive: boolean, during: () => Promise<void>): Promise<string> {
  let running = Promise.resolve('')
  await admin.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(1)`
    running = outcome(send('select pg_advisory_xact_lock(1)::text', isExclusive))
    await until(async () => (await transaction`select from pg_locks where locktype = 'advisory' and not granted`).count > 0)
    await during()
  })
  return running
}

test('the driver has the members that checkDriver looks for', () => {
  expect(() => checkDriver(client)).not.toThrow()
  const other = { unsafe: () => ({ state: null, cancel() {} }) } as unknown as postgres.Sql
  expect(() => checkDriver(other)).toThrow('src/execute/driver.ts')
})

describe('queries', () => {
  test('a query has no backend before it is sent over a connection; afterwards it has the backend that runs it', async () => {
    const query = send('select pg_backend_pid()::text')
    expect(query.state).toBeNull()
    const [row] = await query
    expect(String(query.state?.pid)).toBe(row?.[0] as string)
  })

  test('a query that waits for the end of an exclusive query is not sent, and can be cancelled without reaching PostgreSQL', async () => {
    const first = await whileRunning(true, async () => {
      const second = send(`select 'never sent'`)
      const ended = outcome(second)
      await Bun.sleep(20)
      expect(second.state).toBeNull()
      second.cancel()
      expect(await ended).toBe('57014')
    })
    expect(first).toBe('answered')
  })

  test('a query is pipelined to a connection that runs another query, unless that query is exclusive', async () => {
    // A new connection does not pipeline queries after its first statement.
    await send('select 1::text')
    let second = Promise.resolve('')
    const first = await whileRunning(false, async () => {
      const query = send(`select 'pipelined'`)
      second = outcome(query)
      await until(() => query.state !== null)
    })
    expect([first, await second]).toEqual(['answered', 'answered'])
  })

  test('a query without parameters is prepared', async () => {
    await send('select 1::text')
    expect(await send('select count(*)::text from pg_prepared_statements')).toEqual([['2']])
  })

  test.each([
    ['boolean', 't'],
    ['date', '2026-02-28'],
    ['timestamptz', '2026-02-28 01:02:03.123456+00'],
    ['int8', '9007199254740993'],
    ['numeric', '0.10000000'],
  ])('a query has values of the type %s as text, both in its parameters and in its answer', async (type, value) => {
    await send("set timezone = 'UTC'")
    expect(await send(`select $1::${type}`, false, [value])).toEqual([[value]])
  })
})

test('a query that fails halfway through its rows leaves none of them in the answer to the next query', async () => {
  await expect(outcome(send('select 1 / (n - 900) from generate_series(1, 1000) as n'))).resolves.toBe('22012')
  expect(withoutHoles(await send('select n::text from generate_series(1, 3) as n'))).toEqual([['1'], ['2'], ['3']])
})

test('a COPY that fails before its first row rejects with the error of PostgreSQL, and the process goes on', async () => {
  const copying = client.begin((transaction) => openCopy(transaction, 'copy (select 1 / 0) to stdout'))
  await expect(copying).rejects.toThrow('division by zero')
})

test('a COPY yields the rows in the text format of PostgreSQL', async () => {
  await client.begin(async (transaction) => {
    const stream = await openCopy(transaction, 'copy (select n, null from generate_series(1, 2) as n) to stdout')
    const chunks: Buffer[] = []
    stream.on('data', (chunk) => chunks.push(chunk))
    await once(stream, 'end')
    stream._read(0)
    expect(Buffer.concat(chunks).toString()).toBe('1\t\\N\n2\t\\N\n')
  })
})
