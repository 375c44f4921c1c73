import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '../src/execute/migrate.ts'
import { memoryFolderOf } from '../src/share/folder.ts'
import { startClients } from './support/clients.ts'
import { connect, createDatabase, MIGRATIONS } from './support/postgres.ts'
import { endPrograms, freePort, isAlive, run, runMain, temporaryFolder, until, workersOf } from './support/process.ts'
import { KEY } from './support/server.ts'

const LISTENS = /listens on (http:\S+?),/
const TIMEOUT_MS = 120_000
const RUNS = [1, 2, 3]
const PATH = '/Companies?PageSize=5'
const headers = { authorization: `ApiKey ${KEY}` }
const onLinux = process.platform === 'linux'

let folder: ReturnType<typeof temporaryFolder>
let port: number
let DATABASE_URL: string
beforeEach(async () => {
  folder = temporaryFolder()
  port = freePort()
  DATABASE_URL = await createDatabase('empty')
})
afterEach(async () => {
  await endPrograms()
  rmSync(memoryFolderOf(folder.path, port), { recursive: true, force: true })
  folder.remove()
})

/** A server with two workers over a database of the tests, so that nothing but it is started. */
async function start(environment: Record<string, string> = {}) {
  const settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, DATABASE_POOL: '4', LOG_LEVEL: 'warn' }
  const limits = { RATE_LIMITS: '1000000/1s', RATE_LIMITS_ANONYMOUS: '1000000/1s', RATE_LIMIT_CLIENTS: '2' }
  const server = runMain({ ...settings, ...limits, WORKERS: '2', BOOTSTRAP_API_KEY: KEY, ...environment })
  const [, url = ''] = await server.waitFor(LISTENS)
  return { server, url }
}

/** Waits until there are so many workers, none of which is among `old`. */
async function renewed(pid: number, count: number, old: readonly number[]): Promise<number[]> {
  let now: number[] = []
  await until(() => {
    now = workersOf(pid)
    return now.length === count && !now.some((worker) => old.includes(worker))
  })
  return now
}

