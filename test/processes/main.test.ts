import { beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { runningPostgres } from '../../src/postgres/postmaster.ts'
import { copyCluster } from '../support/cluster.ts'
import { connect, createDatabase } from '../support/postgres.ts'
import { isAlive, postmasterOf, run, temporaryFolder, until } from '../support/process.ts'
import { headersOf } from '../support/requests.ts'
import { type Json, KEY } from '../support/server.ts'
import { dataFolder, launchProcess, startProcess } from '../support/start.ts'

const LONG_KEY = 'a-bootstrap-key-of-a-test'

// All tests share the folder: each start meets the state that the one before has left.
const folder = temporaryFolder()
beforeAll(() => copyCluster(folder.path))

const start = (settings: Record<string, string> = {}) =>
  startProcess({ DATA_DIR: folder.path, WORKERS: '1', LOG_LEVEL: 'info', ...settings })

/** Makes a data folder with a new cluster. */
function ownFolder(): string {
  const path = dataFolder()
  copyCluster(path)
  return path
}

describe('starts of a server', () => {
  test('a start prints an address, a key, and a curl command that works; only its owner can read key and password', async () => {
    const { server } = await start({ BOOTSTRAP_API_KEY: '' })
    const [curl] = await server.waitFor(/curl -i .*$/m)
    const answer = run(['sh', '-c', curl])
    await answer.ended
    expect(answer.output()).toContain('HTTP/1.1 200 OK')
    expect(answer.output()).toContain('X-Total-Count: 6')
    expect(answer.output()).toContain('"displayName":"Alan Mathison"')
    expect(server.output()).not.toContain('every machine that reaches HOST')
    for (const file of ['development.key', 'postgres.password']) expect(statSync(join(folder.path, file)).mode & 0o077).toBe(0)
    expect(await server.stop()).toBe(0)
  })

  for (const [settings, what] of [
    [{ LOG_FORMAT: '' }, 'only JSON on stdout, and a working curl line on stderr'],
    [{ LOG_FORMAT: 'json' }, 'only JSON on stdout, and nothing on stderr'],
  ] as const)
    test(`a start without a terminal${settings.LOG_FORMAT && ' and with LOG_FORMAT=json'} prints ${what}; neither has the key`, async () => {
      const [out, err] = [join(folder.path, `out${settings.LOG_FORMAT}`), join(folder.path, `err${settings.LOG_FORMAT}`)]
      const start = `exec '${process.execPath}' --no-env-file src/main.ts >'${out}' 2>'${err}'`
      const server = run(['sh', '-c', start], {
        ...{ WORKERS: '1', ...settings, RATE_LIMIT: '1/1s', PORT: '0', DATA_DIR: folder.path },
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
      await server.stop()
      const [log, said] = [readFileSync(out, 'utf8'), readFileSync(err, 'utf8')]
      for (const line of log.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('message')
      expect(said === '').toBe(settings.LOG_FORMAT === 'json')
      const key = readFileSync(join(folder.path, 'development.key'), 'utf8')
      expect([log.includes(key), said.includes(key)]).toEqual([false, false])
    })

  test('a start with HOST=0.0.0.0 and the development key logs a warning', async () => {
    const { server } = await start({ HOST: '0.0.0.0', BOOTSTRAP_API_KEY: '' })
    await server.waitFor(/every machine that reaches HOST can write with the development key/)
  })

  test('a start with DEMO_DATA=0 creates no rows', async () => {
    const { ask } = await start({ DATA_DIR: ownFolder(), DEMO_DATA: '0' })
    const { headers, body } = await ask('GET', '/Companies')
    expect([headers.get('x-total-count'), body]).toEqual(['0', []])
  })

  test('a start with DATABASE_URL starts no embedded PostgreSQL, warns once of a superuser, and does not print a given key', async () => {
    const settings = { DATA_DIR: dataFolder(), DATABASE_URL: await createDatabase('empty'), BOOTSTRAP_API_KEY: LONG_KEY }
    const { server, ask } = await start(settings)
    await server.waitFor(/Try it/)
    expect((await ask('GET', '/readyz')).status).toBe(200)
    expect(existsSync(join(settings.DATA_DIR, 'postgres'))).toBe(false)
    expect(await server.stop()).toBe(0)
    expect(server.output().match(/the role of DATABASE_URL is a superuser/g)).toHaveLength(1)
    expect(server.output()).not.toContain(LONG_KEY)
  })

  test('the log of PostgreSQL does not contain rows of refused statements', async () => {
    const { server, ask } = await start({ HOST: '0.0.0.0' })
    const refused = await ask('POST', '/Absences', { EmployeeId: 999_999, Reason: 'a private matter' })
    expect(refused.status).toBe(409)
    await server.stop()
    expect(server.output()).not.toContain('every machine that reaches HOST') // the server has no development key
    expect(readFileSync(join(folder.path, 'postgres.log'), 'utf8')).not.toContain('a private matter')
  })
})

describe('starts that are refused', () => {
  test('a start on a port that is in use fails with one line that names the port, and exit code 1', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((done) => other.once('listening', done))
    const { port } = other.address() as AddressInfo
    const server = launchProcess({ DATA_DIR: folder.path, PORT: String(port) })
    expect(await server.ended).toBe(1)
    expect(server.output()).toBe(`roster: port ${port} on 127.0.0.1 is taken by another program: stop it, or set PORT\n`)
    other.close()
  })

  test('a start with wrong settings fails with a line for each, without secrets, and exit code 1', async () => {
    const server = launchProcess({ PORT: 'http', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://root:hunter2@db' })
    expect(await server.ended).toBe(1)
    const lines = server.output().trim().split('\n')
    expect(lines).toHaveLength(3)
    for (const [index, name] of ['DATABASE_URL', 'PORT', 'LOG_LEVEL'].entries())
      expect(lines[index]).toStartWith(`roster: ${name} must be`)
    expect(server.output()).not.toContain('hunter2')
  })

  test('a start with an unknown setting in .env fails with its name and the nearest one, without values, and exit code 1', async () => {
    const place = temporaryFolder()
    writeFileSync(join(place.path, '.env'), 'LOG_LEVEL=warn\nDATABSE_URL=postgres://u:hunter2@db/hr\n')
    const main = join(import.meta.dir, '../../src/main.ts')
    for (const words of ['', 'keys list']) {
      const server = run(['sh', '-c', `cd '${place.path}' && exec '${process.execPath}' '${main}' ${words}`])
      expect(await server.ended).toBe(1)
      expect(server.output()).toBe('roster: .env sets DATABSE_URL, which is no setting. Did you mean DATABASE_URL?\n')
    }
  })

  for (const [what, change] of [
    ['a password that is wrong', (url: URL) => (url.password = 'hunter2')],
    ['a database that does not exist', (url: URL) => (url.pathname = '/nowhere')],
  ] as const)
    test(`a start with ${what} fails with one line that does not show the password, and exit code 1`, async () => {
      const address = new URL(await createDatabase())
      address.password ||= 'hunter2'
      change(address)
      const server = launchProcess({ DATABASE_URL: address.href, BOOTSTRAP_API_KEY: LONG_KEY })
      expect(await server.ended).toBe(1)
      expect(server.output()).toMatch(/^roster: the database cannot be used: .+\n$/)
      expect(server.output()).not.toContain(address.password)
    })
})

describe('an embedded PostgreSQL that ends unexpectedly', () => {
  for (const signal of ['SIGKILL', 'SIGINT'] as const)
    test(`PostgreSQL is started again at its address after ${signal}; until then some requests get 503, later all lists are correct`, async () => {
      const { server, ask } = await start({ WORKERS: '2' })
      const total = async () => Number((await ask('GET', '/Companies')).headers.get('x-total-count'))
      const address = runningPostgres(folder.path)
      const before = await total()
      process.kill(postmasterOf(folder.path) as number, signal)
      const statuses = new Set<number>()
      await until(async () => {
        statuses.add((await ask('GET', '/Companies?Id=>0')).status)
        return server.output().includes('PostgreSQL runs again') && (await ask('GET', '/readyz')).status === 200
      })
      expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
      expect(server.output()).toMatch(/PostgreSQL ended and is started again pauseMs=0 log=./)
      expect(runningPostgres(folder.path)).toBe(address as string)
      expect((await ask('POST', '/Companies', { Name: 'after' })).status).toBe(201)
      expect(await total()).toBe(before + 1)
      const sql = connect(address as string)
      await sql`insert into company (name) values ('from elsewhere')`
      await until(async () => (await total()) === before + 2)
      await sql.end()
      expect(await server.stop()).toBe(0)
      expect(postmasterOf(folder.path)).toBeNull()
    })
})

test('backends of lists have a lower priority than the other backends', async () => {
  const { ask } = await start({ MEMORY_MB: '0' })
  const sql = connect(runningPostgres(folder.path) as string)
  const priorities = async () => {
    await Promise.all(['/Absences?sort=-Start', '/Absences/1', '/Companies/1'].map((path) => ask('GET', path)))
    const backends = await sql`select pid, application_name as name from pg_stat_activity where backend_type = 'client backend'`
    const priority = (pid: number) => (existsSync(`/proc/${pid}`) ? getPriority(pid) : null)
    const of = (isOfLists: boolean) =>
      backends.filter(({ name }) => name.includes('/lists') === isOfLists).map(({ pid }) => priority(pid))
    return { lists: of(true), others: of(false) }
  }
  // The tests, and with them the server, may have been started with a low priority.
  const own = getPriority()
  await until(async () => (await priorities()).lists.includes(Math.min(own + 10, 19)))
  expect((await priorities()).others.filter((priority) => priority !== own && priority !== null)).toEqual([])
})

describe('stops of a server', () => {
  test('a request in flight is answered before the server ends', async () => {
    const { server, url } = await start({ DATABASE_URL: await createDatabase(), LOG_LEVEL: 'info' })
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('{"Name":'))
        server.kill('SIGTERM')
        await server.waitFor(/ stopping/)
        await Bun.sleep(300)
        controller.enqueue(new TextEncoder().encode('"late"}'))
        controller.close()
      },
    })
    const response = await fetch(`${url}/Companies`, { method: 'POST', headers: headersOf(KEY), body })
    const { name } = (await response.json()) as Json
    expect([response.status, name, response.headers.get('connection')]).toEqual([201, 'late', 'close'])
    expect(await server.ended).toBe(0)
  })

  test('SIGTERM during the start also ends the embedded PostgreSQL that has already started', async () => {
    const server = launchProcess({ WORKERS: '1', DATA_DIR: folder.path })
    await until(() => postmasterOf(folder.path) !== null)
    const postmaster = postmasterOf(folder.path) as number
    expect(await server.stop()).toBe(0)
    expect(isAlive(postmaster)).toBe(false)
  })

  test('the server ends with a line that says why, and exit code 1, if the embedded PostgreSQL cannot be restarted', async () => {
    const { server, dataDir } = await start({ DATA_DIR: ownFolder() })
    rmSync(join(dataDir, 'postgres/global/pg_control'))
    process.kill(postmasterOf(dataDir) as number, 'SIGKILL')
    expect(await server.ended).toBe(1)
    expect(server.output().match(/PostgreSQL ended and is started again/g)).toHaveLength(5)
    expect(server.output()).toMatch(/PostgreSQL ended too often: the server stops .*pg_control/)
  })

  test('a server whose stdout is closed still answers requests', async () => {
    const { server, ask } = await start()
    server.closeOutput()
    for (let request = 0; request < 5; request++) {
      expect((await ask('GET', '/livez')).status).toBe(200)
      await Bun.sleep(60) // a log line is written after 50 ms
    }
    expect(await server.stop()).toBe(0)
  })

  test('a start after kill -9 of the server succeeds and has the written row', async () => {
    const killed = await start()
    const { id } = (await killed.ask('POST', '/Companies', { Name: 'kept' })).body
    const orphan = postmasterOf(folder.path) as number
    killed.server.kill('SIGKILL')
    await killed.server.ended
    expect(isAlive(orphan)).toBe(true)

    const next = await start()
    expect(isAlive(orphan)).toBe(false)
    expect((await next.ask('GET', `/Companies/${id}`)).body.name).toBe('kept')
    expect(await next.server.stop()).toBe(0)
  })
})
