import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { memoryFolderOf } from '../../src/os/folder.ts'
import { LISTENS } from '../support/place.ts'
import { type PlainPostgres, startPlainPostgres, startStandby } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { endPrograms, runMain, temporaryFolder, until } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000
/** Of each writer, before the failover and behind it. */
const WRITES = 25
const WRITERS = 4

describe('two servers over a primary and its synchronous standby, by one address of both', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let primary: PlainPostgres
  let standby: PlainPostgres
  let behind: postgres.Sql
  const urls: string[] = []
  const places = () => [1, 2].map((place) => join(folder.path, String(place)))
  beforeAll(async () => {
    folder = temporaryFolder()
    primary = await startPlainPostgres()
    standby = await startStandby(primary)
    const sql = connect(primary.url)
    await sql.unsafe("alter system set synchronous_standby_names = '*'")
    await sql`select pg_reload_conf()`
    await until(async () => (await sql`select from pg_stat_replication where sync_state = 'sync'`).length === 1)
    await sql.end()
    const [first, second] = [new URL(primary.url), new URL(standby.url)]
    const both = `${first.username}:${first.password}@${first.host},${second.host}`
    for (const DATA_DIR of places()) {
      const DATABASE_URL = `postgres://${both}${first.pathname}?target_session_attrs=primary`
      const settings = { DATA_DIR, DATABASE_URL, WORKERS: '1', BOOTSTRAP_API_KEY: KEY, LOG_LEVEL: 'error' }
      const server = runMain({ ...settings, RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' })
      urls.push((await server.waitFor(LISTENS))[1] as string)
    }
    behind = connect(standby.url)
  }, TIMEOUT_MS)
  afterAll(async () => {
    await endPrograms()
    await behind?.end()
    await standby?.stop()
    await primary?.stop()
    for (const place of places()) rmSync(memoryFolderOf(place, 0), { recursive: true, force: true })
    folder.remove()
  })

  async function ask(method: string, server: number, path: string, body?: object) {
    const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(urls[server] + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await answer.text()
    return { status: answer.status, total: answer.headers.get('x-total-count'), body: JSON.parse(text) as Json }
  }

  test(
    'the promotion of the standby under load loses no write that was answered, and lists are true on both',
    async () => {
      const answered: string[] = []
      const others = new Set<number>()
      let isOver = false
      /** Ends once all have written behind the failover, too. */
      const write = async (writer: number) => {
        for (let number = 0, left = WRITES; left > 0; number++) {
          const name = `${writer} ${number}`
          const { status } = await ask('POST', writer % 2, '/Companies', { name, enabled: number % 2 === 0 })
          if (status === 201) {
            answered.push(name)
            if (isOver) left--
            const list = await ask('GET', writer % 2, `/Companies?Name=${name}`)
            if (list.status === 200) expect([name, list.total]).toEqual([name, '1'])
            else others.add(list.status)
          } else others.add(status)
          await ask('GET', (writer + 1) % 2, `/Companies?Enabled=${number % 2 === 0}&page=2`)
        }
      }
      const failOver = async () => {
        await until(() => answered.length >= WRITES * WRITERS)
        process.kill(Number(readFileSync(join(primary.cluster, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
        await behind`select pg_promote()`
        isOver = true
      }
      await Promise.all([failOver(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))])

      const rows = await behind`select name, count(*)::int as times from company group by name`
      const times = new Map(rows.map(({ name, times }) => [name as string, times as number]))
      expect(answered.filter((name) => times.get(name) !== 1)).toEqual([])
      expect([...others].filter((status) => status !== 503)).toEqual([])
      for (const [filter, condition] of [
        ['', behind`true`],
        ['?Enabled=true', behind`enabled`],
        ['?Enabled=false', behind`not enabled`],
        ['?Name=!=0 0', behind`name <> '0 0'`],
      ] as const)
        for (const server of [0, 1]) {
          const [row] = await behind`select count(*)::text as total from company where ${condition}`
          await until(async () => (await ask('GET', server, `/Companies${filter}`)).total === row?.total)
        }
    },
    TIMEOUT_MS,
  )
})
