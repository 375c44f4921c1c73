import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { Database, type DatabaseOptions } from '../../src/execute/database.ts'
import { Abandoned, ListReads, shareConnections } from '../../src/execute/listReads.ts'
import type { BatchableStatement } from '../../src/model/batch.ts'
import type { Caller } from '../../src/model/key.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/process.ts'

/** A statement that is not ended by a test's client, or by the test, stays. */
const STAYING = { statementMsMax: 60_000, queryMsMax: 60_000 }

const { url, sql, poolOf } = useDatabase()
const sharedPool = poolOf({ poolSize: 1 })
const listPool = poolOf(STAYING)
let reads: ListReads

beforeEach(() => {
  reads = new ListReads({ sharedPool, listPool, connections: 2, mayCancel: true })
})

/** Returns a caller whose client stays until `leave`. */
function callerOf(key: string): Caller & { leave(): void } {
  const controller = new AbortController()
  return { key, request: { signal: controller.signal }, leave: () => controller.abort() }
}

/** Returns a list that waits for a lock that `held` has. */
const locked = (name: string): BatchableStatement => ({ text: `select '${name}', pg_advisory_xact_lock_shared(1)`, values: [] })
const read = (name: string): BatchableStatement => ({ text: `select '${name}'`, values: [] })

/** Runs `work` while statements of `locked` wait; `open` lets them go on. */
async function held(work: (open: () => void) => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const holder = await sql.reserve()
  await holder`select pg_advisory_lock(1)`
  promise.then(async () => {
    await holder`select pg_advisory_unlock(1)`
    holder.release()
  })
  try {
    await work(resolve)
  } finally {
    resolve()
  }
}

const running = async () =>
  (
    await sql`select query from pg_stat_activity where wait_event = 'advisory' and datname = current_database() order by query`
  ).map(({ query }) => query.slice(8, 10))

describe('fairness between keys', () => {
  test('lists of one key leave a connection for lists of other keys', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const own = Promise.all(['a1', 'a2', 'a3'].map((name) => reads.read(locked(name), a)))
      await until(async () => (await running()).length === 1)
      expect(await reads.read(read('b1'), b)).toEqual([['b1']])
      expect(await running()).toEqual(['a1'])
      open()
      expect((await own).map(([row]) => row?.[0])).toEqual(['a1', 'a2', 'a3'])
    }))

  test('equal lists that wait are sent as one statement, even if they are of different keys', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const first = [reads.read(locked('a1'), a), reads.read(locked('b1'), b)]
      await until(async () => (await running()).length === 2)
      const names = [a, b, a].map((caller) => reads.read(read('c1'), caller))
      open()
      await Promise.all(first)
      const answers = await Promise.all(names)
      expect(answers).toEqual([[['c1']], [['c1']], [['c1']]])
      expect(answers[1]).toBe(answers[0] as (typeof answers)[0])
    }))

  test('a list of a key with too many waiting lists is refused with ServiceUnavailable; a list of another key is answered', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const many = Array.from({ length: 202 }, (_, number) => reads.read(locked(`a${number}`), a))
      const ends = Promise.allSettled(many)
      await expect(many.at(-1) as Promise<unknown>).rejects.toMatchObject({ code: 'ServiceUnavailable' })
      expect(await reads.read(read('b1'), b)).toEqual([['b1']])
      open()
      expect((await ends).filter(({ status }) => status === 'rejected')).toHaveLength(1)
    }))
})

