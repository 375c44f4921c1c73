import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf } from '../cli/roster.ts'
import { type PlainPostgres, startPlainPostgres } from '../support/plainPostgres.ts'
import { connect } from '../support/postgres.ts'
import { postgresWithTools, shellWithPostgresTools } from '../support/postgresTools.ts'
import { leaveOut, until } from '../support/process.ts'
import { askAt, headersOf, keyIn } from '../support/requests.ts'
import { type ServerProcess, ServerProcesses } from '../support/serverProcesses.ts'

// A tenant moves to another PostgreSQL by the commands in docs/scaling.md, in which only the addresses are replaced.

const page = readFileSync(join(import.meta.dir, '../../docs/scaling.md'), 'utf8')
const processes = new ServerProcesses()
let [from, to]: (PlainPostgres | undefined)[] = []

/** Address of the tenant's database for a role; null: for the superuser. */
const roleUrl = (postgres: PlainPostgres | undefined, role: string | null) => {
  const as = role === null ? {} : { username: role, password: 'secret' }
  return Object.assign(new URL(postgres?.url ?? ''), { ...as, pathname: '/acme' }).href
}

async function startWithRoles(): Promise<PlainPostgres> {
  const postgres = await startPlainPostgres({ native: postgresWithTools as string })
  const sql = connect(postgres.url)
  for (const role of ['roster_owner', 'roster_app']) await sql.unsafe(`create role ${role} login password 'secret'`)
  await sql.end()
  return postgres
}

/** Runs the commands of the page that begin with this line, for the two PostgreSQLs of the test. */
function runPart(firstLine: RegExp): Promise<string> {
  const parts = [...page.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, part = '']) => part)
  const part = parts.find((lines) => firstLine.test(lines))
  if (part === undefined) throw new Error(`docs/scaling.md has no part that begins with ${firstLine}`)
  const addressOf = (postgres: PlainPostgres | undefined) => roleUrl(postgres, null)
  const addresses = `OLD='${addressOf(from)}'\nNEW='${addressOf(to)}'\n`
  return shellWithPostgresTools(addresses + part.replace(/^(OLD|NEW)=.*$/gm, ''))
}

if (postgresWithTools)
  describe('a tenant that moves to another PostgreSQL', () => {
    let served: ServerProcess
    let headers: Record<string, string>
    let dataDir: string
    let token: string
    let rows: string

    beforeAll(async () => {
      ;[from, to] = await Promise.all([startWithRoles(), startWithRoles()])
      const sql = connect(from.url)
      await sql.unsafe('create database acme owner roster_owner template template0')
      await sql.end()
      await outputOf({ DATABASE_URL: roleUrl(from, 'roster_owner') }, 'migrate', '--grant', 'roster_app')
      dataDir = processes.dataFolder()
      const settings = { DATABASE_URL: roleUrl(from, 'roster_app'), DATA_DIR: dataDir }
      headers = headersOf(keyIn(await outputOf(settings, 'keys', 'create', '--name', 'hr', '--rights', '*:read,*:write')))
      await start(from)
    })
    afterAll(async () => {
      await processes.end()
      await Promise.all([from?.stop(), to?.stop()])
    })

    async function start(postgres: PlainPostgres) {
      const settings = { DATABASE_URL: roleUrl(postgres, 'roster_app'), DATABASE_POOL: '4', WORKERS: '1', BOOTSTRAP_API_KEY: '' }
      served = await processes.start({ ...settings, DATA_DIR: dataDir })
    }

    const ask = (method: string, path: string, body?: object, more = {}) =>
      askAt(served.url + path, method, body, { ...headers, ...more })
    const create = (name: string) => ask('POST', '/Companies', { Name: name }, { 'Idempotency-Key': `"${name}"` })
    /** All companies as CSV. */
    const companies = () =>
      fetch(`${served.url}/Companies`, { headers: { ...headers, Accept: 'text/csv' } }).then((answer) => answer.text())

    test('answers reads during the move, and each write gets 503 or is in the new database', async () => {
      for (let number = 1; number <= 20; number++) expect((await create(`Company ${number}`)).status).toBe(201)
      token = (await ask('GET', '/Changes?after=now')).body.next
      let isMoving = true
      const written: string[] = []
      const writing = (async () => {
        for (let number = 1; isMoving; number++) {
          const name = `moving (${number})`
          const { status } = await create(name)
          if (status === 201) written.push(name)
          else expect(status).toBe(503)
        }
      })()
      await runPart(/^OLD=/)
      rows = await companies()
      expect(rows).toContain('Company 20')
      expect((await ask('GET', '/Companies?Name=Company 7')).headers.get('x-total-count')).toBe('1')
      expect((await create('too late')).status).toBe(503)
      isMoving = false
      await writing
      expect(written.filter((name) => !rows.includes(name))).toEqual([])
    })

    test('has the same rows, keys and answers of repeated writes afterwards; tokens of the feed get 410', async () => {
      await served.server.stop()
      await start(to as PlainPostgres)
      expect(await companies()).toBe(rows)
      const again = await create('Company 7')
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
      expect(await companies()).toBe(rows)
      const { status, body } = await ask('GET', `/Changes?after=${token}`)
      expect([status, body.Error.Code]).toEqual([410, 'TokenExpired'])
      const { body: created } = await create('in its new place')
      expect(rows).not.toMatch(new RegExp(`^"?${created.id}"?,`, 'm'))
      await until(async () => (await ask('GET', '/Companies?Name=in its new place')).headers.get('x-total-count') === '1')
    })

    test('is deleted from the old PostgreSQL by the last command', async () => {
      await runPart(/^dropdb/)
      const sql = connect(from?.url ?? '')
      expect(await sql`select from pg_database where datname = 'acme'`).toHaveLength(0)
      await sql.end()
    })
  })
else
  test('the move of a tenant is not tested, because PostgreSQL’s tools are missing', () =>
    leaveOut('CI_REQUIRES_POSTGRES_TOOLS', 'there is no PostgreSQL with pg_dump'))
