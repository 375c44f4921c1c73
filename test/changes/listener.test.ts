import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { listenForChanges } from '../../src/changes/listener.ts'
import type { Row } from '../../src/model/sql.ts'
import { monotonicMs } from '../../src/os/clock.ts'
import { countConnections } from '../support/connections.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'

const TIMEOUT_MS = 90_000
const TABLES = ['absence', 'company', 'employee']
const COPIES = [
  { table: 'employee', source: 'company', column: 'name_key' },
  { table: 'employee', source: 'employee', column: 'display_name_key' },
  { table: 'absence', source: 'employee', column: 'display_name_key' },
]
const COLUMNS = { company: ['name', 'id', 'enabled'], employee: ['id', 'company'], absence: ['id', 'employee'] }
const LISTENER = 'roster listener'

let url: string
let sql: postgres.Sql
let ears: Ear[]
beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  ears = []
})
afterEach(async () => {
  await Promise.all(ears.map(({ stop }) => stop()))
  await sql.end()
})

/** A listener, and what it has received. */
class Ear {
  isLive = false
  begins = 0
  heardMs = 0
  pulses = 0
  isWanted = true
  reason = ''
  /** Why rows may change without notice. */
  causes: string[] = []
  readonly heard: string[] = []
  readonly rows: { table: string; before: Row | null; after: Row | null }[] = []
  readonly transactions: number[] = []
  readonly stop: () => Promise<void>
  readonly wake: () => void

  constructor(
    readonly machine: string,
    tables: readonly string[] = TABLES,
    address: string = url,
  ) {
    const { stop, wake } = listenForChanges(address, {
      machine,
      tables,
      columns: new Map(Object.entries(COLUMNS)),
      copies: COPIES,
      onStrangers: (found) => {
        this.causes = found.map(({ kind, name, place, table }) => `${kind} ${name} of ${place}: ${table ?? 'all'}`)
      },
      onWrite: (table, writer) => void this.heard.push(`${table} ${writer}`),
      onRow: (table, writer, { transaction, before, after }) => {
        this.heard.push(`${table} ${writer}`)
        this.rows.push({ table, before, after })
        this.transactions.push(transaction)
      },
      onEndOf: () => undefined,
      onBegin: () => void this.begins++,
      onPulse: (untilMs) => {
        this.isLive = true
        this.heardMs = untilMs
        this.pulses++
      },
      onEnd: (reason) => {
        this.isLive = false
        this.reason = reason
      },
      isWanted: () => this.isWanted,
      attend: async () => undefined,
    })
    this.stop = stop
    this.wake = wake
    ears.push(this)
  }

  /** Waits for a pulse that was asked for after this call. */
  async pulse(): Promise<string[]> {
    const nowMs = monotonicMs()
    await until(() => this.heardMs > nowMs)
    return this.heard.splice(0).sort()
  }
}

async function hearing(machine = 'here'): Promise<Ear> {
  const ear = new Ear(machine)
  await until(() => ear.isLive)
  return ear
}

const listed = async () => (await sql`select machine from change_listener order by 1`).map(({ machine }) => machine)

/** For so many pulses and more. */
async function staysDeaf(ear: Ear) {
  for (let look = 0; look < 10; look++) {
    await Bun.sleep(50)
    expect(ear.isLive).toBe(false)
  }
}

/** A connection that does not answer in time, as on a busy machine, is replaced: then all is forgotten instead. */
const AGAIN = { timeout: TIMEOUT_MS, retry: 3 }

describe('a write is known once it is committed', () => {
  const rows = sqlRows()
  for (const [what, write, tables] of rows)
    test(
      what,
      async () => {
        await sql`insert into company (name) values ('a')`
        await sql`insert into employee (company_id, company_key, known_as) select id, name_key, 'k' from company`
        await sql`insert into absence (employee_id, employee_key) select id, display_name_key from employee`
        const ear = await hearing()
        await ear.pulse()
        await sql.unsafe(write)
        expect(await ear.pulse()).toEqual(tables.map((table) => `${table} `))
      },
      AGAIN,
    )

  test(
    'a write of a machine that has a name, with it',
    async () => {
      const ear = await hearing()
      await sql.begin(async (transaction) => {
        await transaction`set local roster.machine = 'there'`
        await transaction`insert into company (name) values ('a')`
      })
      // The setting is back at nothing, which is not the same as never set.
      await sql`insert into absence (type) values ('b')`
      expect(await ear.pulse()).toEqual(['absence ', 'company there'])
    },
    AGAIN,
  )

  test(
    'a write by a role with another search path and no rights but those to write',
    async () => {
      const role = `writer_${process.pid}`
      const ear = await hearing()
      await sql.unsafe(`create role ${role}; grant insert on company to ${role}`)
      try {
        await sql.begin(async (transaction) => {
          await transaction.unsafe(`set local role ${role}; set local search_path = pg_catalog`)
          await transaction`insert into public.company (name) values ('a')`
        })
        expect(await ear.pulse()).toEqual(['company '])
      } finally {
        await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
      }
    },
    AGAIN,
  )
})

