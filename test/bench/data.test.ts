import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { copyLine, copyRows } from '../../bench/data/copy.ts'
import { employee } from '../../bench/data/employee.ts'
import { readStructure } from '../../bench/data/indexes.ts'
import { load } from '../../bench/data/load.ts'
import { bytesOf, bytesWhenLoaded } from '../../bench/data/marker.ts'
import { Progress } from '../../bench/data/progress.ts'
import { restore } from '../../bench/data/restore.ts'
import { firstOfTwo, rowsFor, type Table, type Value } from '../../bench/data/table.ts'
import { tables } from '../../bench/data/tables.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { Random } from '../support/random.ts'

const rows = rowsFor(1_000)
const NAMES = tables.map(({ name }) => name)
const silent = new Progress({ write: () => undefined })

let url: string
let sql: postgres.Sql
beforeAll(async () => {
  url = await loaded()
  sql = connect(url)
})
afterAll(() => sql.end())

async function loaded(): Promise<string> {
  const database = await createDatabase()
  await load(database, rows, silent)
  return database
}

/** The rows of all tables, generated columns too, and the ids that come next. */
async function contents(database: postgres.Sql): Promise<unknown[]> {
  const sums = NAMES.map(async (name) => {
    const [sum] = await database.unsafe(`
      select count(*), md5(string_agg(t::text, chr(10) order by id)) as rows,
        (select last_value + is_called::int from ${name}_id_seq) as next
      from ${name} as t`)
    return { name, ...sum }
  })
  return Promise.all(sums)
}

async function one(text: string): Promise<number> {
  const [row] = await sql.unsafe(`select count(*)::int as found from ${text}`)
  return row?.found
}

describe('the rows', () => {
  test('are ten absences for two employees and one company, and at least 50', () => {
    expect(rowsFor(1_000_000)).toEqual({ absences: 1_000_000, employees: 200_000, companies: 100_000 })
    expect(rowsFor(1)).toEqual({ absences: 50, employees: 10, companies: 5 })
  })

  test('are the same after each load', async () => {
    const other = connect(await loaded())
    expect(await contents(other)).toEqual(await contents(sql))
    await other.end()
  })

  test('are as many as asked for, and the next ids come after them', async () => {
    expect(await contents(sql)).toMatchObject([
      { name: 'company', count: '100', next: '101' },
      { name: 'employee', count: '200', next: '201' },
      { name: 'absence', count: '1000', next: '1001' },
    ])
  })

  test('have copies of names that are not stale', async () => {
    expect(await one('employee e join company c on c.id = e.company_id and c.name_key = e.company_key')).toBe(200)
    expect(await one('absence a join employee e on e.id = a.employee_id and e.display_name_key = a.employee_key')).toBe(
      1000,
    )
    const led = await one('employee where manager_id is not null')
    expect(led).toBeGreaterThan(50)
    expect(await one('employee e join employee m on m.id = e.manager_id and m.display_name = e.manager')).toBe(led)
  })

  test('have two employees for each company of the second half, and uneven numbers for the others', async () => {
    for (const absences of [50, 70, 1_000, 20_010]) {
      const all = rowsFor(absences)
      const counts = Array<number>(all.companies).fill(0)
      const place = employee.columns.indexOf('company_id')
      for (let id = 1; id <= all.employees; id++) {
        const company = Number(employee.row(id, all)[place])
        counts[company - 1] = (counts[company - 1] as number) + 1
      }
      const [others, pairs] = [counts.slice(0, firstOfTwo(all) - 1), counts.slice(firstOfTwo(all) - 1)]
      expect([absences, new Set(pairs)]).toEqual([absences, new Set([2])])
      expect([Math.min(...counts), pairs.length - others.length]).toEqual([1, all.companies % 2])
      expect(Math.max(...others)).toBeGreaterThan(2)
    }
  })

  test('have managers of the same company, who are not their own', async () => {
    expect(await one('employee e join employee m on m.id = e.manager_id where m.company_id <> e.company_id')).toBe(0)
    expect(await one('employee where manager_id = id')).toBe(0)
    expect(await one('company c where not exists (select from employee where company_id = c.id)')).toBe(0)
  })

  test('have uneven statuses, ends after starts, and some without a value', async () => {
    const statuses = await sql`select status, count(*)::int as count from absence group by 1 order by 2 desc`
    expect(statuses.map(({ status }) => status)).toEqual(['Approved', 'Requested', 'Cancelled', 'Declined'])
    expect(await one('absence where "end" <= start')).toBe(0)
    for (const column of ['reason', '"end"', 'period_days', 'period_hours', 'period_prefered'])
      expect(await one(`absence where ${column} is null`)).toBeWithin(1, 500)
  })
})

test('Constraints and indexes are those of the migrations, and no check is left out', async () => {
  const plain = connect(await createDatabase())
  const constraints = (database: postgres.Sql) => database`
    select conrelid::regclass::text, conname, pg_get_constraintdef(oid) as definition, convalidated
    from pg_constraint where conrelid = any (${NAMES}::regclass[]) order by 1, 2`
  const indexes = (database: postgres.Sql) => database`
    select pg_get_indexdef(indexrelid) as definition, indisvalid, indisready
    from pg_index where indrelid = any (${NAMES}::regclass[]) order by 1`
  expect([...(await constraints(sql))]).toEqual([...(await constraints(plain))])
  expect([...(await indexes(sql))]).toEqual([...(await indexes(plain))])
  const { indexes: dropped, foreignKeys } = await readStructure(sql, NAMES)
  expect([dropped.length, foreignKeys.length]).toEqual([37, 3])
  await plain.end()
})

