import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import type { Change } from '../../src/changes/change.ts'
import { chooseWay } from '../../src/changes/choice.ts'
import { readSlot } from '../../src/changes/slotReader.ts'
import { compileCreate, compileUpdate } from '../../src/compile/entity.ts'
import { compileRemove } from '../../src/compile/remove.ts'
import absence from '../../src/entities/absence.ts'
import company from '../../src/entities/company.ts'
import employee from '../../src/entities/employee.ts'
import { Database } from '../../src/execute/database.ts'
import { referringColumns } from '../../src/model/copies.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { Assignments } from '../../src/model/query.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { MIGRATIONS, migrate } from '../../src/postgres/migrate.ts'
import { holdCommits } from '../support/heldCommits.ts'
import { useOwnPostgres } from '../support/ownPostgres.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'

const TIMEOUT_MS = 30_000
/** A connection that does not answer in time, as on a busy machine, is replaced: then all is forgotten instead. */
const AGAIN = { timeout: TIMEOUT_MS, retry: 3 }
const server = useOwnPostgres({ wal_level: 'logical' })
const entities = [absence, company, employee]
const tables = entities.map(({ table }) => table)
const columns = new Map(entities.map(({ table, properties }) => [table, properties.map(({ column }) => column)]))

const urlOf = (database: string) => Object.assign(new URL(server.url), { pathname: database }).href

let url: string
let sql: postgres.Sql
let readers: Reader[]
beforeAll(async () => {
  const admin = connect(server.url)
  await admin`create database slot`
  await admin.end()
  url = urlOf('slot')
  await migrate(url, MIGRATIONS)
  sql = connect(url)
}, TIMEOUT_MS)
beforeEach(async () => {
  await sql`truncate company, employee, absence, change_listener restart identity`
  readers = []
})
afterEach(() => Promise.all(readers.map(({ stop }) => stop())))
afterAll(() => sql.end())

/** PostgreSQL counts what was made and dropped up to a second later: readers of later tests would forget all for it. */
async function counted(change: string) {
  await sql.begin(async (transaction) => {
    await transaction.unsafe(change)
    await transaction`select pg_stat_force_next_flush()`
  })
}

/** A reader of a slot, and what it was given. */
class Reader {
  isLive = false
  begins = 0
  heardMs = 0
  reason = ''
  causes: string[] = []
  readonly published: string[] = []
  readonly changes: { table: string; change: Change; isLast: boolean }[] = []
  readonly followed: number[] = []
  readonly stop: () => Promise<void>

  constructor(readonly machine = 'here') {
    const { stop } = readSlot(
      { url, feedUrl: url },
      {
        machine,
        tables,
        columns,
        copies: [],
        onStrangers: (found) => (this.causes = found.map(({ kind, name, place }) => `${kind} ${name} of ${place}`)),
        onRow: (table, change, isLast) => {
          this.changes.push({ table, change, isLast })
          this.published.push(`${table} ${nameOf(change)}`)
        },
        onReset: (table) => void this.published.push(`${table} reset`),
        onFollowed: (transaction) => void this.followed.push(transaction),
        onPosition: () => undefined,
        onBegin: () => void this.begins++,
        onPulse: (untilMs) => {
          this.isLive = true
          this.heardMs = untilMs
        },
        onEnd: (reason) => {
          this.isLive = false
          this.reason = reason
        },
        attend: async () => undefined,
      },
    )
    this.stop = stop
    readers.push(this)
  }

  /** Waits for a pulse that was asked for after this call. */
  async pulse(): Promise<string[]> {
    const nowMs = monotonicMs()
    await until(() => this.heardMs > nowMs)
    return this.published.splice(0)
  }
}

/** Its second column before and after. */
function nameOf({ before, after }: Change): string {
  return `${before?.[1] ?? '-'} > ${after?.[1] ?? '-'}`
}

async function reading(machine?: string): Promise<Reader> {
  const reader = new Reader(machine)
  await until(() => reader.isLive)
  await reader.pulse()
  reader.changes.length = 0
  return reader
}