test(
  'at rest notifications arrive at once, with hardly a pulse; woken, it knows all writes before a pulse',
  async () => {
    const ear = await hearing()
    ear.isWanted = false
    await ear.pulse()
    ear.pulses = 0
    await sql`insert into company (name) values ('a')`
    await until(() => ear.heard.length > 0)
    const sinceMs = performance.now()
    await Bun.sleep(500)
    expect(ear.pulses).toBeLessThanOrEqual(2 + (performance.now() - sinceMs) / 500) // else ten, in half a second
    await sql`insert into absence (type) values ('b')`
    ear.isWanted = true
    ear.wake()
    expect(await ear.pulse()).toEqual(['absence ', 'company '])
  },
  TIMEOUT_MS,
)

test(
  'a connection that is lost at rest is replaced',
  async () => {
    const ear = await hearing()
    ear.isWanted = false
    await ear.pulse()
    const begins = ear.begins
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${LISTENER} and datname = current_database()`
    await until(() => ear.begins > begins)
    await sql`insert into company (name) values ('a')`
    await until(() => ear.heard.length > 0)
  },
  TIMEOUT_MS,
)

function sqlRows(): [what: string, write: string, tables: string[]][] {
  return [
    ['insert', "insert into company (name) values ('b')", ['company']],
    ['update of no row, which changes nothing', "update company set name = 'b' where false", []],
    ['delete', 'delete from absence', ['absence']],
    ['truncate', 'truncate absence', ['absence']],
    ['truncate that reaches other tables', 'truncate company cascade', ['absence', 'company', 'employee']],
    ['a rename, of all that copy the name', "update company set name = 'c'", ['company', 'employee']],
    ['a rename of an employee with absences', "update employee set known_as = 'c'", ['absence', 'employee']],
    ['copy', "copy company (name) from program 'echo d'", ['company']],
    [
      'what a common table expression writes',
      "with w as (insert into company (name) values ('f')) select 1",
      ['company'],
    ],
    [
      'a write where ordinary triggers do not fire',
      "do $$ begin set local session_replication_role = replica; insert into company (name) values ('g'); end $$",
      ['company'],
    ],
  ]
}

test(
  'other clients’ writes cannot be prepared for a two-phase commit while a machine listens',
  async () => {
    const ear = await hearing()
    const prepare = () =>
      sql.begin(async (transaction) => {
        await transaction`insert into company (name) values ('a')`
        await transaction.unsafe(`prepare transaction '${ear.machine}'`)
      })
    await expect(prepare()).rejects.toThrow(
      'cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY',
    )
    await ear.stop()
    ears.pop()
    const writer = await sql.reserve()
    await writer.unsafe(`begin; insert into company (name) values ('a'); prepare transaction '${ear.machine}'`)
    await writer.unsafe(`commit prepared '${ear.machine}'`)
    writer.release()
    expect((await sql`select from company`).count).toBe(1)
  },
  TIMEOUT_MS,
)

describe('is live', () => {
  test(
    'only when every transaction has ended that wrote before it could see the listener',
    async () => {
      const writer = await sql.reserve()
      await writer`begin`
      await writer`insert into company (name) values ('a')`
      const ear = new Ear('here')
      await until(async () => (await listed()).length === 1)
      // Others, that come and go later, do not matter.
      for (let write = 0; write < 5; write++) await sql`insert into company (name) values ('b')`
      await staysDeaf(ear)
      expect([ear.begins, ear.reason]).toEqual([0, 'waiting for transactions older than LISTEN'])
      await writer`commit`
      await until(() => ear.isLive)
      expect(ear.begins).toBe(1)
      // Its own first write could not see the listener, and so nothing was said of it.
      expect(ear.heard.every((payload) => payload === 'company ')).toBe(true)
      expect(ear.heard).toHaveLength(5)
      writer.release()
    },
    TIMEOUT_MS,
  )

  test(
    'beside long transactions of readers, of writers of other tables, and of later writers',
    async () => {
      await sql`create table other (id integer)`
      const [reader, writer] = [await sql.reserve(), await sql.reserve()]
      await reader`begin isolation level repeatable read`
      await reader`select count(*) from company`
      await writer`begin`
      await writer`insert into other values (1)`
      const ear = await hearing()
      await writer`insert into company (name) values ('a')`
      await ear.pulse()
      await writer`commit`
      expect(await ear.pulse()).toEqual(['company '])
      await reader`rollback`
      for (const connection of [reader, writer]) connection.release()
    },
    TIMEOUT_MS,
  )

  test(
    'in a transaction that began before and writes afterwards it is seen, at each isolation level',
    async () => {
      for (const level of ['read committed', 'repeatable read', 'serializable']) {
        const writer = await sql.reserve()
        await writer.unsafe(`begin isolation level ${level}`)
        await writer`select count(*) from company`
        const ear = await hearing(level)
        await writer`insert into company (name) values ('a')`
        await writer`commit`
        expect(await ear.pulse()).toEqual(['company '])
        writer.release()
        await ear.stop()
        ears.pop()
      }
    },
    TIMEOUT_MS,
  )
})

describe('is not live', () => {
  test(
    'when its connection is ended, and is again over another one',
    async () => {
      const ear = await hearing()
      for (let times = 1; times <= 3; times++) {
        await sql`select pg_terminate_backend(pid) from change_listener`
        await until(() => !ear.isLive)
        await sql`insert into company (name) values ('unheard')`
        await until(() => ear.isLive)
        expect(ear.begins).toBe(1 + times)
        expect(await listed()).toEqual(['here'])
      }
      ear.heard.splice(0)
      await sql`insert into company (name) values ('heard')`
      expect(await ear.pulse()).toEqual(['company '])
    },
    TIMEOUT_MS,
  )

  test(
    'when its connection does not answer',
    async () => {
      const ear = await hearing()
      const [row] = await sql`select pid from change_listener`
      process.kill(row?.pid, 'SIGSTOP')
      try {
        await until(() => !ear.isLive)
        await until(() => ear.isLive)
        expect(ear.begins).toBe(2)
      } finally {
        process.kill(row?.pid, 'SIGCONT')
      }
      // The old connection ends some time, and the new one goes on.
      await until(async () => (await sql`select from pg_stat_activity where pid = ${row?.pid}`).count === 0)
      await ear.pulse()
      expect([ear.isLive, ear.begins]).toEqual([true, 2])
    },
    TIMEOUT_MS,
  )

  test(
    'when its row was deleted',
    async () => {
      const ear = await hearing()
      await sql`truncate change_listener`
      await until(() => ear.begins === 2 && ear.isLive)
      expect(await listed()).toEqual(['here'])
    },
    TIMEOUT_MS,
  )

  test(
    'while a trigger is disabled, dropped, or does not fire for all, and says which',
    async () => {
      const ear = await hearing()
      const heals = 'alter table company enable always trigger company_changes'
      const create = 'create trigger company_changes after insert or update or delete or truncate on company'
      for (const [hurt, heal] of [
        ['alter table company disable trigger company_changes', heals],
        ['alter table company enable trigger company_changes', heals],
        ['drop trigger company_changes on company', `${create} execute function notify_change(); ${heals}`],
      ] as const) {
        await sql.unsafe(hurt)
        await until(() => ear.reason === 'no trigger notifies of all changes of company')
        await staysDeaf(ear)
        await sql.unsafe(heal)
        await until(() => ear.isLive)
        ear.reason = ''
      }
    },
    TIMEOUT_MS,
  )

  test(
    'for a moment, when a trigger was disabled and enabled again: writes in between sent no notification',
    async () => {
      const ear = await hearing()
      await sql.begin(async (transaction) => {
        await transaction`alter table company disable trigger company_changes`
        await transaction`insert into company (name) values ('unheard')`
        await transaction`alter table company enable always trigger company_changes`
      })
      await until(() => ear.begins === 2 && ear.isLive)
    },
    TIMEOUT_MS,
  )

  test(
    'from the beginning where a table has no such trigger',
    async () => {
      await sql`create table shop (id integer)`
      const ear = new Ear('here', [...TABLES, 'shop'])
      await until(() => ear.reason === 'no trigger notifies of all changes of shop')
      await staysDeaf(ear)
      expect(await listed()).toEqual([])
    },
    TIMEOUT_MS,
  )
})

const FUNCTION =
  'create function theirs() returns trigger language plpgsql as $$ begin return null; end $$; create trigger theirs after'
const BADGE = 'create table badge (id bigint primary key, holder bigint references employee on delete cascade)'
const DROP_BADGE = 'drop table badge cascade'
const DROP_FUNCTION = 'drop function theirs cascade'

describe('finds what changes rows without notifying, and when it has gone, and drops every cache each time', () => {
  const rows: [what: string, make: string, found: string[], drop: string][] = [
    [
      'a trigger',
      `${FUNCTION} update on company execute function theirs()`,
      ['trigger theirs of company: all'],
      DROP_FUNCTION,
    ],
    [
      'a rule',
      'create rule theirs as on update to employee do also notify x',
      ['rule theirs of employee: all'],
      'drop rule theirs on employee',
    ],
    [
      'a foreign key that sets null, and what copies',
      'alter table employee add constraint theirs foreign key (manager_id) references employee on delete set null',
      ['foreign key theirs of employee: absence', 'foreign key theirs of employee: employee'],
      'alter table employee drop constraint theirs',
    ],
    [
      'a foreign key of another column that copies',
      'create unique index theirs on company (name); alter table absence add constraint theirs foreign key (reason) references company (name) on update cascade',
      ['foreign key theirs of absence: absence'],
      'alter table absence drop constraint theirs; drop index theirs',
    ],
    [
      'a foreign key by way of a table of theirs',
      `${BADGE}; alter table absence add badge bigint constraint theirs references badge on delete set null`,
      ['foreign key badge_holder_fkey of badge: absence', 'foreign key theirs of absence: absence'],
      `${DROP_BADGE}; alter table absence drop badge`,
    ],
    [
      'a trigger on a table of theirs that a foreign key reaches',
      `${BADGE}; ${FUNCTION} delete on badge execute function theirs()`,
      ['trigger theirs of badge: all'],
      `${DROP_BADGE}; drop function theirs`,
    ],
    [
      'a child table',
      'create table theirs () inherits (absence)',
      ['child table theirs of absence: absence'],
      'drop table theirs',
    ],
    [
      'a parent table',
      'create table theirs (hours numeric); alter table absence add hours numeric; alter table absence inherit theirs',
      ['parent table theirs of absence: absence'],
      'alter table absence no inherit theirs; drop table theirs; alter table absence drop hours',
    ],
  ]
  for (const [what, make, found, drop] of rows)
    test(
      what,
      async () => {
        const ear = await hearing()
        await sql.unsafe(make)
        await until(() => Bun.deepEquals(ear.causes, found) && ear.isLive)
        expect(ear.begins).toBeGreaterThan(1)
        const { begins } = ear
        await sql.unsafe(drop)
        await until(() => ear.causes.length === 0 && ear.isLive)
        expect(ear.begins).toBeGreaterThan(begins)
        expect(ear.reason).toBe('the tables, or what belongs to them, have changed')
      },
      TIMEOUT_MS,
    )

  test(
    'from the beginning; what is harmless changes nothing for good',
    async () => {
      await sql.unsafe(`${FUNCTION} insert on company for each row execute function theirs()`)
      const ear = await hearing()
      expect(ear.causes).toEqual(['trigger theirs of company: all'])
      await sql.unsafe('alter table company disable trigger theirs')
      await until(() => ear.causes.length === 0 && ear.isLive)
      await sql.unsafe(
        `${BADGE}; create view names as select name from company; create index names_of on company (name)`,
      )
      await sql.unsafe('alter table absence add badge bigint references badge on delete cascade')
      await sql.unsafe(
        'alter table absence add constraint own foreign key (employee_id) references employee on update cascade',
      )
      // A table of theirs that changes along with ours, but none of ours with it; until it is watched, ears change.
      await sql.unsafe('alter table absence drop badge')
      await until(async () => {
        const { begins } = ear
        await Bun.sleep(700)
        return ear.begins === begins && ear.isLive
      })
      expect(ear.causes).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'a column whose values are written anew past all triggers',
    async () => {
      const ear = await hearing()
      await sql.unsafe(`alter table absence alter reason type text collate "und-x-icu" using upper(reason)`)
      await until(() => ear.begins === 2 && ear.isLive)
      expect(ear.causes).toEqual([])
    },
    TIMEOUT_MS,
  )

  test(
    'a trigger that has come and gone between two looks',
    async () => {
      const ear = await hearing()
      const { begins } = ear
      // A session counts what it has done at its end, if not before: PostgreSQL 14 waits for that, or for its next statement.
      const session = connect(url)
      await session.unsafe(`${FUNCTION} update on company execute function theirs(); ${DROP_FUNCTION}`)
      await session.end()
      await until(() => ear.begins > begins && ear.isLive)
      expect(ear.causes).toEqual([])
    },
    TIMEOUT_MS,
  )
})

describe('is refused: it asks ever less often, says why, and is live when it may', () => {
  const database = () => new URL(url).pathname.slice(1)
  const role = `listener_${process.pid}`
  const rows: [what: string, refuse: () => string, reason: RegExp, allow: () => string][] = [
    [
      'a role that may not write',
      () => `revoke all on change_listener from ${role}`,
      /^permission denied for table change_listener$/,
      () => `grant select, insert, update, delete on change_listener to ${role}`,
    ],
    [
      'a database that only reads',
      () => `grant all on change_listener to ${role}; alter role ${role} set default_transaction_read_only = on`,
      /^cannot execute INSERT in a read-only transaction$/,
      () => `alter role ${role} reset default_transaction_read_only`,
    ],
    [
      'a role that may not connect',
      () => `grant all on change_listener to ${role}; alter role ${role} nologin`,
      /is not permitted to log in$/,
      () => `alter role ${role} login`,
    ],
  ]
  for (const [what, refuse, reason, allow] of rows)
    test(
      what,
      async () => {
        await sql.unsafe(`create role ${role} login password 'p'; grant connect on database ${database()} to ${role}`)
        const counter = await countConnections(url)
        try {
          await sql.unsafe(refuse())
          const ear = new Ear('here', TABLES, counter.urlOf(role, 'p'))
          await until(() => counter.timesMs.length >= 6)
          // Where the machine is late, a pause is longer than it was to be, and never shorter.
          for (const [index, ms] of counter.timesMs.slice(1).entries())
            expect(ms - (counter.timesMs[index] as number)).toBeGreaterThan(0.95 * 50 * 2 ** index)
          expect([ear.begins, ear.reason]).toEqual([0, expect.stringMatching(reason)])
          await sql.unsafe(allow())
          await until(() => ear.isLive)
          await ear.stop()
          ears.pop()
        } finally {
          counter.stop()
          await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
        }
      },
      AGAIN,
    )
})

describe('rows of listeners', () => {
  test(
    'go with them; those of dead machines go with the next one, the living stay',
    async () => {
      const first = await hearing('first')
      await sql`insert into change_listener values ('dead', 2147483647, now())`
      await sql`insert into change_listener select 'reborn', pid, backend_start - interval '1 s' from pg_stat_activity
        where pid = pg_backend_pid()`
      const second = await hearing('second')
      await until(async () => (await listed()).length === 2)
      expect(await listed()).toEqual(['first', 'second'])
      await Promise.all([first.pulse(), second.pulse()])
      expect([first.begins, second.begins]).toEqual([1, 1])
      await first.stop()
      expect(await listed()).toEqual(['second'])
      await second.stop()
      expect(await listed()).toEqual([])
      ears = []
      expect(
        (await sql`select from pg_stat_activity where application_name = ${LISTENER} and datname = current_database()`)
          .count,
      ).toBeLessThanOrEqual(2)
    },
    TIMEOUT_MS,
  )

  test(
    'of dead machines go while nothing else happens',
    async () => {
      const ear = await hearing()
      await sql`insert into change_listener values ('dead', 2147483647, now())`
      await until(async () => (await listed()).length === 1)
      expect([await listed(), ear.begins]).toEqual([['here'], 1])
    },
    TIMEOUT_MS,
  )
})
