import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
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

  async function start({ url: DATABASE_URL }: PlainPostgres) {
    const settings = { DATA_DIR: folder.path, DATABASE_URL, WORKERS: '2', BOOTSTRAP_API_KEY: KEY }
    const server = runMain({ ...settings, RATE_LIMITS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' })
    const [, url = ''] = await server.waitFor(LISTENS)
    return { server, url }
  }

  async function ask(method: string, path: string, body?: object, more: Record<string, string> = {}) {
    const init = { method, headers: { ...headers, ...more }, body: body ? JSON.stringify(body) : null }
    const response = await fetch(url + path, init)
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
