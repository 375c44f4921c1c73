import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import type { Following } from '../../src/changes/follow.ts'
import { listenForChanges } from '../../src/changes/listener.ts'
import { readLine } from '../../src/columns/copyText.ts'
import { TableReader } from '../../src/columns/tableReader.ts'
import { connectTo } from '../../src/execute/connect.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Row } from '../../src/model/sql.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { loadEntities } from '../../src/registry.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'

/** A connection that does not answer in time, as on a busy machine, is replaced: then all is forgotten instead. */
const AGAIN = { timeout: 30_000, retry: 3 }
/** What no table has by itself: a name that looks like a row, and one that looks like two. */
const ODD = [
  '',
  ' ',
  'NULL',
  '-',
  '(1,x)',
  ')(,"',
  '"',
  '\\',
  '\\"',
  'a\nb\tc',
  "o'neil",
  'ﬁ日本😀',
  ',,,',
  'é'.normalize('NFD'),
]

let entities: Entity[]
let url: string
let sql: postgres.Sql
let ledger: Ledger
beforeAll(async () => {
  entities = await loadEntities()
})
beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  await makeTriggers()
  await sql`insert into company (name) values ('a'), ('b')`
  await sql`insert into employee (company_id, company_key, known_as) select id, name_key, name from company`
  await sql`insert into absence (employee_id, employee_key, period_days, start) select id, display_name_key, 1.5, '2024-02-29 23:59:59+05' from employee`
  ledger = new Ledger()
  await ledger.begin()
})
afterEach(async () => {
  await ledger.stop()
  await sql.end()
})

/**
 * Which the tables have by themselves where PostgreSQL's own log cannot be read. PostgreSQL counts what a session has made
 * at its end, and else seconds later: a listener that has begun by then begins once more.
 */
async function makeTriggers() {
  const session = connectTo(url, { max: 1 })
  const [row] =
    await session`select pg_backend_pid() as pid, notify_changes_of('company'), notify_changes_of('employee'),
    notify_changes_of('absence')`
  await session.end()
  await until(async () => (await sql`select from pg_stat_activity where pid = ${row?.pid}`).count === 0)
}

/** The rows of all tables as of what was notified: each change takes the row that was there, and puts another one. */
class Ledger {
  private readonly rows = new Map<string, string[]>()
  private readonly resets = new Set<string>()
  private readonly listening: Following
  private readonly reader = new TableReader(url)
  private begins = 0
  private readonly open = new Set<number>()
  private readonly ended = new Set<number>()
  /** Transactions of which a row came, or another end, after their end. */
  private readonly late: number[] = []
  private heardMs = 0
  heard = 0
  /** Rows that were not there when they were taken. */
  readonly missing: string[] = []

  constructor() {
    this.listening = listenForChanges(url, {
      machine: 'here',
      tables: entities.map(({ table }) => table),
      columns: new Map(entities.map(({ table, properties }) => [table, properties.map(({ column }) => column)])),
      copies: [
        { table: 'employee', source: 'company', column: 'name_key' },
        { table: 'employee', source: 'employee', column: 'display_name_key' },
        { table: 'absence', source: 'employee', column: 'display_name_key' },
      ],
      onStrangers: () => undefined,
      onWrite: (table) => void this.resets.add(table),
      onRow: (table, _, { transaction, before, after }) => {
        if (this.ended.has(transaction)) this.late.push(transaction)
        this.open.add(transaction)
        this.take(table, before, after)
      },
      onEndOf: (transaction) => this.end(transaction),
      onBegin: () => void this.begins++,
      onPulse: (untilMs) => {
        this.heardMs = untilMs
      },
      onEnd: () => undefined,
      attend: async () => undefined,
    })
  }

  async begin() {
    await until(() => this.begins > 0)
    for (const { table } of entities) this.rows.set(table, await this.read(table))
  }

  private take(table: string, before: Row | null, after: Row | null) {
    this.heard++
    const rows = this.rows.get(table)
    if (!rows) return
    if (before) {
      const place = rows.indexOf(JSON.stringify(before))
      if (place < 0) this.missing.push(JSON.stringify(before))
      else rows.splice(place, 1)
    }
    if (after) rows.push(JSON.stringify(after))
  }