describe('clients that leave', () => {
  test('a waiting list is dropped if its only client leaves, and answered if another client waits for it, too', () =>
    held(async (open) => {
      const [a, b, c] = [callerOf('a'), callerOf('b'), callerOf('c')]
      const first = [reads.read(locked('b1'), b), reads.read(locked('c1'), c)]
      await until(async () => (await running()).length === 2)
      const left = reads.read(read('gone'), a)
      const shared = [reads.read(read('both'), a), reads.read(read('both'), b)]
      a.leave()
      await expect(left).rejects.toBeInstanceOf(Abandoned)
      open()
      const answers = await Promise.all([...first, ...shared])
      expect(answers.map(([row]) => row?.[0])).toEqual(['b1', 'c1', 'both', 'both'])
    }))

  test('the running statement of a list is ended if its client leaves', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const [own, other] = [reads.read(locked('a1'), a), reads.read(locked('b1'), b)]
      await until(async () => (await running()).length === 2)
      a.leave()
      await expect(own).rejects.toBeInstanceOf(Abandoned)
      await until(async () => (await running()).length === 1)
      expect(await running()).toEqual(['b1'])
      open()
      expect((await other)[0]?.[0]).toBe('b1')
    }))

  test('a client that leaves does not end the equal list that another client has requested later', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const own = reads.read(locked('a1'), a)
      await until(async () => (await running()).length === 1)
      const later = reads.read(locked('a1'), b)
      await until(async () => (await running()).length === 2)
      a.leave()
      await expect(own).rejects.toBeInstanceOf(Abandoned)
      open()
      expect((await later)[0]?.[0]).toBe('a1')
    }))
})

describe('lists of one parent row', () => {
  const batch = { text: 'select x from unnest($1::text[]) x', matchBy: 'position', distinct: null } as const
  const ofRow = (text: string): BatchableStatement => ({ text, values: [], batch })
  const ofOwner = (parentRow: string) => ({ parentRow, isCostly: false })

  test('a list of one parent row does not wait for a connection of the list pool', () =>
    held(async (open) => {
      const a = callerOf('a')
      const long = ['a1', 'a2'].map((name) => reads.read(locked(name), a))
      await until(async () => (await running()).length === 1)
      expect(await reads.read(ofRow("select 'short'"), a, ofOwner('employee_id 1'))).toEqual([['short']])
      open()
      await Promise.all(long)
    }))

  test('for a minute after a list of a parent row was slow, lists of this row wait for the list pool', () =>
    held(async (open) => {
      const a = callerOf('a')
      await reads.read(ofRow("select 'long', pg_sleep(0.2)"), a, ofOwner('employee_id 2'))
      const long = ['a1', 'a2'].map((name) => reads.read(locked(name), a))
      await until(async () => (await running()).length === 1)
      let isAnswered = false
      const own = reads.read(ofRow("select 'of row'"), a, ofOwner('employee_id 2')).then(() => {
        isAnswered = true
      })
      await reads.read(ofRow("select 'of another'"), a, ofOwner('employee_id 3'))
      expect(isAnswered).toBe(false)
      const now = performance.now.bind(performance)
      const clock = spyOn(performance, 'now').mockImplementation(() => now() + 61_000)
      const later = reads.read(ofRow("select 'quick again'"), a, ofOwner('employee_id 2'))
      clock.mockRestore()
      expect(await later).toEqual([['quick again']])
      open()
      await Promise.all([...long, own])
    }))
})