describe('a write of others is published row by row, as it was and is', () => {
  const rows: [what: string, write: string, published: string[]][] = [
    ['insert', "insert into company (name) values ('b')", ['company - > b']],
    ['update', "update company set name = 'b' where name = 'alone'", ['company alone > b']],
    ['update of no row', "update company set name = 'b' where false", []],
    ['delete', "delete from company where name = 'alone'", ['company alone > -']],
    ['truncate', 'truncate absence', ['absence reset']],
    ['truncate that reaches others', 'truncate company cascade', ['company reset', 'employee reset', 'absence reset']],
    [
      'a rename, with all rows that copy the name',
      "update company set name = 'c' where name = 'a'",
      ['company a > c', 'employee E1 > E1'],
    ],
    ['copy', "copy company (name) from program 'echo d'", ['company - > d']],
    [
      'a write where ordinary triggers do not fire',
      "do $$ begin set local session_replication_role = replica; insert into company (name) values ('g'); end $$",
      ['company - > g'],
    ],
    [
      'several rows of several tables in one transaction',
      "insert into company (name) values ('x'), ('y'); update absence set status = 's'",
      ['company - > x', 'company - > y', 'absence  > s'],
    ],
    [
      'a subtransaction that was rolled back: nothing',
      "do $$ begin begin insert into company (name) values ('b'); raise sqlstate 'P0001'; exception when others then null; end; insert into company (name) values ('k'); end $$",
      ['company - > k'],
    ],
  ]
  for (const [what, write, published] of rows)
    test(
      what,
      async () => {
        await sql`insert into company (name) values ('a'), ('alone')`
        await sql`insert into employee (employee_number, company_id, company_key, known_as) select 'E1', id, name_key, 'k' from company where name = 'a'`
        await sql`insert into absence (status, employee_id, employee_key) select '', id, display_name_key from employee`
        const reader = await reading()
        await sql.unsafe(write)
        expect(await reader.pulse()).toEqual(published)
      },
      AGAIN,
    )
})

test(
  'a row has every value as a statement of ours returns it, computed ones too, and the number of its transaction',
  async () => {
    const reader = await reading()
    const long = 'ä\\"\'\n\t%'.repeat(2_000) // beyond what lies in the row itself
    await sql`insert into company (name) values (${long})`
    await sql`insert into employee (known_as, last_name, company_id, company_key, started) select 'K', ${long}, id, name_key, '2020-02-03 04:05:06+07' from company`
    await sql`insert into absence (employee_id, employee_key, period_days, period_hours, start, type) select id, display_name_key, 1.50000000, -0, '0001-01-01 00:00:00+00 BC', 'T' from employee`
    await reader.pulse()
    await sql`update employee set title = 'x'` // the long name is not sent again
    await reader.pulse()
    const database = new Database({ url, poolSize: 1, prepare: true })
    const [before, after] = [reader.changes[1]?.change.after, reader.changes.at(-1)?.change.after]
    expect(reader.changes.at(-1)?.change.before).toEqual(before as never)
    for (const [{ table, properties }, row] of [
      [company, reader.changes[0]?.change.after],
      [employee, after],
      [absence, reader.changes[2]?.change.after],
    ] as const) {
      const names = properties.map(({ column }) => `"${column}"`).join()
      const [stored] = await database.read({ text: `select ${names}, xmin::text from "${table}"`, values: [] })
      expect(row as never).toEqual(stored?.slice(0, -1) as never)
      const last = reader.changes.findLast((change) => change.table === table)
      expect(String(last?.change.transaction)).toBe(stored?.at(-1) as string)
    }
    await database.end(0)
  },
  AGAIN,
)

const assign = (entity: Entity, values: Record<string, string | null>): Assignments =>
  new Map(
    entity.properties.filter(({ name }) => name in values).map((property) => [property, values[property.name]]),
  ) as never

