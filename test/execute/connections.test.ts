import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { Database } from '../../src/execute/database.ts'
import { PreparePolicy } from '../../src/execute/driver.ts'
import { LongWrites } from '../../src/execute/longWrites.ts'
import { param, sql, toStatement } from '../../src/model/sql.ts'
import { useDatabase } from '../support/database.ts'
import { connect, createDatabase } from '../support/postgres.ts'

const database = useDatabase().poolOf({ poolSize: 1 })

// Two rows are on their way when the third fails.
const cutShort = toStatement(sql`select (1 / (3 - n))::text from generate_series(1, 3) as n`)
const next = (value: string) => database.read(toStatement(sql`select ${param(value)}::text`))

test('a statement that fails halfway through its rows leaves none of them in the next answer', async () => {
  for (let round = 0; round < 5; round++) {
    await expect(database.read(cutShort)).rejects.toMatchObject({ code: '22012' })
    expect(await next('first')).toEqual([['first']])
    expect(await next('second')).toEqual([['second']])
  }
})

test('statements that fail halfway through their rows leave none of them in the answers to pipelined reads and writes', async () => {
  const failed = [database.read(cutShort), database.write(cutShort)]
  const insert = sql`insert into company (name) values (${param('a')}), (${param('b')}) returning name`
  const behind = [next('one'), next('two'), database.write(toStatement(insert)), next('three')]
  for (const answer of await Promise.allSettled(failed)) expect(answer.status).toBe('rejected')
  expect(await Promise.all(behind)).toEqual([[['one']], [['two']], [['a'], ['b']], [['three']]])
})

const POOL_SIZE = 4

for (const [when, waitMs] of [
  ['before the first pool has connected', 0],
  ['while every connection is busy', 60],
] as const)
  test(`a pool that is replaced ${when} closes its connections, and every query is answered`, async () => {
    const url = await createDatabase()
    const own = connect(url)
    const pool = new Database({ url, poolSize: POOL_SIZE, prepare: true })
    // More queries than connections, so that some wait in the queue of the driver.
    const answers = Array.from({ length: 3 * POOL_SIZE }, (_, index) =>
      pool.read({ text: `select pg_sleep(0.1)::text, ${index}`, values: [] }),
    )
    await Bun.sleep(waitMs)
    // A statement that is used three times is prepared, and the pool is replaced after 200 prepared statements.
    for (let shape = 0; shape < 200; shape++)
      for (let use = 0; use < 3; use++) answers.push(pool.read({ text: `select ${shape}`, values: [] }))
    expect(await Promise.all(answers)).toHaveLength(3 * POOL_SIZE + 600)

    const open = async () => {
      const [row] = await own`
        select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name = 'roster'`
      return row?.n
    }
    // Connections of the old pool end after a moment; if one never ends, the time limit of the test is exceeded.
    while ((await open()) > POOL_SIZE) await Bun.sleep(20)
    await pool.end()
    await own.end()
  })

const uses = (shapes: PreparePolicy, text: string, count: number) =>
  Array.from({ length: count }, () => shapes.shouldPrepare(text))

test('a statement is prepared from its third use on, but never if a pooler is used', () => {
  expect(uses(new PreparePolicy(true), 'a', 5)).toEqual([false, false, true, true, true])
  expect(uses(new PreparePolicy(false), 'a', 5)).toEqual([false, false, false, false, false])
})

test('counts of uses of statements are bounded: the count of the statement used longest ago is forgotten', () => {
  const shapes = new PreparePolicy(true)
  uses(shapes, 'old', 2)
  for (let index = 0; index < 2_000; index++) shapes.shouldPrepare(`other ${index}`)
  expect(shapes.shouldPrepare('old')).toBe(false)
  uses(shapes, 'recent', 2)
  for (let index = 0; index < 1_000; index++) shapes.shouldPrepare(`more ${index}`)
  expect(shapes.shouldPrepare('recent')).toBe(true)
})

describe('long writes', () => {
  const { url, sql: own } = useDatabase()
  let longWrites: LongWrites
  const allow = () => Promise.resolve()
  beforeEach(() => {
    longWrites = new LongWrites({ url, poolSize: 2, prepare: true, name: 'roster test' })
  })
  afterEach(() => longWrites.end())

  test('a long write may run for a minute', async () => {
    expect(await longWrites.write({ text: 'show statement_timeout', values: [] }, allow)).toEqual([['1min']])
  })

  test('long writes run one at a time in the order of their requests, also after one fails; reads do not wait for them', async () => {
    const order: string[] = []
    const run = (name: string, text = 'select $1') =>
      longWrites.write({ text, values: [name] }, allow).then(
        () => void order.push(name),
        () => void order.push(`${name} failed`),
      )
    const all = ['a', 'b', 'c'].map((name) => run(name, name === 'b' ? 'select no_such_column' : 'select pg_sleep(0.02), $1'))
    expect(await database.read({ text: 'select 1::text', values: [] })).toEqual([['1']])
    await Promise.all(all)
    expect(order).toEqual(['a', 'b failed', 'c'])
    const backends = await own`select application_name from pg_stat_activity where application_name like 'roster test/long/%'`
    expect(backends).toHaveLength(1)
  })

  test('a long write is not done if its caller loses the right while it waits', async () => {
    const refusal = new Error('the right is lost')
    const refused = longWrites.write({ text: 'select 1 / 0', values: [] }, () => Promise.reject(refusal))
    await expect(refused).rejects.toBe(refusal)
  })

  test('at most eight long writes wait or run; the ninth is refused immediately, and not done', async () => {
    const writes = Array.from({ length: 9 }, (_, index) =>
      longWrites.write({ text: 'select pg_sleep(0.01), $1', values: [`${index}`] }, allow),
    )
    const outcomes = await Promise.allSettled(writes)
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(8).fill('fulfilled'), 'rejected'])
    await expect(writes[8]).rejects.toMatchObject({ code: 'ServiceUnavailable', headers: { 'Retry-After': '10' } })
  })
})