describe('workers', () => {
  for (const count of [1, 2])
    test(
      `WORKERS=${count}: so many processes serve one port`,
      async () => {
        const { server, url } = await start({ WORKERS: String(count) })
        expect(workersOf(server.pid)).toHaveLength(count)
        expect(server.output()).toContain(count === 1 ? '1 worker,' : '2 workers,')
        expect((await fetch(url + PATH, { headers })).status).toBe(200)
      },
      TIMEOUT_MS,
    )

  test(
    'both of two workers answer, each over a pool of its own',
    async () => {
      const { url } = await start()
      // Each another statement: equal ones, or those of one batch, share a connection.
      const ask = (_: unknown, id: number) => fetch(`${url}/Companies?Id=>${id}`, { headers, keepalive: false })
      await Promise.all(Array.from({ length: 64 }, ask))
      const sql = connect(DATABASE_URL)
      // A worker's pool opens connections as it needs them; their name says whose they are.
      const [row] = await sql`
        select count(*) as connections from pg_stat_activity
        where datname = current_database() and application_name like 'roster %/%'`
      await sql.end()
      expect(Number(row?.connections)).toBeGreaterThan(4)
    },
    TIMEOUT_MS,
  )

  test(
    'one that is killed under load is replaced; only what it had in hand is lost',
    async () => {
      const { server, url } = await start()
      const clients = startClients(url, { count: 64, path: PATH, key: KEY })
      await until(() => clients.load.good > 500)
      const before = workersOf(server.pid)
      process.kill(before[0] as number, 'SIGKILL')
      await until(() => workersOf(server.pid).length === 2 && !workersOf(server.pid).includes(before[0] as number))
      const good = clients.load.good
      await until(() => clients.load.good > good + 500)
      const { failures, idleCuts } = await clients.stop()
      // Each client has one request at a time, and can lose that one.
      const lost = Object.values(failures).reduce((sum, times) => sum + times, 0)
      expect(Object.keys(failures).filter((what) => !what.startsWith('cut'))).toEqual([])
      expect([lost + idleCuts > 0, lost <= 64]).toEqual([true, true])
      expect(workersOf(server.pid)).toContain(before[1] as number)
      expect(server.output()).toContain('a worker has ended and is replaced')
    },
    TIMEOUT_MS,
  )

  test(
    'one that gets SIGTERM by itself lets its clients go, and is replaced',
    async () => {
      const { server, url } = await start()
      const clients = startClients(url, { count: 16, path: PATH, key: KEY })
      await until(() => clients.load.good > 200)
      const [first = 0, second = 0] = workersOf(server.pid)
      process.kill(first, 'SIGTERM')
      await until(() => !isAlive(first) && workersOf(server.pid).length === 2)
      expect((await clients.stop()).failures).toEqual({})
      expect(workersOf(server.pid)).toContain(second)
    },
    TIMEOUT_MS,
  )

  test(
    'one that cannot start is tried again, ever later, while the others serve',
    async () => {
      const { server, url } = await start()
      const sql = connect(DATABASE_URL)
      await sql`alter table absence rename to gone`
      process.kill(workersOf(server.pid)[0] as number, 'SIGKILL')
      await server.waitFor(/pauseMs=200/)
      expect(server.output()).toContain('Absence needs a migration')
      expect((await fetch(url + PATH, { headers })).status).toBe(200)
      const attempts = server.output().match(/a worker cannot start/g)?.length ?? 0
      expect(attempts).toBeLessThanOrEqual(4)
      await sql`alter table gone rename to absence`
      await sql.end()
      const [there = 0] = workersOf(server.pid)
      await until(() => workersOf(server.pid).length === 2)
      expect(workersOf(server.pid)).toContain(there)
    },
    TIMEOUT_MS,
  )

  test(
    'stay as many as they are to be: SIGUSR2 during the start, several times, and deaths in the middle of it',
    async () => {
      const settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, LOG_LEVEL: 'warn', WORKERS: '3' }
      const server = runMain({ ...settings, RATE_LIMIT_CLIENTS: '2', BOOTSTRAP_API_KEY: KEY })
      await until(() => workersOf(server.pid).length >= 2)
      server.kill('SIGUSR2')
      await server.waitFor(LISTENS)
      const first = workersOf(server.pid)
      server.kill('SIGUSR2')
      server.kill('SIGUSR2')
      await Bun.sleep(150)
      process.kill(first[1] as number, 'SIGKILL')
      // While one is exchanged there is one more; three seconds without a change mean that all is over.
      await until(async () => {
        const before = await renewed(server.pid, 3, first)
        await Bun.sleep(3_000)
        return Bun.deepEquals(workersOf(server.pid), before)
      })
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
      expect(server.output()).not.toContain('stay as they are')
    },
    TIMEOUT_MS,
  )

  test(
    'one that hangs is ended and replaced',
    async () => {
      const { server, url } = await start()
      const [hanging = 0] = workersOf(server.pid)
      process.kill(hanging, 'SIGSTOP')
      await server.waitFor(/a worker hangs/)
      await renewed(server.pid, 2, [hanging])
      expect(await retried(async () => (await fetch(url + PATH, { headers })).status)).toBe(200)
    },
    TIMEOUT_MS,
  )

  test(
    'one that dies while the others start is replaced',
    async () => {
      const settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, LOG_LEVEL: 'warn', WORKERS: '4' }
      const server = runMain({ ...settings, RATE_LIMIT_CLIENTS: '2', BOOTSTRAP_API_KEY: KEY })
      await until(() => workersOf(server.pid).length >= 2)
      process.kill(Math.min(...workersOf(server.pid)), 'SIGKILL')
      await server.waitFor(LISTENS)
      await until(() => workersOf(server.pid).length === 4)
    },
    TIMEOUT_MS,
  )

  test(
    'one that is killed while it starts is started again: the first, one of the others, one in the place of a dead one',
    async () => {
      const settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, LOG_LEVEL: 'warn', WORKERS: '2' }
      const server = runMain({ ...settings, RATE_LIMIT_CLIENTS: '2', BOOTSTRAP_API_KEY: KEY })
      const killed: number[] = []
      const killNext = async (alive: number) => {
        let fresh: number[] = []
        await until(() => {
          fresh = workersOf(server.pid).filter((worker) => !killed.includes(worker))
          return fresh.length > alive
        })
        killed.push(Math.max(...fresh))
        process.kill(killed.at(-1) as number, 'SIGKILL')
      }
      await killNext(0)
      await killNext(0)
      await killNext(1)
      const [, url = ''] = await server.waitFor(LISTENS)
      await until(() => workersOf(server.pid).length === 2)
      expect(server.output().match(/a worker is started again/g)?.length).toBe(3)
      await killNext(1)
      await killNext(1)
      await until(() => server.output().match(/a worker is started again/g)?.length === 4)
      await until(() => workersOf(server.pid).length === 2)
      expect((await fetch(url + PATH, { headers })).status).toBe(200)
      expect(server.output()).not.toContain('a worker cannot start')
    },
    TIMEOUT_MS,
  )

  test(
    'one that is killed at each start ends the start, with how it ended',
    async () => {
      const settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, LOG_LEVEL: 'warn', WORKERS: '1' }
      const server = runMain({ ...settings, RATE_LIMIT_CLIENTS: '2', BOOTSTRAP_API_KEY: KEY })
      let hasEnded = false
      server.ended.then(() => (hasEnded = true))
      for (; !hasEnded; await Bun.sleep(5)) for (const worker of workersOf(server.pid)) process.kill(worker, 'SIGKILL')
      expect(await server.ended).toBe(1)
      expect(server.output()).toContain('a worker ended with SIGKILL before it was ready')
    },
    TIMEOUT_MS,
  )

  test(
    'they end with their supervisor, even if that is killed, and the next start has the port',
    async () => {
      const { server } = await start()
      const workers = workersOf(server.pid)
      server.kill('SIGKILL')
      await until(() => !workers.some(isAlive))
      const next = await start()
      expect((await fetch(next.url + PATH, { headers })).status).toBe(200)
    },
    TIMEOUT_MS,
  )
})

