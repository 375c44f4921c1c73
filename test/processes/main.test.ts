import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { runningPostgres } from '../../src/postgres/postmaster.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { endPrograms, isAlive, postmasterOf, run, runMain, temporaryFolder, until } from '../support/process.ts'
import { type Json, KEY } from '../support/server.ts'

const LISTENS = /listens on (http:\S+?),/
const TIMEOUT_MS = 60_000
/** Most tests are about one process more than about two. */
const ALONE = { WORKERS: '1' }
const LONG_KEY = 'a-bootstrap-key-of-a-test'

// One for all tests: each start meets what the one before left.
const folder = temporaryFolder()
beforeAll(() => copyCluster(folder.path), TIMEOUT_MS)
afterEach(endPrograms)
afterAll(folder.remove)

describe('start', () => {
  test(
    'prints an address, a key, and a curl line that works as it stands',
    async () => {
      const server = runMain({ DATA_DIR: folder.path })
      await server.waitFor(LISTENS)
      const [curl] = await server.waitFor(/curl -i .*$/m)
      const answer = run(['sh', '-c', curl])
      await answer.ended
      expect(answer.output()).toContain('HTTP/1.1 200 OK')
      expect(answer.output()).toContain('X-Total-Count: 6')
      expect(answer.output()).toContain('"displayName":"Alan Mathison"')
      expect(server.output()).not.toContain('every machine that reaches HOST')
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    },
    TIMEOUT_MS,
  )

  for (const [settings, what] of [
    [{ LOG_FORMAT: '' }, 'JSON alone on stdout, and a curl line that works as it stands on stderr'],
    [{ LOG_FORMAT: 'json' }, 'JSON alone on stdout, and nothing on stderr'],
  ] as const)
    test(
      `where stdout is no terminal${settings.LOG_FORMAT && ' and JSON is asked for'}: ${what}; no key on either`,
      async () => {
        const [out, err] = [join(folder.path, `out${settings.LOG_FORMAT}`), join(folder.path, `err${settings.LOG_FORMAT}`)]
        const start = `exec '${process.execPath}' --no-env-file src/main.ts >'${out}' 2>'${err}'`
        const server = run(['sh', '-c', start], {
          ...{ ...ALONE, ...settings, RATE_LIMIT: '1/1s', PORT: '0', DATA_DIR: folder.path },
        })
        await until(() => existsSync(out) && readFileSync(out, 'utf8').includes('"listening"'))
        const [miss, ...more] = readFileSync(out, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
        const { url } = more.find(({ message }) => message === 'listening')
        expect(miss).toMatchObject({ level: 'warn', name: 'RATE_LIMIT', meant: 'RATE_LIMITS' })
        if (settings.LOG_FORMAT === '') {
          await until(() => /curl -i .*\n/.test(readFileSync(err, 'utf8')))
          const [curl = ''] = /curl -i .*/.exec(readFileSync(err, 'utf8')) ?? []
          const answer = run(['sh', '-c', curl])
          await answer.ended
          expect(answer.output()).toContain('HTTP/1.1 200 OK')
        } else expect((await fetch(`${url}/livez`)).status).toBe(200)
        server.kill('SIGTERM')
        await server.ended
        const [log, said] = [readFileSync(out, 'utf8'), readFileSync(err, 'utf8')]
        for (const line of log.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('message')
        expect(said === '').toBe(settings.LOG_FORMAT === 'json')
        const key = readFileSync(join(folder.path, 'development.key'), 'utf8')
        expect([log.includes(key), said.includes(key)]).toEqual([false, false])
      },
      TIMEOUT_MS,
    )

  test(
    'HOST=0.0.0.0 with the development key is warned of',
    async () => {
      const server = runMain({ ...ALONE, DATA_DIR: folder.path, HOST: '0.0.0.0', LOG_FORMAT: 'json' })
      await server.waitFor(/"listening"/)
      expect(server.output()).toContain('every machine that reaches HOST can write with the development key')
      server.kill('SIGTERM')
      await server.ended
    },
    TIMEOUT_MS,
  )

  test(
    'keeps key and password where only their owner can read them',
    async () => {
      const server = runMain({ ...ALONE, DATA_DIR: folder.path })
      await server.waitFor(LISTENS)
      for (const file of ['development.key', 'postgres.password']) expect(statSync(join(folder.path, file)).mode & 0o077).toBe(0)
      server.kill('SIGTERM')
      await server.ended
    },
    TIMEOUT_MS,
  )

  test(
    'DEMO_DATA=0 keeps the database empty',
    async () => {
      const empty = temporaryFolder()
      copyCluster(empty.path)
      const server = runMain({ ...ALONE, DATA_DIR: empty.path, DEMO_DATA: '0', BOOTSTRAP_API_KEY: KEY })
      const [, url] = await server.waitFor(LISTENS)
      const response = await fetch(`${url}/Companies`, { headers: { authorization: `ApiKey ${KEY}` } })
      expect([response.headers.get('x-total-count'), await response.text()]).toEqual(['0', '[]'])
      server.kill('SIGTERM')
      await server.ended
      empty.remove()
    },
    TIMEOUT_MS,
  )

  test(
    'with DATABASE_URL nothing embedded is started, and one of a superuser is warned of, once',
    async () => {
      const DATABASE_URL = await createDatabase('empty')
      const empty = temporaryFolder()
      const server = runMain({ ...ALONE, DATA_DIR: empty.path, DATABASE_URL, BOOTSTRAP_API_KEY: KEY })
      const [, url] = await server.waitFor(LISTENS)
      const response = await fetch(`${url}/readyz`)
      expect(response.status).toBe(200)
      expect(existsSync(join(empty.path, 'postgres'))).toBe(false)
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.output().match(/the role of DATABASE_URL is a superuser/g)).toHaveLength(1)
      empty.remove()
    },
    TIMEOUT_MS,
  )

  test(
    'what the database refuses does not take its row into the log of PostgreSQL',
    async () => {
      const server = runMain({ ...ALONE, DATA_DIR: folder.path, HOST: '0.0.0.0', BOOTSTRAP_API_KEY: KEY })
      const [, url] = await server.waitFor(LISTENS)
      expect(server.output()).not.toContain('every machine that reaches HOST') // it has no development key
      const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
      const body = '{"EmployeeId":999999,"Reason":"a private matter"}'
      expect((await fetch(`${url}/Absences`, { method: 'POST', headers, body })).status).toBe(409)
      server.kill('SIGTERM')
      await server.ended
      expect(readFileSync(join(folder.path, 'postgres.log'), 'utf8')).not.toContain('a private matter')
    },
    TIMEOUT_MS,
  )

  test(
    'a given key is not printed',
    async () => {
      const DATABASE_URL = await createDatabase()
      const server = runMain({
        ...ALONE,
        DATA_DIR: folder.path,
        DATABASE_URL,
        BOOTSTRAP_API_KEY: 'very-secret-key-0123456789',
      })
      await server.waitFor(/Try it/)
      server.kill('SIGTERM')
      await server.ended
      expect(server.output()).not.toContain('very-secret-key-0123456789')
    },
    TIMEOUT_MS,
  )
})

describe('refusals', () => {
  test(
    'a taken port: one line that says which, exit 1',
    async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await new Promise((done) => other.once('listening', done))
      const { port } = other.address() as AddressInfo
      const server = runMain({ DATA_DIR: folder.path, PORT: String(port) })
      expect(await server.ended).toBe(1)
      expect(server.output()).toBe(`roster: port ${port} on 127.0.0.1 is taken by another program: stop it, or set PORT\n`)
      other.close()
    },
    TIMEOUT_MS,
  )

  test(
    'wrong settings: every fault listed, exit 1, no secret repeated',
    async () => {
      const server = runMain({ PORT: 'http', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://root:hunter2@db' })
      expect(await server.ended).toBe(1)
      const lines = server.output().trim().split('\n')
      expect(lines).toHaveLength(3)
      for (const [index, name] of ['DATABASE_URL', 'PORT', 'LOG_LEVEL'].entries())
        expect(lines[index]).toStartWith(`roster: ${name} must be`)
      expect(server.output()).not.toContain('hunter2')
    },
    TIMEOUT_MS,
  )

  test(
    'a line of .env that is no setting: its name and the nearest, exit 1, no value repeated',
    async () => {
      const place = temporaryFolder()
      writeFileSync(join(place.path, '.env'), 'LOG_LEVEL=warn\nDATABSE_URL=postgres://u:hunter2@db/hr\n')
      const main = join(import.meta.dir, '../../src/main.ts')
      for (const words of ['', 'keys list']) {
        const server = run(['sh', '-c', `cd '${place.path}' && exec '${process.execPath}' '${main}' ${words}`])
        expect(await server.ended).toBe(1)
        expect(server.output()).toBe('roster: .env sets DATABSE_URL, which is no setting. Did you mean DATABASE_URL?\n')
      }
      place.remove()
    },
    TIMEOUT_MS,
  )

  for (const [what, change] of [
    ['a password that is wrong', (url: URL) => (url.password = 'hunter2')],
    ['a database that does not exist', (url: URL) => (url.pathname = '/nowhere')],
  ] as const)
    test(
      `${what}: one line, exit 1, no password in it`,
      async () => {
        const address = new URL(await createDatabase())
        address.password ||= 'hunter2'
        change(address)
        const server = runMain({ DATABASE_URL: address.href, BOOTSTRAP_API_KEY: LONG_KEY })
        expect(await server.ended).toBe(1)
        expect(server.output()).toMatch(/^roster: the database cannot be used: .+\n$/)
        expect(server.output()).not.toContain(address.password)
      },
      TIMEOUT_MS,
    )

  test(
    'a second server on the same data folder is refused; the first goes on',
    async () => {
      const first = runMain({ ...ALONE, DATA_DIR: folder.path })
      const [, url] = await first.waitFor(LISTENS)
      const second = runMain({ ...ALONE, DATA_DIR: folder.path })
      expect(await second.ended).toBe(1)
      expect(second.output()).toContain('is in use by another server')
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
      first.kill('SIGTERM')
      await first.ended
    },
    TIMEOUT_MS,
  )
})

describe('an embedded PostgreSQL that ends by itself', () => {
  for (const signal of ['SIGKILL', 'SIGINT'] as const)
    test(
      `by ${signal}, is started again under its address; requests meanwhile are 503, and lists then true`,
      async () => {
        const server = runMain({ DATA_DIR: folder.path, BOOTSTRAP_API_KEY: LONG_KEY, RATE_LIMITS: '1000000/1s' })
        const [, url] = await server.waitFor(LISTENS)
        const headers = { authorization: `ApiKey ${LONG_KEY}`, 'content-type': 'application/json' }
        const ask = (path: string) => fetch(url + path, { headers })
        const total = async () => Number((await ask('/Companies')).headers.get('x-total-count'))
        const address = runningPostgres(folder.path)
        const before = await total()
        process.kill(postmasterOf(folder.path) as number, signal)
        const statuses = new Set<number>()
        await until(async () => {
          statuses.add((await ask('/Companies?Id=>0')).status)
          return server.output().includes('PostgreSQL runs again') && (await ask('/readyz')).status === 200
        })
        expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
        expect(server.output()).toMatch(/PostgreSQL ended and is started again pauseMs=0 log=./)
        expect(runningPostgres(folder.path)).toBe(address as string)
        const created = await fetch(`${url}/Companies`, { method: 'POST', headers, body: '{"Name":"after"}' })
        expect(created.status).toBe(201)
        expect(await total()).toBe(before + 1)
        const sql = connect(address as string)
        await sql`insert into company (name) values ('from elsewhere')`
        await until(async () => (await total()) === before + 2)
        await sql.end()
        server.kill('SIGTERM')
        expect(await server.ended).toBe(0)
        expect(postmasterOf(folder.path)).toBeNull()
      },
      TIMEOUT_MS,
    )
})

test(
  'statements of lists go behind all other work of the machine',
  async () => {
    const server = runMain({ ...ALONE, DATA_DIR: folder.path, BOOTSTRAP_API_KEY: LONG_KEY, MEMORY_MB: '0' })
    const [, url] = await server.waitFor(LISTENS)
    const ask = async (path: string) => (await fetch(url + path, { headers: { authorization: `ApiKey ${LONG_KEY}` } })).text()
    const sql = connect(runningPostgres(folder.path) as string)
    const priorities = async () => {
      await Promise.all([ask('/Absences?sort=-Start'), ask('/Absences/1'), ask('/Companies/1')])
      const backends = await sql`select pid, application_name as name from pg_stat_activity where backend_type = 'client backend'`
      const priority = (pid: number) => (existsSync(`/proc/${pid}`) ? getPriority(pid) : null)
      const of = (isOfLists: boolean) =>
        backends.filter(({ name }) => name.includes('/lists') === isOfLists).map(({ pid }) => priority(pid))
      return { lists: of(true), others: of(false) }
    }
    await until(async () => (await priorities()).lists.includes(10))
    expect((await priorities()).others.filter((priority) => priority !== 0 && priority !== null)).toEqual([])
    await sql.end()
    server.kill('SIGTERM')
    await server.ended
  },
  TIMEOUT_MS,
)

describe('end', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(
      `${signal} ends server and PostgreSQL, exit 0`,
      async () => {
        const server = runMain({ ...ALONE, DATA_DIR: folder.path })
        await server.waitFor(LISTENS)
        const postmaster = postmasterOf(folder.path) as number
        expect(isAlive(postmaster)).toBe(true)
        server.kill(signal)
        expect(await server.ended).toBe(0)
        expect(isAlive(postmaster)).toBe(false)
      },
      TIMEOUT_MS,
    )

  test(
    'a request that runs is answered before the server ends',
    async () => {
      const DATABASE_URL = await createDatabase()
      const server = runMain({ ...ALONE, DATA_DIR: folder.path, DATABASE_URL, BOOTSTRAP_API_KEY: KEY })
      const [, url] = await server.waitFor(LISTENS)
      const authorization = `ApiKey ${KEY}`
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode('{"Name":'))
          server.kill('SIGTERM')
          await Bun.sleep(300)
          controller.enqueue(new TextEncoder().encode('"late"}'))
          controller.close()
        },
      })
      const headers = { authorization, 'content-type': 'application/json' }
      const response = await fetch(`${url}/Companies`, { method: 'POST', headers, body })
      expect([response.status, ((await response.json()) as Json).name, response.headers.get('connection')]).toEqual([
        201,
        'late',
        'close',
      ])
      expect(await server.ended).toBe(0)
    },
    TIMEOUT_MS,
  )

  test(
    'SIGTERM during the start stops what has been started',
    async () => {
      const server = runMain({ ...ALONE, DATA_DIR: folder.path })
      await until(() => postmasterOf(folder.path) !== null)
      const postmaster = postmasterOf(folder.path) as number
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(isAlive(postmaster)).toBe(false)
    },
    TIMEOUT_MS,
  )

  test(
    'an embedded PostgreSQL that cannot be started again is the end of the server, with a line that says why, exit 1',
    async () => {
      const broken = temporaryFolder()
      copyCluster(broken.path)
      const server = runMain({ ...ALONE, DATA_DIR: broken.path })
      await server.waitFor(LISTENS)
      rmSync(join(broken.path, 'postgres/global/pg_control'))
      process.kill(postmasterOf(broken.path) as number, 'SIGKILL')
      expect(await server.ended).toBe(1)
      expect(server.output().match(/PostgreSQL ended and is started again/g)).toHaveLength(5)
      expect(server.output()).toMatch(/PostgreSQL ended too often: the server stops .*pg_control/)
      broken.remove()
    },
    TIMEOUT_MS,
  )

  test(
    'a closed stdout is no reason to end',
    async () => {
      const server = runMain({ ...ALONE, DATA_DIR: folder.path })
      const [, url] = await server.waitFor(LISTENS)
      server.closeOutput()
      for (let request = 0; request < 5; request++) {
        expect((await fetch(`${url}/livez`)).status).toBe(200)
        await Bun.sleep(60) // a line of the log goes out after 50 ms
      }
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    },
    TIMEOUT_MS,
  )

  test(
    'a killed server leaves no trouble: the next start works and has what was written',
    async () => {
      const settings = { ...ALONE, DATA_DIR: folder.path, BOOTSTRAP_API_KEY: KEY }
      const headers = { authorization: `ApiKey ${KEY}`, 'content-type': 'application/json' }
      const killed = runMain(settings)
      const [, url] = await killed.waitFor(LISTENS)
      const created = await fetch(`${url}/Companies`, { method: 'POST', headers, body: '{"Name":"kept"}' })
      const { id } = (await created.json()) as Json
      const orphan = postmasterOf(folder.path) as number
      killed.kill('SIGKILL')
      await killed.ended
      expect(isAlive(orphan)).toBe(true)

      const next = runMain(settings)
      const [, nextUrl] = await next.waitFor(LISTENS)
      expect(isAlive(orphan)).toBe(false)
      const response = await fetch(`${nextUrl}/Companies/${id}`, { headers })
      expect(((await response.json()) as Json).name).toBe('kept')
      next.kill('SIGTERM')
      expect(await next.ended).toBe(0)
    },
    TIMEOUT_MS,
  )
})