  private end(transaction: number) {
    if (!this.open.delete(transaction)) this.late.push(transaction)
    this.ended.add(transaction)
  }

  /** Which tables were reset, once all is known that was written until now; the rows of all others are the database's. */
  async check(): Promise<string[]> {
    const nowMs = monotonicMs()
    await until(() => this.heardMs > nowMs)
    expect(this.begins).toBe(1)
    expect(this.missing).toEqual([])
    await until(() => this.open.size === 0)
    expect(this.late).toEqual([])
    for (const { table } of entities)
      if (!this.resets.has(table)) expect((this.rows.get(table) as string[]).sort()).toEqual(await this.read(table))
    return [...this.resets].sort()
  }

  /** As a worker reads a table. */
  private async read(table: string): Promise<string[]> {
    const rows: string[] = []
    await this.reader.all(entityOf(table), (bytes, from, to) => rows.push(JSON.stringify(readLine(bytes, from, to))))
    return rows.sort()
  }

  async stop() {
    await this.listening.stop()
    await this.reader.end()
  }
}

function entityOf(table: string): Entity {
  return entities.find((entity) => entity.table === table) as Entity
}

/** As psql sends it: one simple query, in a session with settings of its own. */
async function write(script: string) {
  const writer = connectTo(url, { max: 1, connection: { DateStyle: 'German', TimeZone: 'America/New_York' } })
  await writer.unsafe(script).simple()
  await writer.end()
}

describe('writes of others are notified row by row', () => {
  const scripts: [what: string, script: string, heard: number][] = [
    ['an insert', "insert into company (name, enabled) values ('c', true)", 1],
    ['an update', "update company set enabled = not enabled where name = 'a'", 1],
    ['a delete', 'delete from absence where id = 1', 1],
    [
      'an upsert, of new rows and old',
      "insert into company overriding system value values (1, 'x'), (9, 'y') on conflict (id) do update set name = 'z'",
      3,
    ],
    ['a rename, which reaches copies', "update company set name = 'c' where name = 'a'", 2],
    ['a rename of all, which reaches copies', 'update employee set known_as = known_as || 1', 4],
    [
      'a rename of one’s own manager: the row is changed twice by one statement',
      "update employee set manager_id = id, manager_key = display_name_key; update employee set known_as = 'm'",
      2 + 4 + 2,
    ],
    ['copy', "copy company (name) from program 'echo c; echo d'", 2],
    [
      'a common table expression',
      "with w as (insert into company (name) values ('c') returning id) update absence set type = 'x'",
      3,
    ],
    [
      'where ordinary triggers do not fire',
      "set session_replication_role = replica; delete from employee; insert into absence (status) values ('s')",
      3,
    ],
    [
      'A to B, B to A, A to B in one transaction',
      `begin;${"update company set name = 'B' where id = 1; update company set name = 'A' where id = 1;".repeat(20)}update company set name = 'B' where id = 1; commit`,
      2 * 41,
    ],
    [
      'what a savepoint leaves',
      `begin; update absence set type = 'A'; savepoint s; update absence set type = 'B'; rollback to s;
       update absence set type = 'B'; update absence set type = 'A'; update absence set type = 'B'; commit`,
      8,
    ],
    ['what was undone', 'begin; delete from absence; rollback', 0],
    ['an update of no row', "update company set name = 'c' where false", 0],
    ['a serializable transaction', "begin isolation level serializable; update absence set type = 'A'; commit", 2],
    ['a table with a column that was dropped', 'alter table absence drop column if exists unknown', 0],
  ]
  for (const [what, script, heard] of scripts)
    test(
      what,
      async () => {
        await write(script)
        expect(await ledger.check()).toEqual([])
        expect(ledger.heard).toBe(heard)
      },
      AGAIN,
    )

  test(
    'odd values',
    async () => {
      for (const text of ODD) {
        const [row] = await sql`insert into company (name) values (${text}) returning id`
        await sql`insert into employee (first_name, known_as, company_id, company_key)
          select ${text}, ${text}, id, name_key from company where id = ${row?.id}`
      }
      await write(`
        update absence set start = 'infinity', "end" = null;
        update absence set start = '-infinity', "end" = '294276-12-31 23:59:59+00';
        update absence set start = '4713-01-01 00:00:00+00 BC', "end" = '0001-01-01 BC';
        update absence set start = '12024-05-05 10:00:00+14', "end" = null, period_days = 'NaN', period_hours = -9999999999.99999999;
        update absence set start = '2024-03-31 02:30:00 Europe/Berlin', period_days = 0.00000001, period_hours = 0;
        set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kathmandu';
        insert into absence (start, "end", period_days) values ('01/12/2024', '01.12.2024', 1e9);
        set datestyle = 'Postgres, MDY'; set timezone = '-03:30';
        update absence set start = start - interval '1 day'`)
      expect(await ledger.check()).toEqual([])
      expect(ledger.heard).toBe(2 * ODD.length + 5 * 2 + 1 + 3)
    },
    AGAIN,
  )

  test(
    'and a writer’s settings stay as they were',
    async () => {
      const writer = connectTo(url, { max: 1, connection: { DateStyle: 'German', TimeZone: 'America/New_York' } })
      const [row] = await writer.begin(async (transaction) => {
        await transaction`update absence set type = 'A'`
        return transaction`select current_setting('TimeZone') as zone, current_setting('DateStyle') as style`
      })
      expect(row).toEqual({ zone: 'America/New_York', style: 'German, DMY' })
      await writer.end()
      expect(await ledger.check()).toEqual([])
    },
    AGAIN,
  )

  test(
    'also where another column was added or dropped before',
    async () => {
      await ledger.stop()
      await sql`alter table absence add note text default 'a, "b"', add other integer`
      await sql`alter table absence drop column note`
      ledger = new Ledger()
      await ledger.begin()
      await write("update absence set other = 3, type = 'A'; delete from absence where id = 1")
      expect(await ledger.check()).toEqual([])
      expect(ledger.heard).toBe(3)
    },
    AGAIN,
  )
})