describe('no request fails', () => {
  for (const run of RUNS)
    test(
      `while workers are replaced one after the other, with 64 clients that keep their connections, run ${run}`,
      async () => {
        const { server, url } = await start()
        const clients = startClients(url, { count: 64, path: PATH, key: KEY })
        await until(() => clients.load.good > 500)
        const before = workersOf(server.pid)
        server.kill('SIGUSR2')
        await renewed(server.pid, 2, before)
        const { failures, leaves } = await clients.stop()
        expect(failures).toEqual({})
        expect(leaves).toBeGreaterThanOrEqual(64) // each was told at least once
      },
      TIMEOUT_MS,
    )

  test(
    'while workers are replaced, with clients that open a connection for each request',
    async () => {
      const { server, url } = await start()
      const clients = startClients(url, { count: 32, path: PATH, key: KEY, keepAlive: false })
      await until(() => clients.load.good > 500)
      const before = workersOf(server.pid)
      server.kill('SIGUSR2')
      await renewed(server.pid, 2, before)
      expect((await clients.stop()).failures).toEqual({})
    },
    TIMEOUT_MS,
  )

  for (const run of RUNS)
    test(
      `when the server stops under 64 clients, beyond that no new connection is made, run ${run}`,
      async () => {
        const { server, url } = await start()
        const clients = startClients(url, { count: 64, path: PATH, key: KEY })
        await until(() => clients.load.good > 500)
        server.kill('SIGTERM')
        expect(await server.ended).toBe(0)
        const { failures } = await clients.stop()
        expect(Object.keys(failures).filter((what) => what !== 'not connected: ECONNREFUSED')).toEqual([])
      },
      TIMEOUT_MS,
    )
})

