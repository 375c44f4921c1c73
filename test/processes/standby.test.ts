import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { readConfig } from '../../src/config/config.ts'
import { examine } from '../../src/doctor/doctor.ts'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { LISTENS } from '../support/place.ts'
import { type PlainPostgres, startPlainPostgres, startStandby } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, type RunningProgram, runMain, temporaryFolder, until } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000
const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }

describe('over a hot standby', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let primary: PlainPostgres
  let standby: PlainPostgres
  let server: RunningProgram
  let url: string
  let id: number
  beforeAll(async () => {
    folder = temporaryFolder()
    primary = await startPlainPostgres()
    const first = await start(primary)
    const body = JSON.stringify({ name: 'first' })
    id = ((await (await fetch(`${first.url}/Companies`, { method: 'POST', headers, body })).json()) as Json).id
    first.server.kill('SIGTERM')
    expect(await first.server.ended).toBe(0)
    standby = await startStandby(primary)
    ;({ server, url } = await start(standby))
  }, TIMEOUT_MS)
  afterAll(async () => {
    await endPrograms()
    await standby?.stop()
    await primary?.stop()
    rmSync(memoryFolderOf(folder.path, 0), { recursive: true, force: true })
    folder.remove()
  })

  async function start({ url: DATABASE_URL }: PlainPostgres, more: Record<string, string> = {}) {
    const settings = { DATA_DIR: folder.path, DATABASE_URL, WORKERS: '2', BOOTSTRAP_API_KEY: KEY, ...more }
    const server = runMain({ ...settings, RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' })
    const [, url = ''] = await server.waitFor(LISTENS)
    return { server, url }
  }

  async function ask(method: string, path: string, body?: object, more: Record<string, string> = {}, at = url) {
    const init = { method, headers: { ...headers, ...more }, body: body ? JSON.stringify(body) : null }
    const response = await fetch(at + path, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : (JSON.parse(text) as Json) }
  }

  test(
    'reads are answered, with what the primary has written meanwhile',
    async () => {
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
      expect((await ask('GET', `/Companies/${id}`)).body).toEqual({ id, name: 'first', enabled: false })
      expect((await ask('GET', '/Companies?Name=first&sort=Name')).headers.get('x-total-count')).toBe('1')
      const sql = connect(primary.url)
      await sql`insert into company (name) values ('second')`
      await sql.end()
      await until(async () => (await ask('GET', '/Companies')).headers.get('x-total-count') === '2')
    },
    TIMEOUT_MS,
  )

  test(
    'writes of each kind are ReadOnly, under an Idempotency-Key too, and none is done. D51',
    async () => {
      const writes: [string, string, object?][] = [
        ['POST', '/Companies', { name: 'x' }],
        ['POST', '/Employees', { firstName: 'x', companyId: id }],
        ['PUT', `/Companies/${id}`, { name: 'x' }],
        ['PATCH', `/Companies/${id}`, { enabled: true }],
        ['PATCH', `/Companies/${id}`, { name: 'x' }],
        ['DELETE', `/Companies/${id}`],
      ]
      for (const more of [{}, { 'Idempotency-Key': 'a' }, { 'If-Match': '*' }] as Record<string, string>[])
        for (const [method, path, body] of writes) {
          if (more['If-Match'] && method === 'POST') continue
          const answer = await ask(method, path, body, more)
          const code = answer.body?.Error?.Code
          expect([method, path, answer.status, code]).toEqual([method, path, 405, 'ReadOnly'])
          expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
        }
      expect((await ask('GET', `/Companies/${id}`)).body).toEqual({ id, name: 'first', enabled: false })
      expect(server.output()).not.toMatch(/ error /)
    },
    TIMEOUT_MS,
  )

  test(
    'the doctor knows it for one of its primary',
    async () => {
      const settings = { DATA_DIR: folder.path, DATABASE_URL: primary.url, DATABASE_READ_URLS: standby.url }
      const found = (await examine(() => readConfig(settings))).find(({ check }) => check.startsWith('standby '))
      expect(found).toMatchObject({ state: 'ok', text: 'it is a hot standby, and answers' })
    },
    TIMEOUT_MS,
  )

  describe.each(['off', 'on'])('beside its primary, with LIST_CACHE=%s', (LIST_CACHE) => {
    let here: string
    let beside: RunningProgram
    let onPrimary: postgres.Sql
    let onStandby: postgres.Sql
    beforeAll(async () => {
      const place = { DATA_DIR: join(folder.path, LIST_CACHE), LIST_CACHE, COLUMNS_MB: '0', WORKERS: '1' }
      ;({ server: beside, url: here } = await start(primary, { ...place, DATABASE_READ_URLS: standby.url }))
      ;[onPrimary, onStandby] = [connect(primary.url), connect(standby.url)]
    }, TIMEOUT_MS)
    afterAll(async () => {
      beside.kill('SIGTERM')
      await beside.ended
      await onPrimary?.end()
      await onStandby?.end()
      rmSync(memoryFolderOf(join(folder.path, LIST_CACHE), 0), { recursive: true, force: true })
    })

    const create = (name: string) => ask('POST', '/Companies', { name }, {}, here)
    const totalOf = async (path: string, more: Record<string, string> = {}) =>
      Number((await ask('GET', path, undefined, more, here)).headers.get('x-total-count'))
    /** How often rows of companies were looked for there; PostgreSQL counts within a second or so. */
    const looks = async () => {
      const [row] = await onStandby`
        select (seq_scan + idx_scan)::int as looks from pg_stat_user_tables where relname = 'company'`
      return row?.looks as number
    }
    let serial = 0
    const newName = () => `${LIST_CACHE} ${serial++}`

    test(
      'lists that memory does not answer are found there, and have every write that was answered before. D50',
      async () => {
        const before = await looks()
        for (let round = 0; round < 30; round++) {
          const name = newName()
          expect((await create(name)).status).toBe(201)
          expect(await totalOf(`/Companies?Name=${name}`)).toBe(1)
          expect((await ask('GET', `/Companies?Name=${name}&Enabled=true`, undefined, {}, here)).body).toEqual([])
        }
        // While it goes on being asked, PostgreSQL counts within a second.
        await until(async () => {
          await totalOf(`/Companies?Name=!=${newName()}`)
          return (await looks()) > before
        })
        // As of now also what other programs have written.
        for (let round = 0; round < 20; round++) {
          const name = newName()
          await onPrimary`insert into company (name) values (${name})`
          expect(await totalOf(`/Companies?Name=${name}`, { 'Cache-Control': 'no-cache' })).toBe(1)
        }
      },
      TIMEOUT_MS,
    )

    test(
      'one that is behind is left alone, and asked again when it has caught up',
      async () => {
        await onStandby`select pg_wal_replay_pause()`
        await until(async () => (await onStandby`select pg_get_wal_replay_pause_state() as is`)[0]?.is === 'paused')
        for (let round = 0; round < 20; round++) {
          const name = newName()
          await create(name)
          expect(await totalOf(`/Companies?Name=${name}`)).toBe(1)
        }
        const before = await looks()
        await onStandby`select pg_wal_replay_resume()`
        await until(async () => {
          const name = newName()
          await create(name)
          expect(await totalOf(`/Companies?Name=${name}`)).toBe(1)
          return (await looks()) > before
        })
      },
      TIMEOUT_MS,
    )

    test(
      'what it shows before the primary does, which waits for another standby, is not shown to clients',
      async () => {
        const setNames = async (names: string) => {
          await onPrimary.unsafe(`alter system set synchronous_standby_names = '${names}'`)
          await onPrimary`select pg_reload_conf()`
        }
        await setNames('another')
        const other = connect(primary.url)
        const isHeld = async () =>
          (await onPrimary`select from pg_stat_activity where wait_event = 'SyncRep'`).length > 0
        // The reload reaches commits a moment later: those before it are not held.
        let [name, isDone] = ['', true]
        let held: Promise<unknown> = Promise.resolve()
        while (isDone) {
          ;[name, isDone] = [newName(), false]
          held = other`insert into company (name) values (${name})`.then(() => {
            isDone = true
          })
          await until(async () => isDone || (await isHeld()))
        }
        await until(async () => (await onStandby`select from company where name = ${name}`).length === 1)
        for (let round = 0; round < 3; round++)
          expect(await totalOf(`/Companies?Name=${name}`, { 'Cache-Control': 'no-cache' })).toBe(0)
        expect(await isHeld()).toBe(true)
        await setNames('')
        await held
        expect(await totalOf(`/Companies?Name=${name}`, { 'Cache-Control': 'no-cache' })).toBe(1)
        await other.end()
      },
      TIMEOUT_MS,
    )

    test(
      'what clients read never goes back, by many at once, while its connections are ended',
      async () => {
        const names = [newName(), newName()] as [string, string]
        let isDone = false
        let written = 0
        const write = async () => {
          for (; written < 100; written++) expect((await create(names[written % 2] as string)).status).toBe(201)
          isDone = true
        }
        const read = async (own: number) => {
          let [seen, turn] = [0, 0]
          while (!isDone) {
            const least = written
            const page = 1 + (turn++ % 3)
            const total = await totalOf(`/Companies?Name=>=${LIST_CACHE}&Name=!=${own} ${turn}&page=${page}`)
            // Of the companies that the writer had in answers before this list was asked for.
            expect(total).toBeGreaterThanOrEqual(Math.max(seen, least))
            seen = total
          }
        }
        const end = async () => {
          while (!isDone) {
            await onStandby`
              select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%/standby/%'`
            await Bun.sleep(50)
          }
        }
        await Promise.all([write(), end(), ...[1, 2, 3, 4].map(read)])
        const [row] = await onPrimary`select count(*)::int as total from company where name = any (${names})`
        expect(row?.total).toBe(100)
        const totals = await Promise.all(names.map((name) => totalOf(`/Companies?Name=${name}`)))
        expect(totals).toEqual([50, 50])
        expect(beside.output()).not.toMatch(/ error /)
      },
      TIMEOUT_MS,
    )
  })

  test(
    'that is promoted writes work, without another start, and show in lists',
    async () => {
      const sql = connect(standby.url)
      await sql`select pg_promote()`
      await sql.end()
      await until(async () => (await ask('POST', '/Companies', { name: 'third' })).status === 201)
      expect((await ask('GET', '/Companies?Name=third')).headers.get('x-total-count')).toBe('1')
      expect((await ask('PATCH', `/Companies/${id}`, { name: 'renamed' })).status).toBe(200)
      expect((await ask('GET', '/Companies?Name=renamed')).headers.get('x-total-count')).toBe('1')
    },
    TIMEOUT_MS,
  )
})
