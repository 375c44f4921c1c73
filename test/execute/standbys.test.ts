import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { Database } from '../../src/execute/database.ts'
import { ListReads } from '../../src/execute/listReads.ts'
import { endBefore, Standby, Standbys, unseenBefore } from '../../src/execute/standbys.ts'
import { sql as piece, toStatement } from '../../src/model/sql.ts'
import { asPlainRole, connect, createDatabase } from '../support/postgres.ts'

let url: string
let sql: postgres.Sql
let database: Database
beforeAll(async () => {
  url = await asPlainRole(await createDatabase('empty'))
  sql = connect(url)
  database = new Database({ url, poolSize: 4, prepare: true })
})
afterAll(async () => {
  await database.end(0)
  await sql.end()
})

const silent = { info() {}, warn() {} }
function standbyOf(reading: Database): Standby {
  return new Standby(
    reading,
    new ListReads({ quick: reading, own: reading, places: 2, mayCancel: true }),
    'host',
    silent,
  )
}
const list = (reads: ListReads) => reads.readQuick(toStatement(piece`select 'found'::text`))
const never = () => false

describe('a role without more rights than the server needs', () => {
  test.each([
    'pg_current_wal_insert_lsn()',
    'pg_last_wal_replay_lsn()',
    'pg_control_checkpoint()',
    'pg_control_recovery()',
  ])('may ask %s', async (text) => {
    const [row] = await sql`select has_function_privilege(${text}, 'execute') as may`
    expect(row?.may).toBe(true)
  })
})

test('what is no standby finds nothing, so that the primary is asked', async () => {
  let reads = 0
  const standbys = new Standbys(database, [standbyOf(database)])
  const counting = (standby: ListReads) => {
    reads++
    return list(standby)
  }
  expect([await standbys.find(counting, never), reads]).toEqual([null, 0])
})

test('one that is away finds nothing, and is then left alone for a while', async () => {
  const away = new Database({ url: 'postgres://roster:roster@127.0.0.1:1/roster', poolSize: 1, prepare: true })
  const standby = standbyOf(away)
  const standbys = new Standbys(database, [standby])
  expect(await standbys.find(list, never)).toBeNull()
  expect(standby.isResting).toBe(true)
  await away.end(0)
})

test('where the primary does not say how far it is, none is asked', async () => {
  const away = new Database({ url: 'postgres://roster:roster@127.0.0.1:1/roster', poolSize: 1, prepare: true })
  expect(await new Standbys(away, [standbyOf(database)]).find(list, never)).toBeNull()
  await away.end(0)
})

test('a place behind the head of a page of the log is the end of the page before', () => {
  const page = 8_192
  expect([24, 40, page + 24, 5 * page + 40].map(endBefore)).toEqual([0, 0, page, 5 * page])
  expect([0, 8, 32, 48, page, page - 8, page + 25, 5 * page + 64].map(endBefore)).toEqual([
    0,
    8,
    32,
    48,
    page,
    page - 8,
    page + 25,
    5 * page + 64,
  ])
})

test('a snapshot does not see what runs and what comes later, of which only what a standby may have ended counts', () => {
  expect(unseenBefore(20, '10:20:')).toEqual([])
  expect(unseenBefore(20, '10:20:12,15')).toEqual([12, 15])
  expect(unseenBefore(15, '10:20:12,15')).toEqual([12])
  expect(unseenBefore(23, '10:20:12')).toEqual([12, 20, 21, 22])
  expect(unseenBefore(5_000, '10:20:')).toBeNull()
})