describe('the port', () => {
  test(
    'is refused to a second server, although workers share it',
    async () => {
      const { url } = await start()
      const second = runMain({ PORT: String(port), DATABASE_URL, DATA_DIR: join(folder.path, 'second') })
      expect(await second.ended).toBe(1)
      expect(second.output()).toBe(
        `roster: port ${port} on 127.0.0.1 is taken by another program: stop it, or set PORT\n`,
      )
      expect((await fetch(url + PATH, { headers })).status).toBe(200)
    },
    TIMEOUT_MS,
  )

  test(
    'goes to one of two servers that start at the same moment',
    async () => {
      const settings = {
        PORT: String(port),
        DATABASE_URL,
        WORKERS: '2',
        RATE_LIMIT_CLIENTS: '2',
        BOOTSTRAP_API_KEY: KEY,
      }
      const both = ['a', 'b'].map((name) => runMain({ ...settings, DATA_DIR: join(folder.path, name) }))
      const ends = await Promise.race(both.map(({ ended }) => ended))
      expect(ends).toBe(1)
      const winner = both.find(({ output }) => !output().includes('is taken'))
      await winner?.waitFor(LISTENS)
      expect((await fetch(`http://127.0.0.1:${port}${PATH}`, { headers })).status).toBe(200)
    },
    TIMEOUT_MS,
  )
})

describe('the log of changes', () => {
  const total = async (url: string) => (await fetch(url + PATH, { headers })).headers.get('x-total-count')

  test(
    'is another one after a server was killed: writes from elsewhere show before and after',
    async () => {
      const sql = connect(DATABASE_URL)
      const machines = async () => (await sql`select machine from change_listener`).map(({ machine }) => machine)
      const first = await start()
      await until(async () => (await machines()).length === 1)
      const [before] = await machines()
      await sql`insert into company (name) values ('a')`
      await until(async () => (await total(first.url)) === '1')
      first.server.kill('SIGKILL')
      await first.server.ended
      const next = await start()
      await until(async () => !(await machines()).includes(before) && (await machines()).length === 1)
      for (const expected of ['2', '3', '4']) {
        await sql`insert into company (name) values ('b')`
        await until(async () => (await total(next.url)) === expected)
      }
      next.server.kill('SIGTERM')
      await next.server.ended
      expect(await machines()).toEqual([])
      await sql.end()
    },
    TIMEOUT_MS,
  )

  for (const [environment, lines] of [
    [{ DATABASE_PREPARE: 'false' }, 1],
    [{ VIEWS: 'off' }, 0],
  ] as const)
    test(
      `is not there with ${JSON.stringify(environment)}: nobody listens, and rows of the dead go`,
      async () => {
        await migrate(DATABASE_URL, MIGRATIONS)
        const sql = connect(DATABASE_URL)
        await sql`insert into change_listener values ('dead', 2147483647, now())`
        const { server } = await start({ ...environment, LOG_LEVEL: 'info' })
        await until(async () => (await sql`select from change_listener`).count === 0)
        const names = await sql`
          select distinct application_name as name from pg_stat_activity
          where datname = current_database() and application_name like 'roster%'`
        expect(names.map(({ name }) => name)).toEqual(['roster'])
        expect(server.output().match(/behind a pooler nobody hears of changes/g)?.length ?? 0).toBe(lines)
        await sql.end()
      },
      TIMEOUT_MS,
    )
})