describe('of what is much the table alone is notified, once', () => {
  const scripts: [what: string, script: string, tables: string[]][] = [
    ['a statement of many rows', 'insert into absence (type) select 1 from generate_series(1, 501)', ['absence']],
    ['a row that is too long', "update company set name = repeat('x', 8000) where name = 'a'", ['company', 'employee']],
    [
      'a transaction of many statements',
      "do $$ begin for n in 1..3000 loop insert into absence (type) values ('A'); end loop; end $$",
      ['absence'],
    ],
    ['a row that gets another id', 'update absence set id = default where id = 1', ['absence']],
    ['truncate', 'truncate absence', ['absence']],
    ['truncate that reaches other tables', 'truncate company cascade', ['absence', 'company', 'employee']],
    [
      'a writer whose setting is none of ours',
      "set roster.notified = 'x'; update company set enabled = true; set roster.notified = '9999999'; update company set enabled = false",
      ['company'],
    ],
  ]
  for (const [what, script, tables] of scripts)
    test(
      what,
      async () => {
        await write(script)
        expect(await ledger.check()).toEqual(tables)
      },
      AGAIN,
    )

  test(
    'each transaction anew',
    async () => {
      const one = "insert into absence (reason) select repeat('r', 50) from generate_series(1, 400)"
      for (let transaction = 0; transaction < 10; transaction++) await sql.unsafe(one)
      expect(await ledger.check()).toEqual([])
      expect(ledger.heard).toBe(4_000)
    },
    AGAIN,
  )
})

test(
  'a table that has one trigger alone, as before, is notified of without rows',
  async () => {
    await ledger.stop()
    await sql`select notify_changes_of('absence', false)`
    ledger = new Ledger()
    await ledger.begin()
    await write("update absence set type = 'A'; update company set enabled = true")
    expect(await ledger.check()).toEqual(['absence'])
    expect(ledger.heard).toBe(2)
  },
  AGAIN,
)