describe('writes of this machine', () => {
  const ours = (machine = 'here') =>
    new Database({ url, poolSize: 3, prepare: true, changes: { machine, connections: `roster ${machine}` } })

  test(
    'are not published, alone and in batches, whatever they do; those of other machines are',
    async () => {
      const [here, there] = [ours(), ours('there')]
      const reader = await reading()
      for (const database of [here, there]) {
        const created = await Promise.all(
          ['a', 'b', 'c', 'd'].map((name) => database.write(compileCreate(company, assign(company, { Name: name })))),
        )
        const ids = created.map(([row]) => row?.[0] as string)
        await Promise.all(
          ids.map((id) => database.write(compileUpdate(company, id, assign(company, { Enabled: 'false' })))),
        )
        await Promise.all(
          ids.map((id) => database.write(compileRemove(company, id, referringColumns(company, entities)))),
        )
      }
      const published = await reader.pulse()
      expect(published).toHaveLength(12)
      expect(published.slice(0, 4)).toEqual(['company - > a', 'company - > b', 'company - > c', 'company - > d'])
      await Promise.all([here.end(0), there.end(0)])
    },
    AGAIN,
  )

  test(
    'a rename: what copies it is published, and then that nothing follows; also where nothing copies it',
    async () => {
      const here = ours()
      await sql`insert into company (name) values ('a'), ('b')`
      await sql`insert into employee (employee_number, company_id, company_key) select 'E1', id, name_key from company where name = 'a'`
      const reader = await reading()
      const rename = (id: string, name: string) =>
        here.write(compileUpdate(company, id, assign(company, { Name: name }), [], null, null, 'renamed'))
      const [row] = await rename('1', 'c')
      expect(await reader.pulse()).toEqual(['employee E1 > E1'])
      expect(reader.changes[0]?.isLast).toBe(false)
      expect(reader.followed.map(String)).toEqual([row?.[2 * company.properties.length] as string])
      await rename('2', 'd')
      expect(await reader.pulse()).toEqual([])
      expect(reader.followed).toHaveLength(2)
      await here.end(0)
    },
    AGAIN,
  )

  test(
    'what a trigger of an operator does within them is published, to the same row too',
    async () => {
      await counted(`
        create or replace function theirs() returns trigger language plpgsql as $$
          begin
            if pg_trigger_depth() > 1 then return null; end if;
            insert into absence (status) values ('by ' || new.name);
            update company set name = new.name || '!' where id = new.id;
            return null;
          end $$;
        create or replace trigger theirs after insert on company for each row execute function theirs()`)
      const here = ours()
      const reader = await reading()
      expect(reader.causes).toEqual([])
      await here.write(compileCreate(company, assign(company, { Name: 'a' })))
      expect(await reader.pulse()).toEqual(['absence - > by a', 'company a > a!'])
      // None of them ends the transaction, whose own row its process publishes; so that is said.
      expect(reader.changes.map(({ isLast }) => isLast)).toEqual([false, false])
      expect(reader.followed).toEqual([reader.changes[0]?.change.transaction as number])
      await here.end(0)
      await counted('drop function theirs cascade')
    },
    AGAIN,
  )
})

/** While this PostgreSQL waits for a standby that never comes, commits are on disk, and no snapshot sees them. */
async function heldCommits(): Promise<() => Promise<void>> {
  const [admin, probe] = [connect(server.url), connect(server.url)]
  const release = await holdCommits(admin, probe)
  return async () => {
    await release()
    await Promise.all([admin.end(), probe.end()])
  }
}