describe('the memory of the limits', () => {
  const remaining = async (url: string) => Number((await fetch(url, { headers })).headers.get('x-ratelimit-remaining'))
  const limited = { RATE_LIMITS: '100/1h' }
  const table = () => join(memoryFolderOf(folder.path, port), 'keys')

  test(
    'counts are those of all workers, and survive the death of a worker and a restart of the server. D36',
    async () => {
      const { server, url } = await start(limited)
      for (let expected = 99; expected > 89; expected--) expect(await remaining(url)).toBe(expected)
      const workers = workersOf(server.pid)
      for (const worker of workers) process.kill(worker, 'SIGKILL')
      await renewed(server.pid, 2, workers)
      await until(() => (server.output().match(/is replaced/g)?.length ?? 0) === 2)
      expect(await retried(() => remaining(url))).toBe(89)
      server.kill('SIGTERM')
      await server.ended
      const next = await start(limited)
      expect(await remaining(next.url)).toBe(88)
    },
    TIMEOUT_MS,
  )

  test(
    'other limits are another table',
    async () => {
      const { server, url } = await start(limited)
      expect(await remaining(url)).toBe(99)
      server.kill('SIGTERM')
      await server.ended
      const next = await start({ RATE_LIMITS: '50/1h' })
      expect(await remaining(next.url)).toBe(49)
    },
    TIMEOUT_MS,
  )

  test(
    'a file that is truncated under the workers costs their lives and the counts, not the server',
    async () => {
      const { server, url } = await start(limited)
      expect(await remaining(url)).toBe(99)
      const workers = workersOf(server.pid)
      truncateSync(table(), 0)
      // Who touches the memory that is gone dies of it.
      await until(async () => {
        await fetch(url, { headers, keepalive: false }).catch(() => undefined)
        return !workersOf(server.pid).some((worker) => workers.includes(worker))
      })
      await renewed(server.pid, 2, workers)
      expect(await retried(() => remaining(url))).toBeGreaterThan(90)
      server.kill('SIGTERM')
      expect(await server.ended).toBe(0)
    },
    TIMEOUT_MS,
  )

  test(
    'a file that is deleted goes on: a worker that starts later counts with the others',
    async () => {
      if (!onLinux) return
      const { server, url } = await start(limited)
      expect(await remaining(url)).toBe(99)
      rmSync(table())
      const workers = workersOf(server.pid)
      server.kill('SIGUSR2')
      await renewed(server.pid, 2, workers)
      expect(await retried(() => remaining(url))).toBe(98)
      expect(existsSync(table())).toBe(false)
    },
    TIMEOUT_MS,
  )

  test(
    'a folder that is cleaned away is made again: keys still change, workers are still replaced',
    async () => {
      const { server, url } = await start({ ...limited, BOOTSTRAP_API_KEY: '' })
      const roster = async (...words: string[]) => {
        const command = run([process.execPath, '--no-env-file', 'src/main.ts', 'keys', ...words], { DATABASE_URL })
        expect(await command.ended).toBe(0)
        return command.output().trimEnd().split('\n').at(-1) as string
      }
      const key = await roster('create', '--name', 'a', '--rights', '*:read')
      const status = async () => (await fetch(url + PATH, { headers: { authorization: `ApiKey ${key}` } })).status
      await until(async () => (await status()) === 200)
      rmSync(memoryFolderOf(folder.path, port), { recursive: true })
      await roster('revoke', '--name', 'a')
      await until(async () => (await retried(status)) === 401)
      const workers = workersOf(server.pid)
      for (const worker of workers) process.kill(worker, 'SIGKILL')
      await renewed(server.pid, 2, workers)
      expect(await retried(status)).toBe(401)
    },
    TIMEOUT_MS,
  )

  test(
    'no room for it: one line that says how much is needed, exit 1',
    async () => {
      const command = [
        'sh',
        '-c',
        `trap '' XFSZ; ulimit -f 2000; exec "$0" --no-env-file src/main.ts`,
        process.execPath,
      ]
      const settings = { DATA_DIR: folder.path, PORT: String(port), DATABASE_URL, RATE_LIMITS: '1000000/1h' }
      const server = run(command, { ...settings, RATE_LIMIT_CLIENTS: '2' })
      expect(await server.ended).toBe(1)
      expect(server.output()).toMatch(
        /^roster: there is no room for 11\.4 MiB of shared memory at \S+: free some, .*\n$/,
      )
    },
    TIMEOUT_MS,
  )
})

/** A connection that was kept to a worker that has died is found out by its first use. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === 400) throw error
      await Bun.sleep(50)
    }
  }
}