describe('costly lists', () => {
  const COSTLY = { parentRow: null, isCostly: true }
  const four = poolOf({ poolSize: 4, ...STAYING })
  beforeEach(() => {
    reads = new ListReads({ sharedPool, listPool: four, connections: 4, mayCancel: true })
  })
  const later = (ms: number) => {
    const now = performance.now.bind(performance)
    return spyOn(performance, 'now').mockImplementation(() => now() + ms)
  }

  test('one costly list per key and two in total run at a time, while other lists of these keys are answered', () =>
    held(async (open) => {
      const [a, b, c] = [callerOf('a'), callerOf('b'), callerOf('c')]
      const own = ['a1', 'a2', 'a3'].map((name) => reads.read(locked(name), a, COSTLY))
      await until(async () => (await running()).length > 0)
      expect(await reads.read(read('ax'), a)).toEqual([['ax']])
      expect(await running()).toEqual(['a1'])
      const others = [reads.read(locked('b1'), b, COSTLY), reads.read(locked('c1'), c, COSTLY)]
      await until(async () => (await running()).length > 1)
      for (const [name, caller] of [
        ['ay', a],
        ['bx', b],
        ['cx', c],
      ] as const)
        expect(await reads.read(read(name), caller)).toEqual([[name]])
      expect(await running()).toEqual(['a1', 'b1'])
      open()
      const answers = await Promise.all([...own, ...others])
      expect(answers.map(([row]) => row?.[0])).toEqual(['a1', 'a2', 'a3', 'b1', 'c1'])
    }))

  test('a list of one parent row does not count as costly, since its rows are few', () =>
    held(async (open) => {
      const a = callerOf('a')
      const owned = { parentRow: 'employee_id 4', isCostly: true }
      const two = ['a1', 'a2'].map((name) => reads.read(locked(name), a, owned))
      await until(async () => (await running()).length === 2)
      open()
      await Promise.all(two)
    }))

  test('a costly list that waits too long gets 503 with Retry-After and advice, and is not read later', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const first = reads.read(locked('a1'), a, COSTLY)
      await until(async () => (await running()).length === 1)
      const [second, other] = [reads.read(locked('a2'), a, COSTLY), reads.read(locked('b1'), b)]
      second.catch(() => undefined)
      first.catch(() => undefined)
      other.catch(() => undefined)
      const clock = later(6_000)
      const error = await second.catch((error) => error)
      clock.mockRestore()
      expect(error).toMatchObject({ code: 'ServiceUnavailable', headers: { 'Retry-After': '1' } })
      expect(error.message).toMatch(/one at a time for each key.* Send them one after the other; retry after the seconds/)
      open()
      // What waited too long is not read when its turn comes.
      expect(await reads.read(read('a3'), a, COSTLY)).toEqual([['a3']])
    }))

  test('a costly list whose turn comes too late gets 503, and the next list has its turn', () =>
    held(async (open) => {
      const [a, b] = [callerOf('a'), callerOf('b')]
      const first = reads.read(locked('a1'), a, COSTLY)
      await until(async () => (await running()).length === 1)
      const second = reads.read(locked('a2'), a, COSTLY).catch((error) => error)
      const clock = later(3_500)
      const [third, other] = [reads.read(read('a3'), a, COSTLY), reads.read(locked('b1'), b)]
      await until(async () => (await running()).length === 2)
      open()
      const answers = await Promise.all([first, third, other])
      clock.mockRestore()
      expect(answers.map(([row]) => row?.[0])).toEqual(['a1', 'a3', 'b1'])
      expect((await second).message).toContain('one at a time for each key')
    }))

  test('a list counts as costly for a minute after a slow list with the same text, or of the same parent row', async () => {
    const [a, sleep] = [callerOf('a'), "case when $1 = 'long' then pg_sleep(0.7)::text end"]
    const of = (text: string, value: string): BatchableStatement => ({ text: `select $1, ${text}`, values: [value] })
    const besideCostly = async (
      work: (own: Promise<unknown>) => Promise<void>,
      list: BatchableStatement,
      parentRow: string | null,
    ) =>
      held(async (open) => {
        const costly = reads.read(locked('a1'), a, COSTLY)
        await until(async () => (await running()).length === 1)
        const own = reads.read(list, a, { parentRow, isCostly: false })
        await work(own)
        open()
        await Promise.all([costly, own])
      })
    const expectRead = (list: BatchableStatement, parentRow: string | null = null) =>
      besideCostly(async (own) => void (await own), list, parentRow)
    const expectHeldUp = async (list: BatchableStatement, parentRow: string | null = null) => {
      let isAnswered = false
      const work = async (own: Promise<unknown>) => {
        own.then(() => {
          isAnswered = true
        })
        for (const name of ['ax', 'ay', 'az']) await reads.read(read(name), a)
        expect(isAnswered).toBe(false)
      }
      await besideCostly(work, list, parentRow)
    }
    await expectRead(of(sleep, 'short'))
    await reads.read(of(sleep, 'long'), a)
    await expectHeldUp(of(sleep, 'short'))
    await expectRead(of(`${sleep} as other`, 'short'))
    const clock = later(61_000)
    await expectRead(of(sleep, 'short'))
    clock.mockRestore()
    await reads.read(of(`${sleep} as own`, 'long'), a, { parentRow: 'employee_id 5', isCostly: false })
    await expectHeldUp(of('1', 'any'), 'employee_id 5')
    await expectRead(of(`${sleep} as own`, 'short'), 'employee_id 6')
  })
})

test('the process id of each backend that runs lists is reported once', async () => {
  const backends: number[] = []
  const onBackend = (backend: number) => void backends.push(backend)
  const reads = new ListReads({ sharedPool, listPool, connections: 2, mayCancel: true, onBackend })
  const own1 = await reads.read({ text: 'select pg_backend_pid()::text', values: [] }, callerOf('a'))
  for (let count = 0; count < 10; count++) await reads.read(read('again'), callerOf('a'))
  await until(async () => backends.length > 0)
  expect(backends).toContain(Number(own1[0]?.[0]))
  expect(new Set(backends).size).toBe(backends.length)
})