describe('a commit that no snapshot sees yet', () => {
  test(
    'is held, and neither the lease nor what is committed otherwise waits for it',
    async () => {
      await sql`insert into company (name) values ('before')`
      const reader = await reading()
      const letGo = await heldCommits()
      const writer = connect(url)
      try {
        const written = writer`insert into company (name) values ('held')`.execute()
        const isOnDisk = async () =>
          (await sql`select from pg_stat_activity where wait_event = 'SyncRep' and datname = current_database()`)
            .count === 1
        await until(isOnDisk)
        for (let pulses = 0; pulses < 5; pulses++) expect(await reader.pulse()).toEqual([])
        expect((await sql`select from company`).count).toBe(1)
        await sql.begin(async (transaction) => {
          await transaction`set local synchronous_commit = local`
          await transaction`insert into company (name) values ('not held')`
        })
        expect(await reader.pulse()).toEqual(['company - > not held'])
        expect([reader.isLive, reader.begins, await isOnDisk()]).toEqual([true, 1, true])
        await letGo()
        await written
        expect(await reader.pulse()).toEqual(['company - > held'])
      } finally {
        await letGo().catch(() => undefined)
        await writer.end()
      }
    },
    AGAIN,
  )

  test(
    'of before the slot: nothing is heard until it is seen',
    async () => {
      const letGo = await heldCommits()
      const writer = connect(url)
      try {
        const written = writer`insert into company (name) values ('held')`.execute()
        await until(
          async () =>
            (await sql`select from pg_stat_activity where wait_event = 'SyncRep' and datname = current_database()`)
              .count === 1,
        )
        const reader = new Reader()
        await until(() => reader.reason === 'waiting for transactions older than the slot')
        await Bun.sleep(200)
        expect([reader.isLive, reader.begins]).toEqual([false, 0])
        await letGo()
        await written
        await until(() => reader.isLive)
        expect(reader.begins).toBe(1)
      } finally {
        await letGo().catch(() => undefined)
        await writer.end()
      }
    },
    AGAIN,
  )
})

