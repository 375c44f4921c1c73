import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Database } from '../../src/execute/database.ts'
import type { Statement } from '../../src/model/sql.ts'
import { useDatabase } from '../support/database.ts'
import { connect } from '../support/postgres.ts'

const CONNECTIONS = 3
const role = `roster_few_${process.pid}`

const { url: adminUrl, sql: admin } = useDatabase()
const url = Object.assign(new URL(adminUrl), { username: role, password: 'secret' }).href
const databases: Database[] = []
const others: postgres.Sql[] = []
beforeAll(async () => {
  await admin.unsafe(`create role ${role} login password 'secret' connection limit ${CONNECTIONS}`)
  await admin.unsafe(`grant all on all tables in schema public to ${role}`)
})
afterEach(async () => {
  await Promise.all([...databases.splice(0).map((database) => database.end()), leave()])
  await noneLeft()
})
afterAll(async () => {
  await admin.unsafe(`drop owned by ${role}; drop role ${role}`).simple()
})

/** A pool that wants more connections than PostgreSQL gives to its role. */
function open(queryMsMax = 20_000): Database {
  const database = new Database({ url, poolSize: 20, prepare: true, queryMsMax })
  databases.push(database)
  return database
}

/** Takes all connections that the role can have. */
async function takeAll() {
  others.push(...Array.from({ length: CONNECTIONS }, () => connect(url)))
  await Promise.all(others.map((other) => other`select 1`))
}

const leave = () => Promise.all(others.splice(0).map((other) => other.end()))

async function noneLeft() {
  while ((await admin`select from pg_stat_activity where usename = ${role}`).count > 0) await Bun.sleep(10)
}

const insert = (name: string): Statement => ({
  text: `with slow as materialized (select pg_sleep(0.01)::text as s)
    insert into company (name) select s || $1 from slow returning name`,
  values: [name],
})
const named = async (name: string) => Number((await admin`select from company where name = ${name}`).count)

test('D39: reads and writes wait if the pool gets only three of twenty connections, and each write is done once', async () => {
  const database = open()
  for (let round = 0; round < 3; round++) {
    const names = Array.from({ length: 25 }, (_, index) => `${round}/${index}`)
    const writes = names.map((name) => database.write(insert(name)))
    // Of different texts, so that they are not one batch.
    const reads = names.map((name) => database.read({ text: `select '${name}'::text, pg_sleep(0.005)::text`, values: [] }))
    expect((await Promise.all(writes)).flat(2)).toEqual(names)
    expect((await Promise.all(reads)).map(([row]) => row?.[0] as string)).toEqual(names)
    for (const name of names) expect(await named(name)).toBe(1)
  }
})

test('D39: a statement that gets no connection gets 503 at its deadline; the first free connection is used', async () => {
  await takeAll()
  const database = open(400)
  const answers = await Promise.allSettled([
    database.write(insert('never')),
    ...Array.from({ length: 5 }, (_, index) => database.read({ text: `select ${index}::text`, values: [] })),
  ])
  for (const answer of answers)
    expect(answer).toMatchObject({
      status: 'rejected',
      reason: { code: 'ServiceUnavailable', cause: { code: '53300' } },
    })
  expect(await named('never')).toBe(0)

  const patient = open()
  const waiting = patient.write(insert('at last'))
  await Bun.sleep(200)
  await leave()
  expect(await waiting).toEqual([['at last']])
  expect(await named('at last')).toBe(1)
})

test('a statement that waits for a connection fails with ServiceUnavailable when its pool is ended', async () => {
  await takeAll()
  const database = open()
  const waiting = Promise.allSettled([0, 1, 2].map((index) => database.read({ text: `select ${index}::text`, values: [] })))
  await Bun.sleep(100)
  await database.end()
  for (const answer of await waiting) expect(answer).toMatchObject({ reason: { code: 'ServiceUnavailable' } })
})

test('a pool that gets no connection uses a connection of its fallback pool, and its own as soon as it gets one', async () => {
  const shared = open()
  const backend = { text: 'select pg_backend_pid()::text', values: [] }
  const [[sharedPid] = []] = await shared.read(backend)
  const lists = new Database({ url, poolSize: 5, prepare: true, fallback: shared })
  databases.push(lists)
  const readBackend = () => lists.readUnbatched(backend, performance.now() + 20_000, () => undefined)
  others.push(...Array.from({ length: CONNECTIONS - 1 }, () => connect(url)))
  await Promise.all(others.map((other) => other`select 1`))
  const pids = await Promise.all([readBackend(), readBackend(), readBackend()])
  expect(pids.flat(2)).toEqual([sharedPid, sharedPid, sharedPid] as string[])
  await leave()
  while ((await admin`select from pg_stat_activity where usename = ${role}`).count > 1) await Bun.sleep(10)
  const [[ownPid] = []] = await readBackend()
  expect(ownPid).not.toBe(sharedPid as string)
})
