import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Inclusion } from '../../src/changes/inclusion.ts'
import { changeLogWords } from '../../src/changes/layout.ts'
import { ChangeLogReader, renewLease } from '../../src/changes/log.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import { Database } from '../../src/execute/database.ts'
import { Positions } from '../../src/execute/positions.ts'
import type { Batchable } from '../../src/model/batch.ts'
import { type Position, readPositions } from '../../src/model/position.ts'
import { AfterReads } from '../../src/operations/afterReads.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import { privateRegion } from '../support/region.ts'

/** Counts what it reads. */
class CountingDatabase extends Database {
  statements = 0

  override read(statement: Batchable) {
    this.statements++
    return super.read(statement)
  }
}

/** What is known has to be asked for again after some time, which a busy machine may take between two reads. */
const AGAIN = { retry: 5 }
const NAME = 'roster positions'
let url: string
let sql: postgres.Sql
let database: CountingDatabase
let positions: Positions
beforeAll(async () => {
  url = await createDatabase()
  sql = connect(url)
  database = new CountingDatabase({ url, poolSize: 2, prepare: true, name: NAME })
})
beforeEach(() => {
  positions = new Positions(database)
  database.statements = 0
})
afterAll(async () => {
  await database.end(1_000)
  await sql.end()
})

const committed = async () => Number((await sql`select pg_current_xact_id()::text as xid`)[0]?.xid)
const many = async (count: number) => {
  const found: number[] = []
  while (found.length < count) found.push(await committed())
  return found
}
const readBack = (text: string | null) => readPositions(text ?? '')?.[0] as Position
const own = async (): Promise<Position> => readBack(await positions.of(String(await committed()), []))
const askedFor = async (work: () => Promise<unknown>) => {
  database.statements = 0
  await work()
  return database.statements
}
const markOf = async (reads: AfterReads, header: string) => {
  const reply = { status: 200, headers: {} as Record<string, string>, body: null }
  await reads.mark(reply, new Headers({ 'X-Roster-After': header }), String(await committed()))
  return readBack(reply.headers['X-Roster-Position'] ?? null)
}

/** Lists from memory, whose lease lasts, and is renewed up to now with each look. */
function livingInclusion() {
  const region = privateRegion(changeLogWords(1))
  class LastingReader extends ChangeLogReader {
    override get isLive() {
      renewLease(region)
      return true
    }
  }
  return new Inclusion(new ChangeSubscriber(new LastingReader(region), 1_000), region)
}

test(
  'however many transactions a read brings, one statement asks for them, and once',
  async () => {
    const position = await own()
    const asked = Array.from({ length: 8 }, async () => ({ ...position, transactions: await many(16) }))
    const all = await Promise.all(asked)
    const plain = new AfterReads(positions, null)
    expect(await askedFor(() => plain.row(all))).toBe(1)
    expect(await askedFor(() => plain.row(all))).toBe(0)
    const later = [{ ...position, transactions: await many(16) }]
    expect(await askedFor(async () => expect(await plain.list(later)).toBe('database'))).toBe(1)
    const reads = new AfterReads(positions, livingInclusion())
    const more = [{ ...position, transactions: await many(16) }, ...later]
    expect(await askedFor(async () => expect(await reads.list(more)).toBe('memory'))).toBe(1)
    expect(await askedFor(async () => expect(await reads.list(more)).toBe('memory'))).toBe(0)
  },
  AGAIN,
)

test(
  'where news of others stand still, a list is found by the database, within one wait for all',
  async () => {
    const region = privateRegion(changeLogWords(1))
    class SilentReader extends ChangeLogReader {
      override get isLive() {
        return true
      }
    }
    renewLease(region, monotonicMs() - 1_000)
    const silent = new Inclusion(new ChangeSubscriber(new SilentReader(region), 1_000), region)
    const position = await own()
    const asked = [{ ...position, transactions: await many(16) }]
    const reads = new AfterReads(positions, silent)
    expect(await askedFor(async () => expect(await reads.list(asked)).toBe('database'))).toBe(1)
  },
  AGAIN,
)

test('news that were asked for before the database was do not make a list from memory exact', async () => {
  const region = privateRegion(changeLogWords(1))
  class SilentReader extends ChangeLogReader {
    override get isLive() {
      return true
    }
  }
  class SlowDatabase extends CountingDatabase {
    override async read(statement: Batchable) {
      await Bun.sleep(5)
      const pulseMs = monotonicMs()
      await Bun.sleep(5)
      const rows = await super.read(statement)
      renewLease(region, pulseMs)
      return rows
    }
  }
  const position = await own()
  const slow = new SlowDatabase({ url, poolSize: 1, prepare: true })
  const inclusion = new Inclusion(new ChangeSubscriber(new SilentReader(region), 1_000), region)
  const reads = new AfterReads(new Positions(slow), inclusion)
  expect(await reads.list([position])).toBe('database')
  await slow.end(1_000)
})

test(
  'what was known is forgotten when connections end, as a failover ends them',
  async () => {
    const position = await own()
    const plain = new AfterReads(positions, null)
    await plain.row([position])
    expect(await askedFor(() => plain.row([position]))).toBe(0)
    const before = database.closed
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name like ${`${NAME}/%`}`
    await until(() => database.closed > before)
    expect(await askedFor(() => plain.row([position]))).toBeGreaterThan(0)
  },
  AGAIN,
)

test(
  'of another timeline nothing is known without the database; and what it lacks was lost',
  async () => {
    const position = await own()
    const plain = new AfterReads(positions, null)
    await plain.row([position])
    const earlier = { ...position, timeline: position.timeline - 1 }
    expect(await askedFor(() => plain.row([earlier]))).toBe(1)
    const lost = { ...earlier, transactions: [...position.transactions, 10 ** 14] }
    await expect(plain.row([lost])).rejects.toMatchObject({ code: 'InvalidHeader' })
    await expect(plain.list([position, lost])).rejects.toMatchObject({ code: 'InvalidHeader' })
  },
  AGAIN,
)

test('a write takes over what is not here, of its own database alone, and of the earliest timeline', async () => {
  const { database: name, timeline } = await own()
  const foreign = [...name]
    .reverse()
    .join('')
    .replace(/^../, (start) => (start === '00' ? '11' : '00'))
  const header = `${name}-1-${10 ** 14}, ${foreign}-1-${10 ** 13}`
  for (const inclusion of [null, livingInclusion()]) {
    const marked = await markOf(new AfterReads(positions, inclusion), header)
    expect(marked).toMatchObject({ database: name, timeline: Math.min(timeline, 1) })
    expect(marked.transactions.slice(1)).toEqual([10 ** 14])
  }
})

test('of more than a position has room for, those that the database lacks stay', async () => {
  const position = await own()
  const print = (transactions: readonly number[]) =>
    `${position.database}-${position.timeline}-${transactions.join('.')}`
  const lacking = 10 ** 14
  for (const inclusion of [null, livingInclusion()]) {
    const there = await many(31)
    const header = [print(there.slice(0, 16)), print([...there.slice(16), lacking])].join()
    const marked = await markOf(new AfterReads(new Positions(database), inclusion), header)
    expect(marked.transactions.slice(1)).toEqual([lacking])
    const few = await many(15)
    const kept = await markOf(new AfterReads(new Positions(database), inclusion), print(few))
    expect(kept.transactions.slice(1)).toEqual(few)
  }
})