describe('hearing begins', () => {
  test(
    'once no transaction runs that is older than the slot; the server waits for none of them',
    async () => {
      const writer = await sql.reserve()
      await writer`begin`
      await writer`insert into company (name) values ('old')`
      const reader = new Reader()
      await until(() => reader.reason === 'waiting for transactions older than the slot')
      await Bun.sleep(200)
      expect([reader.isLive, reader.begins]).toEqual([false, 0])
      await writer`commit`
      writer.release()
      await until(() => reader.isLive)
      expect(reader.begins).toBe(1)
      await sql`insert into company (name) values ('new')`
      expect((await reader.pulse()).at(-1)).toBe('company - > new')
    },
    AGAIN,
  )

  test(
    'anew over another connection, whichever of the two was lost; what was written meanwhile is not published, but all is forgotten',
    async () => {
      const reader = await reading()
      for (const [times, name] of ['roster feed', 'roster listener'].entries()) {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name} and datname = current_database()`
        await until(() => reader.begins === times + 2 && reader.isLive)
      }
      reader.published.length = 0
      await sql`insert into company (name) values ('heard')`
      expect(await reader.pulse()).toEqual(['company - > heard'])
      expect((await sql`select from pg_replication_slots where database = current_database()`).count).toBe(1)
    },
    AGAIN,
  )

  test(
    'not where a table is not published whole, and says which; and again when it is',
    async () => {
      const reader = await reading()
      for (const [hurt, heal] of [
        ['alter table company replica identity default', 'alter table company replica identity full'],
        ['alter publication roster drop table company', "select publish_rows('company')"],
        [
          'alter publication roster set (publish = insert)',
          "alter publication roster set (publish = 'insert, update, delete, truncate')",
        ],
        [
          'alter publication roster set (publish_generated_columns = none)',
          'alter publication roster set (publish_generated_columns = stored)',
        ],
        [
          'alter publication roster set table employee, absence, company where (enabled)',
          'alter publication roster set table company, employee, absence',
        ],
        [
          'alter publication roster set table employee, absence, company (id, name)',
          'alter publication roster set table company, employee, absence',
        ],
      ] as const) {
        reader.reason = ''
        const { begins } = reader
        await sql.unsafe(hurt)
        await until(() => /^the publication roster lacks rows of .*company/.test(reader.reason))
        expect(reader.isLive).toBe(false)
        await sql.unsafe(heal)
        await until(() => reader.isLive && reader.begins > begins)
      }
    },
    AGAIN,
  )
})

describe('what cannot be published row by row is a reset of the table', () => {
  test(
    'a transaction of more than 1,000 rows, of each of its tables; of 1,000 it can',
    async () => {
      const reader = await reading()
      await sql`insert into company (name) select 'n' from generate_series(1, 1000)`
      expect(await reader.pulse()).toHaveLength(1_000)
      await sql.unsafe(
        "insert into absence (type) values ('t'); insert into company (name) select 'n' from generate_series(1, 1000)",
      )
      expect((await reader.pulse()).sort()).toEqual(['absence reset', 'company reset'])
    },
    AGAIN,
  )

  test(
    'a table that is defined anew, or for a moment was not published whole: all is forgotten',
    async () => {
      const reader = await reading()
      for (const change of [
        'alter table absence alter column status type text collate "und-x-icu" using status || \'!\'',
        'alter publication roster drop table company; alter publication roster add table company',
        'alter table company replica identity default; alter table company replica identity full',
      ]) {
        const { begins } = reader
        await sql.begin((transaction) => transaction.unsafe(change))
        await until(() => reader.begins > begins && reader.isLive)
      }
    },
    AGAIN,
  )

  test(
    'another column: rows come as before; an analysis of the table: no reset',
    async () => {
      const reader = await reading()
      await sql`insert into company (name) values ('a')`
      await reader.pulse()
      await sql`vacuum analyze company`
      await sql`insert into company (name) values ('b')`
      expect(await reader.pulse()).toEqual(['company - > b'])
      const { begins } = reader
      await sql`alter table company drop column if exists note, add column note text`
      await until(() => reader.begins > begins && reader.isLive)
      reader.published.length = 0
      await sql`update company set note = 'x', name = 'c' where name = 'b'`
      expect(await reader.pulse()).toEqual(['company b > c'])
    },
    AGAIN,
  )
})

test(
  'while the feed stands still there is no pulse; then all of before comes first',
  async () => {
    const reader = await reading()
    const [row] = await sql`select active_pid as pid from pg_replication_slots where database = current_database()`
    process.kill(row?.pid, 'SIGSTOP')
    try {
      await sql`insert into company (name) values ('late')`
      const { heardMs } = reader
      await Bun.sleep(300)
      expect([reader.published, reader.heardMs - heardMs < 300]).toEqual([[], true])
    } finally {
      process.kill(row?.pid, 'SIGCONT')
    }
    expect(await reader.pulse()).toEqual(['company - > late'])
  },
  AGAIN,
)

test(
  'the listeners’ table is made empty where it has no row left, and triggers notify whoever is in it again',
  async () => {
    const size = async () => Number((await sql`select pg_relation_size('change_listener') as bytes`)[0]?.bytes)
    await sql`insert into change_listener (machine, pid, backend_start) values ('gone', 1, now())`
    expect(await size()).toBeGreaterThan(0)
    await reading()
    await until(async () => (await size()) === 0)
    const heard: string[] = []
    await sql.listen('roster_change', (payload) => void heard.push(payload))
    await sql`insert into company (name) values ('unheard')`
    await sql`insert into change_listener (machine, pid, backend_start) select 'there', pid, backend_start from pg_stat_activity where pid = pg_backend_pid()`
    await sql`insert into company (name) values ('heard')`
    await until(() => heard.length > 0)
    expect(heard).toEqual(['company '])
  },
  AGAIN,
)

describe('by itself a server', () => {
  const choose = () => chooseWay('auto', { url, feedUrl: url }, tables)

  test(
    'reads the log where it can, and else says what stands against it',
    async () => {
      expect(await choose()).toEqual({
        way: 'slot',
        reason: 'PostgreSQL 18 or later, wal_level logical, and a role that may replicate',
      })
      expect(await chooseWay('notify', { url, feedUrl: url }, tables)).toEqual({
        way: 'notify',
        reason: 'CHANGES=notify',
      })
      const role = 'plain'
      await sql.unsafe(`create role ${role} login password 'p'`)
      const feedUrl = Object.assign(new URL(url), { username: role, password: 'p' }).href
      expect(await chooseWay('auto', { url, feedUrl }, tables)).toEqual({
        way: 'notify',
        reason: 'permission denied to start WAL sender',
      })
      await sql`alter publication roster drop table employee`
      expect((await choose()).reason).toBe('the publication roster lacks rows of employee')
      await sql`drop publication roster`
      expect((await choose()).reason).toBe('the publication roster lacks rows of absence and company and employee')
      expect(await sql`select publish_rows('absence'), publish_rows('company'), publish_rows('employee')`).toHaveLength(
        1,
      )
      expect((await choose()).way).toBe('slot')
    },
    TIMEOUT_MS,
  )
})
