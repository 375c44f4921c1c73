import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { LISTENS } from '../support/place.ts'
import { type PlainPostgres, startPlainPostgres, startStandby } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder, until } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000

let folder: ReturnType<typeof temporaryFolder>
let primary: PlainPostgres
let standby: PlainPostgres
let isPrimaryThere = false
let onStandby: postgres.Sql
/** Over the primary, and its standby for lists; and over the standby alone. */
let [first, second]: [string, string] = ['', '']
const places = () => ['first', 'second'].map((place) => join(folder.path, place))
beforeAll(async () => {
  folder = temporaryFolder()
  primary = await startPlainPostgres()
  isPrimaryThere = true
  standby = await startStandby(primary)
  const [one = '', other = ''] = places()
  first = await start(one, primary, { DATABASE_READ_URLS: standby.url })
  onStandby = connect(standby.url)
  await until(async () => {
    const found = await onStandby`select from pg_tables where tablename = 'idempotency_key'`
    return found.length === 1
  })
  second = await start(other, standby, {})
}, TIMEOUT_MS)
afterAll(async () => {
  await endPrograms()
  await onStandby?.end()
  await standby?.stop()
  if (isPrimaryThere) await primary?.stop()
  for (const place of places()) rmSync(memoryFolderOf(place, 0), { recursive: true, force: true })
  folder.remove()
})

async function start(DATA_DIR: string, { url: DATABASE_URL }: PlainPostgres, more: Record<string, string>) {
  const settings = { DATA_DIR, DATABASE_URL, WORKERS: '1', BOOTSTRAP_API_KEY: KEY, ...more }
  const server = runMain({ ...settings, RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' })
  return (await server.waitFor(LISTENS))[1] as string
}

async function ask(at: string, method: string, path: string, body?: object, position = '') {
  const headers: Record<string, string> = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
  if (position !== '') headers['X-Roster-After'] = position
  const answer = await fetch(at + path, { method, headers, body: body ? JSON.stringify(body) : null })
  const text = await answer.text()
  const json = (text === '' ? null : JSON.parse(text)) as Json
  return {
    is: json?.Error?.Code ?? answer.status,
    id: json?.id,
    total: Number(answer.headers.get('x-total-count')),
    position: answer.headers.get('x-roster-position') ?? '',
  }
}

const create = (at: string) => ask(at, 'POST', '/Companies', { name: 'x' })
let rows = 0

test(
  'a server over a standby includes a write once that has replayed it, and says NotYetThere while it has not',
  async () => {
    await onStandby`select pg_wal_replay_pause()`
    await until(async () => {
      const [row] = await onStandby`select pg_get_wal_replay_pause_state() as state`
      return row?.state === 'paused'
    })
    const { position, id } = await create(first)
    rows++
    // Nor do lists of the first wait for a standby that stands still.
    expect((await ask(first, 'GET', '/Companies?Name=x', undefined, position)).total).toBe(rows)
    const paths = ['/Companies', '/Companies?Name=x&sort=-Name', `/Companies/${id}`]
    const early = await Promise.all(paths.map((path) => ask(second, 'GET', path, undefined, position)))
    expect(early.map(({ is }) => is)).toEqual(['NotYetThere', 'NotYetThere', 'NotYetThere'])
    const waiting = ask(second, 'GET', '/Companies?Name=x', undefined, position)
    await onStandby`select pg_wal_replay_resume()`
    expect([200, 'NotYetThere']).toContain((await waiting).is)
    await until(async () => (await ask(second, 'GET', '/Companies', undefined, position)).is === 200)
    for (let round = 0; round < 30; round++) {
      const next = await create(first)
      rows++
      const [list, row] = await Promise.all([
        ask(second, 'GET', '/Companies?Name=x', undefined, next.position),
        ask(second, 'GET', `/Companies/${next.id}`, undefined, next.position),
      ])
      // A standby on a busy machine may be behind for longer.
      if (list.is !== 'NotYetThere') expect([list.is, list.total]).toEqual([200, rows])
      if (row.is !== 'NotYetThere') expect(row.is).toBe(200)
    }
  },
  TIMEOUT_MS,
)

test(
  'behind a promotion positions of before are good, but for writes that were lost; new ones are of the new timeline',
  async () => {
    const before = await create(first)
    rows++
    await until(
      async () => (await ask(second, 'GET', `/Companies/${before.id}`, undefined, before.position)).is === 200,
    )
    isPrimaryThere = false
    await primary.stop()
    await onStandby`select pg_promote()`
    let after = await create(second)
    await until(async () => {
      if (after.is !== 201) after = await create(second)
      return after.is === 201
    })
    rows++
    expect(before.position).toMatch(/^\w+-1-/)
    const lost = `${before.position}000000`
    for (const path of ['/Companies?Name=x', `/Companies/${after.id}`]) {
      // The next look at the database finds the new timeline, within seconds.
      await until(async () =>
        /^\w+-2-/.test((await ask(second, 'PATCH', `/Companies/${after.id}`, { name: 'x' })).position),
      )
      const kept = await ask(second, 'GET', path, undefined, `${before.position},${after.position}`)
      expect([path, kept.is]).toEqual([path, 200])
      if (!Number.isNaN(kept.total) && path.includes('?')) expect(kept.total).toBe(rows)
      expect((await ask(second, 'GET', path, undefined, lost)).is).toBe('InvalidHeader')
    }
  },
  TIMEOUT_MS,
)