test('the process id of a backend that is started for a list is reported while it runs the list', () =>
  held(async (open) => {
    const fresh = new Database({ url, poolSize: 1, prepare: true, statementMsMax: 60_000, queryMsMax: 60_000 })
    const backends: number[] = []
    const onBackend = (backend: number) => void backends.push(backend)
    const reads = new ListReads({ sharedPool, listPool: fresh, connections: 1, mayCancel: true, onBackend })
    const list = reads.read(locked('a1'), callerOf('a'))
    await until(async () => (await running()).length === 1)
    await until(() => backends.length === 1)
    open()
    await list
    await fresh.end()
  }))

test('D39: four lists in turn on a frozen connection get 503, and the fifth list gets a new connection', async () => {
  const frozen = new Database({ url, poolSize: 1, prepare: true, queryMsMax: 300 })
  const reads = new ListReads({ sharedPool, listPool: frozen, connections: 1, mayCancel: true })
  const ask = (text: string) => reads.read({ text, values: [] }, callerOf('a'))
  const [[pid] = []] = await ask('select pg_backend_pid()::text')
  process.kill(Number(pid), 'SIGSTOP')
  try {
    const lists = await Promise.allSettled(['1', '2', '3', '4'].map((name) => ask(`select '${name}'`)))
    const unavailable = { status: 'rejected', reason: { code: 'ServiceUnavailable', headers: { 'Retry-After': '1' } } }
    expect(lists).toMatchObject([unavailable, unavailable, unavailable, unavailable])
    expect(await ask("select 'new'")).toEqual([['new']])
  } finally {
    process.kill(Number(pid), 'SIGCONT')
    await frozen.end()
  }
})

describe('lists that PostgreSQL ends', () => {
  const code = (reads: ListReads, text: string) =>
    reads.read({ text, values: [] }, callerOf('a')).then(
      () => 'read',
      (error) => [error.code, error.headers['Retry-After'] ?? null],
    )
  const withPool = async <T>(options: Partial<DatabaseOptions>, work: (reads: ListReads) => Promise<T>): Promise<T> => {
    const listPool = new Database({ url, poolSize: 1, prepare: true, ...options })
    const result = await work(new ListReads({ sharedPool, listPool, connections: 1, mayCancel: true }))
    await listPool.end()
    return result
  }

  test('D39: a list that takes too long fails with TooCostly, without Retry-After', async () => {
    const end = (reads: ListReads) => code(reads, 'select pg_sleep(30)')
    expect(await withPool({ statementMsMax: 100 }, end)).toEqual(['TooCostly', null])
  })

  test('D39: a list that needs too many temporary files fails with TooCostly', async () => {
    const name = new URL(url).pathname.slice(1)
    await sql.unsafe(`alter database ${name} set temp_file_limit = '100kB'`)
    const sort = 'select * from generate_series(1, 300000) as number order by md5(number::text) offset 299999'
    expect(await withPool({}, (reads) => code(reads, sort))).toEqual(['TooCostly', null])
    await sql.unsafe(`alter database ${name} reset temp_file_limit`)
  })

  test('a list whose table another program has locked fails with ServiceUnavailable and Retry-After', async () => {
    const work = (reads: ListReads) => code(reads, 'select count(*) from company')
    const holder = await sql.reserve()
    await holder`begin`
    await holder`lock table company in access exclusive mode`
    expect(await withPool({ lockMsMax: 100 }, work)).toEqual(['ServiceUnavailable', '1'])
    await holder`rollback`
    holder.release()
  })
})

test.each([
  [1, { lists: 1, others: 1 }],
  [2, { lists: 1, others: 2 }],
  [3, { lists: 1, others: 2 }],
  [4, { lists: 1, others: 3 }],
  [10, { lists: 4, others: 6 }],
])('of %i connections, lists get nearly half; a small pool is given one more connection', (poolSize, shares) => {
  expect(shareConnections(poolSize)).toEqual(shares)
})