describe('restore', () => {
  test('undoes random writes', async () => {
    const before = await contents(sql)
    for (const seed of [1, 2, 3]) {
      await writeAtRandom(new Random(seed))
      expect(await contents(sql)).not.toEqual(before)
      expect(await restore(url, rows)).toBeGreaterThan(0)
      expect(await contents(sql)).toEqual(before)
      expect(await restore(url, rows)).toBe(0)
    }
  })

  test('gives employees the name of a company back that was renamed', async () => {
    const before = await contents(sql)
    const [renamed] = await sql`update company set name = 'Renamed' where id = ${firstOfTwo(rows)} returning id`
    expect(await one(`employee where company = 'Renamed' and company_id = ${renamed?.id}`)).toBe(2)
    expect(await restore(url, rows)).toBe(3)
    expect(await contents(sql)).toEqual(before)
  })

  test('gives back the room of many writes', async () => {
    for (let time = 0; time < 8; time++) await sql`update absence set status = 'X' || id, "end" = start`
    expect(await bytesOf(sql)).toBeGreaterThan(1.25 * (await bytesWhenLoaded(sql)))
    expect(await restore(url, rows)).toBe(1_000)
    expect(await bytesOf(sql)).toBeLessThanOrEqual(1.25 * (await bytesWhenLoaded(sql)))
  })

  test('takes back the ids of writes that failed', async () => {
    const before = await contents(sql)
    await sql`insert into absence (employee_id) values (1)`.catch(() => undefined)
    expect(await contents(sql)).not.toEqual(before)
    await restore(url, rows)
    expect(await contents(sql)).toEqual(before)
  })
})

async function writeAtRandom(random: Random) {
  const company = () => 1 + random.below(rows.companies)
  const absence = () => 1 + random.below(rows.absences)
  const writes: (() => Promise<unknown>)[] = [
    () => sql`insert into company (name, enabled) values (${`New ${random.below(9)}`}, true)`,
    () => sql`update company set name = ${`Renamed ${random.below(99)}`} where id = ${company()}`,
    () => sql`update company set enabled = not enabled where id = ${company()}`,
    () =>
      sql`update employee set known_as = ${`Known ${random.below(99)}`} where id = ${1 + random.below(rows.employees)}`,
    () => sql`update absence set status = 'Changed', reason = null where id = ${absence()}`,
    () => sql`update absence set period_days = period_days + 1 where id = ${absence()}`,
    () => sql`delete from absence where id = ${absence()}`,
    () => sql`
      insert into employee (last_name, company_id, company_key) select 'New', id, name_key from company where id = ${company()}`,
    () => sql`
      update absence a set employee_id = e.id, employee_key = e.display_name_key
      from (select * from employee order by id desc limit 1) as e where a.id = ${absence()}`,
  ]
  for (let count = 0; count < 60; count++) await random.pick(writes)()
}

describe('COPY', () => {
  const texts = [
    '\\',
    '\\N',
    '\\.',
    'a\tb',
    'a\nb',
    'a\r\nb',
    '',
    ' ',
    '"',
    "O'Brien",
    'Žižek',
    '😀',
    '\\t',
    'NULL',
    '\v',
  ]

  test('brings texts over as they are', async () => {
    const table: Table = {
      name: 'hostile',
      columns: ['id', 'text', 'amount', 'yes'],
      count: () => texts.length,
      row: (id) => [id, texts[id] ?? null, 1.5, true],
    }
    const found = await sql.begin(async (transaction) => {
      await transaction`create temp table hostile (id int, text text, amount numeric, yes boolean) on commit drop`
      await copyRows(transaction, 'hostile', { table, rows, ids: [...texts.keys(), texts.length] })
      return transaction`select text, amount, yes from hostile order by id`
    })
    expect(found.map(({ text }) => text)).toEqual([...texts, null])
    expect([found[0]?.amount, found[0]?.yes]).toEqual(['1.5', true])
  })

  test('writes no value as \\N', () => {
    expect(copyLine([1, null, 'a\tb', false])).toBe('1\t\\N\ta\\tb\tfalse\n')
  })

  for (const wrong of [1, 2_500, 5_000])
    test(`of 5,000 rows fails with PostgreSQL's error when row ${wrong} is wrong`, async () => {
      const row = (id: number): Value[] => [id, id === wrong ? 'none' : 1]
      const table: Table = { name: 'strict', columns: ['id', 'amount'], count: () => 5_000, row }
      const copying = sql.begin(async (transaction) => {
        await transaction`create temp table strict (id int, amount int) on commit drop`
        await copyRows(transaction, 'strict', {
          table,
          rows,
          ids: Array.from({ length: 5_000 }, (_, index) => index + 1),
        })
      })
      await expect(copying).rejects.toThrow('invalid input syntax for type integer: "none"')
      expect(await one('absence')).toBe(1_000)
    })
})

describe('progress', () => {
  function shown(isTTY: boolean): string[] {
    const written: string[] = []
    const progress = new Progress({ isTTY, write: (text) => written.push(text.replace('\r\u001b[K', '<clear>')) })
    progress.begin('absence')
    progress.show(250, 1_000, 'rows')
    progress.show(300, 1_000, 'rows')
    progress.end(1_000, 'rows')
    return written
  }

  test('is one line that is rewritten on a terminal', () => {
    const [first, last, ...more] = shown(true)
    expect(first).toMatch(/^<clear>absence +█{4}░{12} +25 % {2}250 rows {2}[\d,]+\/s {2}\d+\.\d s$/)
    expect(last).toMatch(/^<clear>absence +█{16} +100 % {2}1,000 rows .*\n$/)
    expect(more).toEqual([])
  })

  test('is whole lines elsewhere', () => {
    expect(shown(false).map((line) => line.replace(/ {2}[\d,]+\/s.*/, ''))).toEqual([
      'absence            ████████████████ 100 %  1,000 rows\n',
    ])
  })
})
