import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import type { Baseline } from '../../src/cache/entries.ts'
import { ListCache } from '../../src/cache/listCache.ts'
import type { Selection } from '../../src/cache/selection.ts'
import { FlagReader, FlagWriter } from '../../src/changes/inFlight.ts'
import { addUnknownOutcome, ChangeLogReader, ChangeLogWriter } from '../../src/changes/log.ts'
import type { ChangeLogAccess } from '../../src/changes/owner.ts'
import { ChangeLogOwner } from '../../src/changes/owner.ts'
import { tableMask } from '../../src/changes/recorder.ts'
import { InFlightWrites } from '../../src/changes/settling.ts'
import { ChangeSubscriber } from '../../src/changes/subscriber.ts'
import { Database } from '../../src/execute/database.ts'
import type { LogFields } from '../../src/log.ts'
import { openRegion, type Region } from '../../src/os/region.ts'
import { loadEntities } from '../../src/registry.ts'
import { temporaryMemory } from '../support/memory.ts'
import { overhear } from '../support/notifications.ts'
import { observing } from '../support/observing.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { until } from '../support/process.ts'

const TIMEOUT_MS = 90_000
/** A busy machine gives a listener no pulse for seconds: no test waits so long that this is a trouble to log. */
const NEVER_MS = 1e9
const UNKNOWN_OUTCOME = 'a connection with an unknown write is still open'
const TOO_FEW_SLOTS = 'more workers run than there are slots in the change log'
const entities = await loadEntities()
const INSERT = "insert into company (name) values ('a')"
const [ABSENCES, COMPANIES, EMPLOYEES] = entities.map((entity): Selection => {
  const { table } = entity
  return { entity, filters: [], table, tableMask: tableMask(entities, [entity]), key: table, matches: () => true }
}) as [Selection, Selection, Selection]

let url: string
let sql: postgres.Sql
let machines: Machine[]
beforeEach(async () => {
  url = await createDatabase()
  sql = connect(url)
  machines = []
})
afterEach(async () => {
  await Promise.all(machines.map((machine) => machine.stop()))
  await sql.end()
})

/** What one machine has: a feed, and one worker that reads it and has connections. */
class Machine {
  readonly warnings: string[] = []
  readonly details: LogFields[] = []
  readonly infos: string[] = []
  readonly memory: ChangeLogAccess
  readonly region: Region
  readonly reader: ChangeLogReader
  /** As the worker's. */
  readonly sql: postgres.Sql
  private readonly feed: ChangeLogOwner
  private isOver = false

  constructor(
    readonly folder = temporaryMemory(),
    troubleMs = NEVER_MS,
  ) {
    const log = {
      info: (message: string) => void this.infos.push(message),
      warn: (message: string, details: LogFields = {}) => {
        this.warnings.push(message)
        this.details.push(details)
      },
    }
    this.feed = new ChangeLogOwner({ folder, workers: 1, log, troubleMs })
    this.feed.follow({ url, feedUrl: url }, entities, 'notify')
    this.memory = this.feed.enter(1) as ChangeLogAccess
    this.region = openRegion(this.memory.path)
    this.reader = new ChangeLogReader(this.region)
    this.sql = this.connections('0')
    machines.push(this)
  }

  /** Why the cache was off, of those that were logged. */
  get reasons() {
    return this.details.map(({ reason }) => reason)
  }

  get process() {
    return this.feed
  }

  connections(number: string): postgres.Sql {
    const { machine, connections } = this.memory
    const connection = { 'roster.machine': machine, application_name: `${connections}/${number}` }
    return postgres(url, { max: 1, backoff: () => 0.1, onnotice: () => undefined, connection } as object)
  }

  /** The tables of which changes have arrived since the last call; null: all is to be forgotten. */
  received(): string[] | null {
    const tables: string[] = []
    return this.reader.read((text) => tables.push(JSON.parse(text)[0])) ? tables : null
  }

  async hears(): Promise<this> {
    await until(() => this.reader.isLive)
    this.received()
    return this
  }

