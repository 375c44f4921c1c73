import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { TableReader } from '../../src/columns/tableReader.ts'
import company from '../../src/entities/company.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'

const TIMEOUT_MS = 60_000
const TABLE = 'create table company (id bigint generated always as identity primary key, name text, enabled boolean)'

const own = useOwnPostgres()
let sql: postgres.Sql
let reader: TableReader
beforeAll(async () => {
  sql = connect(own.url)
  await sql.unsafe(TABLE)
}, TIMEOUT_MS)
afterAll(() => sql.end({ timeout: 0 }))
beforeEach(async () => {
  reader = new TableReader(own.url)
  await sql`truncate company restart identity`
})

/** The lines that a reading takes, and what it returns. */
async function reading<T>(read: (take: (bytes: Uint8Array, from: number, to: number) => void) => Promise<T>) {
  const lines: string[] = []
  const result = await read((bytes, from, to) => void lines.push(Buffer.from(bytes.subarray(from, to)).toString()))
  return { lines, result }
}

const all = () => reading((take) => reader.all(company, take))

test('all rows come by their ids, each as a line of COPY', async () => {
  await sql`insert into company (name, enabled) values ('b', true), (null, false), (E'a\\tb\\n\\\\c ä 😀', true), ('', false)`
  await sql`update company set enabled = true where id = 2`
  expect((await all()).lines).toEqual(['1\tb\tt', '2\t\\N\tt', '3\ta\\tb\\nc ä 😀\tt', '4\t\tf'].map(escaped))
})

/** What COPY makes of a backslash. */
const escaped = (line: string) => line.replace('\\nc', '\\n\\\\c')

test('a table of more bytes than a piece of the answer comes whole', async () => {
  await sql`insert into company (name, enabled) select repeat(md5(i::text), 1 + i % 200), true from generate_series(1, 5000) as i`
  const { lines } = await all()
  expect(lines.length).toBe(5_000)
  expect(lines.map((line) => Number(line.split('\t')[0]))).toEqual(Array.from({ length: 5_000 }, (_, at) => at + 1))
  expect(Math.max(...lines.map((line) => line.length))).toBe(6_400 + '4999\t\tt'.length)
})

test('other work has its turn between each thousand rows, of a whole table and of what has changed', async () => {
  await sql`insert into company (name) select md5(i::text) from generate_series(1, 30000) as i`
  let turn = 0
  const count = () => {
    turn++
    ticking = setImmediate(count)
  }
  let ticking = setImmediate(count)
  const taken = new Map<number, number>()
  const take = () => void taken.set(turn, 1 + (taken.get(turn) ?? 0))
  const moment = await reader.all(company, take)
  expect(Math.max(...taken.values())).toBeLessThanOrEqual(1_000)
  expect([...taken.values()].reduce((sum, rows) => sum + rows)).toBe(30_000)
  taken.clear()
  await sql`update company set name = 'other' where id > 20000`
  await reader.since(company, moment, take)
  clearImmediate(ticking)
  expect(Math.max(...taken.values())).toBeLessThanOrEqual(1_000)
  expect([...taken.values()].reduce((sum, rows) => sum + rows)).toBe(10_000)
})

test('an empty table has no line', async () => {
  expect((await all()).lines).toEqual([])
})

test('since a moment come the rows that it may not have seen as they are, and how many there are', async () => {
  await sql`insert into company (name) select 'old' from generate_series(1, 100)`
  const { result: moment } = await all()
  await sql`update company set name = 'changed' where id in (7, 9)`
  await sql`insert into company (name) values ('came')`
  await sql`delete from company where id = 50`
  const { lines, result } = await reading((take) => reader.since(company, moment, take))
  expect(lines.sort()).toEqual(['101\tcame\t\\N', '7\tchanged\t\\N', '9\tchanged\t\\N'])
  expect(result?.rows).toBe(100)
  expect(result?.moment.snapshot.next).toBeGreaterThan(moment.snapshot.next)
})

test('a write that was under way at a moment comes with what has changed since', async () => {
  await sql`insert into company (name) values ('old')`
  const other = await sql.reserve()
  await other`begin`
  await other`update company set name = 'late' where id = 1`
  const { lines, result: moment } = await all()
  await other`commit`
  other.release()
  expect(lines).toEqual(['1\told\t\\N'])
  expect((await reading((take) => reader.since(company, moment, take))).lines).toEqual(['1\tlate\t\\N'])
})

test('after a column has got another collation it is not known what has changed', async () => {
  await sql`insert into company (name) values ('old')`
  const { result: moment } = await all()
  expect((await reading((take) => reader.since(company, moment, take))).result).not.toBeNull()
  await sql`alter table company alter column name type text collate "und-x-icu"`
  expect((await reading((take) => reader.since(company, moment, take))).result).toBeNull()
})

test('a fault of what takes the rows is passed on, and the reader goes on', async () => {
  await sql`insert into company (name) select md5(i::text) from generate_series(1, 20000) as i`
  const full = () => {
    throw new RangeError('full')
  }
  expect(reader.all(company, full)).rejects.toThrow('full')
  expect((await all()).lines.length).toBe(20_000)
})

test('after its end nothing is read, and what is being read fails', async () => {
  await sql`insert into company (name) select md5(i::text) from generate_series(1, 20000) as i`
  const reading = reader.all(company, () => undefined)
  await reader.end()
  await expect(reading).rejects.toThrow()
  await expect(reader.all(company, () => undefined)).rejects.toThrow('the worker ends')
})

test('the size is what the planner knows; rows are unknown before that', async () => {
  await sql`drop table company`
  await sql.unsafe(TABLE)
  await sql`insert into company (name) select 'a' from generate_series(1, 1000)`
  expect((await reader.size(company)).rows).toBeNull()
  await sql`analyze company`
  expect((await reader.size(company)).rows).toBe(1_000)
  expect((await reader.size(company)).bytes).toBeGreaterThan(1_000)
})

test(
  'after a recovery nothing is said of what has changed: commits may have been undone',
  async () => {
    const { result: moment } = await all()
    const { result: known } = await reading((take) => reader.since(company, moment, take))
    expect(known).not.toBeNull()
    const [row] = await sql`select pg_backend_pid() as pid, pg_postmaster_start_time()::text as started`
    // PostgreSQL ends all backends where one was killed, and recovers by its log, without a new start.
    process.kill(row?.pid, 'SIGKILL')
    await until(async () => (await sql`select 1`.catch(() => [])).length === 1)
    const [after] = await sql`select pg_postmaster_start_time()::text as started`
    expect(after?.started).toBe(row?.started)
    expect((await reading((take) => reader.since(company, moment, take))).result).toBeNull()
  },
  TIMEOUT_MS,
)

test(
  'after a start nothing is said of what has changed',
  async () => {
    const { result: moment } = await all()
    await own.goAway()
    await own.comeBack()
    expect((await reading((take) => reader.since(company, moment, take))).result).toBeNull()
  },
  TIMEOUT_MS,
)
