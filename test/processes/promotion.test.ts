import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type postgres from 'postgres'
import { type PlainPostgres, startPlainPostgres, startStandby } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { until } from '../support/process.ts'
import type { ServerProcess } from '../support/serverProcesses.ts'
import { useProcess } from '../support/start.ts'

/** Writes of each writer before the failover, and after it. */
const WRITES = 25
const WRITERS = 4

describe('two servers on a primary and its synchronous standby, by one address for both', () => {
  let primary: PlainPostgres
  let standby: PlainPostgres
  let behind: postgres.Sql
  let settings: Record<string, string>
  beforeAll(async () => {
    primary = await startPlainPostgres()
    standby = await startStandby(primary)
    const sql = connect(primary.url)
    await sql.unsafe("alter system set synchronous_standby_names = '*'")
    await sql`select pg_reload_conf()`
    await until(async () => (await sql`select from pg_stat_replication where sync_state = 'sync'`).length === 1)
    await sql.end()
    const [first, second] = [new URL(primary.url), new URL(standby.url)]
    const both = `${first.username}:${first.password}@${first.host},${second.host}`
    const DATABASE_URL = `postgres://${both}${first.pathname}?target_session_attrs=primary`
    settings = { DATABASE_URL, WORKERS: '1', LOG_LEVEL: 'error' }
    behind = connect(standby.url)
  })
  const servers = [useProcess(() => settings), useProcess(() => settings)] as const
  afterAll(async () => {
    await behind?.end()
    await standby?.stop()
    await primary?.stop()
  })

  async function ask(method: string, server: number, path: string, body?: object) {
    const { status, headers } = await (servers[server] as ServerProcess).ask(method, path, body)
    return { status, total: headers.get('x-total-count') }
  }

  test('the promotion of a standby under load loses no acknowledged write, and lists are correct on both servers', async () => {
    const answered: string[] = []
    const others = new Set<number>()
    let isOver = false
    /** Ends when all writers have written after the failover. */
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
  })
})