  cache(): ListCache<string> {
    const subscriber = new ChangeSubscriber(this.reader, 1e6)
    return new ListCache<string>(subscriber, new InFlightWrites(new FlagReader(this.region), subscriber), 1e6)
  }

  async staysDeaf(ms: number): Promise<void> {
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; await Bun.sleep(10))
      expect(this.reader.isLive).toBe(false)
  }

  async stop(): Promise<void> {
    if (this.isOver) return
    this.isOver = true
    await this.sql.end({ timeout: 0 })
    this.region.close()
    await this.feed.stop()
  }
}

const pidOf = async (connection: postgres.Sql): Promise<number> =>
  (await connection`select pg_backend_pid() as pid`)[0]?.pid
const isThere = async (pid: number) => (await sql`select from pg_stat_activity where pid = ${pid}`).count > 0
/** As a server of the version before reads notifications: it knows no rows. */
const heads = (payloads: readonly string[]) => payloads.map((payload) => payload.split(' ').slice(0, 2).join(' '))
const written = async () => (await sql`select from company`).count

/** What the cache knows, once the lease has not run out, as it does for a moment on a busy machine. */
async function baselineOf(cache: ListCache<string>, selection: Selection): Promise<Baseline> {
  let baseline = cache.baseline(selection)
  await until(() => (baseline ??= cache.baseline(selection)) !== null)
  return baseline as Baseline
}

async function learn(cache: ListCache<string>, selection: Selection) {
  const look = await baselineOf(cache, selection)
  const count = `select count(*)::int as total, pg_current_snapshot()::text as snapshot from ${selection.table}`
  const [row] = await sql.unsafe(count)
  cache.learnTotal(look, row?.total, row?.snapshot)
}

describe('NOTIFY', () => {
  test(
    'is not sent for a machine’s own writes while no other one listens, and for each of another’s',
    async () => {
      const outsider = await overhear(url)
      await sql.unsafe(INSERT)
      expect(await outsider.take()).toEqual([]) // no machine listens
      const here = await new Machine().hears()
      await here.sql.unsafe(INSERT)
      expect(await outsider.take()).toEqual([])
      const there = await new Machine().hears()
      for (const writer of [here, there]) {
        await writer.sql.unsafe(INSERT)
        expect(heads(await outsider.take())).toEqual([`company ${writer.memory.machine}`])
      }
      await there.stop()
      await here.sql.unsafe(INSERT)
      expect(await outsider.take()).toEqual([])
      await sql.unsafe(INSERT)
      expect(heads(await outsider.take())).toEqual(['company '])
      await here.stop()
      await sql.unsafe(INSERT)
      expect(await outsider.take()).toEqual([])
      await outsider.stop()
    },
    TIMEOUT_MS,
  )

  test(
    'is sent for own writes too in transactions that do not see at each moment which machines listen',
    async () => {
      const outsider = await overhear(url)
      const here = await new Machine().hears()
      for (const level of ['repeatable read', 'serializable'])
        await here.sql.begin(`isolation level ${level}`, (transaction) => transaction.unsafe(INSERT))
      expect(heads(await outsider.take())).toEqual([`company ${here.memory.machine}`, `company ${here.memory.machine}`])
      await outsider.stop()
    },
    TIMEOUT_MS,
  )

  test(
    'resets nothing for writes of the machine’s own workers, and the table for writes of others',
    async () => {
      const [here, there] = await Promise.all([new Machine().hears(), new Machine().hears()])
      await here.sql.unsafe(INSERT)
      // All is forgotten where a connection did not answer in time, as on a busy machine.
      const hears = (machine: Machine, table: string) => until(() => machine.received()?.includes(table) ?? true)
      await hears(there, 'company')
      expect(here.received()).toEqual([])
      await here.sql.unsafe('truncate absence')
      await hears(there, 'absence')
      await sql.unsafe("insert into employee (known_as) values ('k')")
      for (const machine of [here, there]) await hears(machine, 'employee')
    },
    { timeout: TIMEOUT_MS, retry: 3 },
  )
})

describe('the cache is off', () => {
  test(
    'until every write has ended that began before the listener; it counts then',
    async () => {
      const writer = await sql.reserve()
      await writer`begin`
      await writer.unsafe(INSERT)
      const here = new Machine()
      const cache = here.cache()
      for (let look = 0; look < 50; look++) {
        expect(cache.baseline(COMPANIES)).toBe(null)
        await Bun.sleep(10)
      }
      await writer`commit`
      writer.release()
      await learn(cache, COMPANIES)
      expect((await baselineOf(cache, COMPANIES)).total).toBe(1)
      // Another one, of which nothing was known before its commit.
      await sql.unsafe(INSERT)
      await until(() => cache.baseline(COMPANIES)?.total === 2)
    },
    TIMEOUT_MS,
  )

  test(
    'from the loss of the listener on, and what was kept before is never used again',
    async () => {
      const here = await new Machine().hears()
      await sql`select pg_terminate_backend(pid) from change_listener`
      await until(() => !here.reader.isLive)
      await sql.unsafe(INSERT)
      await until(() => here.reader.isLive)
      expect(here.received()).toBe(null)
    },
    TIMEOUT_MS,
  )

  test(
    'from the moment on at which a write is given up, until its connection has ended',
    async () => {
      const here = await new Machine().hears()
      const events: string[] = []
      const { machine, connections, ring } = here.memory
      const database = new Database({
        url,
        poolSize: 1,
        prepare: true,
        changes: { machine, connections },
        onOutcomeUnknown(name, closed) {
          addUnknownOutcome(here.region, ring)
          events.push(`disowned, hearing: ${here.reader.isLive}`)
          closed.then(() => {
            events.push('closed')
            here.process.disown(name)
          })
        },
      })
      const [[pid]] = (await database.read({ text: 'select pg_backend_pid()::text', values: [] })) as [[string]]
      process.kill(Number(pid), 'SIGSTOP')
      try {
        const observe = () => observing((rows) => void events.push(`settled: ${rows}`))
        const [answer] = await Promise.allSettled([database.write({ text: INSERT, values: [] }, observe)])
        expect(answer?.status).toBe('rejected')
        expect(events.slice(0, 2)).toEqual(['disowned, hearing: false', 'settled: null'])
        await until(() => events.includes('closed'))
        await here.staysDeaf(1_000)
        // The pool goes on with other connections, under another name.
        expect(await database.read({ text: "select current_setting('application_name')", values: [] })).toEqual([
          [`${connections}/1`],
        ])
        await here.staysDeaf(200)
      } finally {
        process.kill(Number(pid), 'SIGCONT')
      }
      await until(() => here.reader.isLive)
      expect(here.received()).toBe(null)
      expect(await isThere(Number(pid))).toBe(false)
      const now = await written()
      await Bun.sleep(300)
      expect(await written()).toBe(now)
      await database.end(0)
    },
    TIMEOUT_MS,
  )

  test(
    'after the end of a worker until its connections have been ended; those of others go on',
    async () => {
      const here = await new Machine().hears()
      const [frozen, idle] = [here.connections('7'), here.connections('8')]
      const other = here.process.enter(2) as ChangeLogAccess
      const others = postgres(url, { max: 1, connection: { application_name: `${other.connections}/7` } })
      const pids = await Promise.all([frozen, idle, others].map(pidOf))
      process.kill(pids[0] as number, 'SIGSTOP')
      try {
        frozen.unsafe(INSERT).catch(() => undefined)
        here.process.leave(1)
        expect(here.reader.isLive).toBe(false)
        await until(async () => !(await isThere(pids[1] as number)))
        await here.staysDeaf(500)
      } finally {
        process.kill(pids[0] as number, 'SIGCONT')
      }
      await until(() => here.reader.isLive)
      expect(here.received()).toBe(null)
      expect(await Promise.all(pids.map(isThere))).toEqual([false, false, true])
      await Promise.all([frozen, idle, others].map((connection) => connection.end({ timeout: 0 })))
    },
    TIMEOUT_MS,
  )

  test(
    'while one of several outcomes is unknown; a worker that ends takes its own along',
    async () => {
      const here = await new Machine().hears()
      const { ring, connections } = here.memory
      for (const _ of [1, 2, 3]) addUnknownOutcome(here.region, ring)
      for (const _ of [1, 2]) here.process.disown(`${connections}/0`)
      await until(
        async () => (await sql`select from pg_stat_activity where application_name like 'roster %/0'`).count === 0,
      )
      await here.staysDeaf(500) // the third is not disowned yet
      here.process.leave(1)
      here.process.disown(`${connections}/0`)
      await here.hears()
    },
    TIMEOUT_MS,
  )
})

describe('lists come from the database', () => {
  const LINE = 'list cache off for tables whose rows may change without notice'

  test(
    'all of them, while a trigger of an operator’s writes along with a worker, and nothing from before is used afterwards',
    async () => {
      const here = await new Machine().hears()
      const cache = here.cache()
      for (const selection of [COMPANIES, EMPLOYEES]) {
        await learn(cache, selection)
        expect((await baselineOf(cache, selection)).total).toBe(0)
      }
      await sql.unsafe(`
        create function theirs() returns trigger language plpgsql as
          $$ begin insert into employee (known_as) values ('k'); return null; end $$;
        create trigger theirs after insert on company for each row execute function theirs()`)
      await here.sql.unsafe(INSERT)
      await until(() => here.warnings.length > 0)
      await until(() => here.reader.isLive)
      for (let look = 0; look < 20; look++, await Bun.sleep(10))
        expect([ABSENCES, COMPANIES, EMPLOYEES].map((selection) => cache.baseline(selection))).toEqual([
          null,
          null,
          null,
        ])
      expect(here.warnings).toEqual([LINE])
      expect(here.details).toEqual([{ tables: 'all', causes: 'trigger theirs of company' }])
      await sql`drop trigger theirs on company`
      expect((await baselineOf(cache, EMPLOYEES)).total).toBe(null)
      expect(here.infos).toContain('list cache on again for all tables')
      await learn(cache, EMPLOYEES)
      expect((await baselineOf(cache, EMPLOYEES)).total).toBe(1)
    },
    TIMEOUT_MS,
  )

  test(
    'those of one table, while another table inherits from it; those of the others come from the cache',
    async () => {
      const here = await new Machine().hears()
      const cache = here.cache()
      await learn(cache, ABSENCES)
      await sql`create table theirs () inherits (absence)`
      await sql`insert into theirs (id) values (1)`
      await until(() => here.warnings.length > 0 && cache.baseline(COMPANIES) !== null)
      expect(cache.baseline(ABSENCES)).toBe(null)
      expect(here.details).toEqual([{ tables: 'absence', causes: 'child table theirs of absence' }])
      await learn(cache, COMPANIES)
      expect((await baselineOf(cache, COMPANIES)).total).toBe(0)
      await sql`drop table theirs`
      expect((await baselineOf(cache, ABSENCES)).total).toBe(null)
    },
    TIMEOUT_MS,
  )

  test(
    'for a moment, where a column gets another type',
    async () => {
      const here = await new Machine().hears()
      const cache = here.cache()
      await learn(cache, ABSENCES)
      await sql`alter table absence alter reason type text collate "und-x-icu" using upper(reason)`
      await until(() => cache.baseline(ABSENCES)?.total === null)
      expect(here.warnings).toEqual([])
    },
    TIMEOUT_MS,
  )
})

test(
  'after a rest: the lease has run out at first, then the writes meanwhile are known',
  async () => {
    const machine = await new Machine().hears()
    // Longer than the lease, and shorter than a pulse comes at rest, but for a machine that stood still.
    for (let isOver = false; !isOver; isOver = !machine.reader.isLive) await Bun.sleep(2_000)
    await sql.unsafe(INSERT)
    await until(() => machine.reader.isLive)
    // It may have been sent behind the pulse.
    await until(() => machine.received()?.includes('company') ?? false)
  },
  TIMEOUT_MS,
)

describe('writer slots', () => {
  test(
    'are given away once at a time, and again when their process has ended, though its last outcome is unknown',
    async () => {
      const here = await new Machine().hears()
      const pid = await pidOf(here.sql)
      new FlagWriter(here.region, 1).begin(1)
      addUnknownOutcome(here.region, 1) // of a write that it has given up
      process.kill(pid, 'SIGSTOP')
      try {
        here.process.leave(1)
        const next = here.process.enter(2)
        expect([next?.ring, next?.connections === here.memory.connections]).toEqual([1, false])
        expect(new FlagReader(here.region).now(1)).toEqual([])
        // What is said late of the one before is not the next one's.
        here.process.disown(`${here.memory.connections}/0`)
        await here.staysDeaf(300)
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      await until(() => here.reader.isLive)
      expect(here.received()).toBe(null)
    },
    TIMEOUT_MS,
  )

  test(
    'are not used up by workers that die while outcomes of others cannot be settled',
    async () => {
      const here = await new Machine().hears()
      const pid = await pidOf(here.sql)
      process.kill(pid, 'SIGSTOP')
      try {
        for (let process = 1; process <= 20; process++) {
          here.process.leave(process)
          expect(here.process.enter(process + 1)?.ring).toBe(1)
        }
        await here.staysDeaf(200)
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      await here.hears()
    },
    TIMEOUT_MS,
  )

  test(
    'that are too few: while a worker runs that has none, the cache is off, and a line says so',
    async () => {
      const here = await new Machine(temporaryMemory(), 1_000).hears()
      const rings = [2, 3, 4].map((process) => here.process.enter(process)?.ring)
      expect(rings).toEqual([2, 3, 4])
      expect(here.process.enter(5)).toBe(null)
      expect(here.reader.isLive).toBe(false)
      expect(here.process.enter(6)).toBe(null)
      await until(() => here.reasons.includes(TOO_FEW_SLOTS))
      here.process.leave(5)
      await here.staysDeaf(200)
      here.process.leave(6)
      await until(() => here.reader.isLive)
      expect(here.received()).toBe(null)
      await until(() => here.infos.includes('list cache on again'))
      expect(here.reasons.filter((reason) => reason === TOO_FEW_SLOTS)).toHaveLength(1)
      expect(new Set(here.warnings)).toEqual(new Set(['list cache off: writes may be unknown']))
    },
    TIMEOUT_MS,
  )

  test(
    'of a server that was killed are free',
    async () => {
      const before = await new Machine().hears()
      const writer = new ChangeLogWriter(before.region, before.memory.ring)
      writer.append('["company"]')
      addUnknownOutcome(before.region, before.memory.ring)
      const after = await new Machine(before.folder).hears()
      writer.append('["company"]')
      expect([after.received(), before.reader.isLive]).toEqual([[], false])
      await until(() => after.reader.isLive)
    },
    TIMEOUT_MS,
  )
})

test(
  'an unknown outcome that lasts is logged once, and its end',
  async () => {
    const here = await new Machine(temporaryMemory(), 1_000).hears()
    const pid = await pidOf(here.sql)
    process.kill(pid, 'SIGSTOP')
    try {
      here.process.leave(1)
      await until(() => here.reasons.includes(UNKNOWN_OUTCOME))
      await Bun.sleep(500)
      expect(here.reasons.filter((reason) => reason === UNKNOWN_OUTCOME)).toHaveLength(1)
      expect(new Set(here.warnings)).toEqual(new Set(['list cache off: writes may be unknown']))
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await here.hears()
    await until(() => here.infos.includes('list cache on again'))
  },
  TIMEOUT_MS,
)

test(
  'a table without its trigger is logged at once, by name, and once',
  async () => {
    await sql`drop trigger company_changes on company`
    const here = new Machine()
    await until(() => here.warnings.length > 0)
    let looks = 0
    await until(() => ++looks > 10) // over several pulses
    expect(here.warnings).toEqual(['list cache off: writes may be unknown'])
    expect(here.reasons).toEqual(['no trigger notifies of all changes of company'])
    expect(here.reader.isLive).toBe(false)
  },
  TIMEOUT_MS,
)
