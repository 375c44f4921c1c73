import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startClients } from '../support/clients.ts'
import { headers, PATH, renewed, usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { isAlive, until, workersOf } from '../support/process.ts'
import { retried } from '../support/requests.ts'
import { KEY } from '../support/server.ts'
import { LISTENS } from '../support/serverProcesses.ts'
import { launchProcess, startProcess } from '../support/start.ts'

const place = usePlace()

describe('worker processes', () => {
  test('each worker is a process with its own pool, and a worker that hangs is killed and replaced', async () => {
    const { server, url } = await startProcess(place.settings)
    expect(workersOf(server.pid)).toHaveLength(2)
    expect(server.output()).toContain('2 workers,')
    const ask = (_: unknown, id: number) => fetch(`${url}/Companies/${1 + id}`, { headers, keepalive: false })
    await Promise.all(Array.from({ length: 64 }, ask))
    const sql = connect(place.DATABASE_URL)
    // The name of a connection tells its owner.
    const names = await sql`
        select distinct application_name from pg_stat_activity
        where datname = current_database() and application_name like 'roster %/0'`
    await sql.end()
    expect(names).toHaveLength(2)

    const [hanging = 0] = workersOf(server.pid)
    process.kill(hanging, 'SIGSTOP')
    await server.waitFor(/a worker does not answer: it is killed and replaced/)
    await renewed(server.pid, 2, [hanging])
    expect(await retried(async () => (await fetch(url + PATH, { headers })).status)).toBe(200)
  })

  test('a worker that gets SIGTERM answers its clients before it ends, and is replaced', async () => {
    const { server, url } = await startProcess(place.settings)
    const clients = startClients(url, { count: 16, path: PATH, key: KEY })
    await until(() => clients.load.good > 200)
    const [first = 0, second = 0] = workersOf(server.pid)
    process.kill(first, 'SIGTERM')
    await until(() => !isAlive(first) && workersOf(server.pid).length === 2)
    expect((await clients.stop()).failures).toEqual({})
    expect(workersOf(server.pid)).toContain(second)
  })

  test('a worker that is killed under load is replaced; only its requests in flight are lost', async () => {
    const { server, url } = await startProcess(place.settings)
    const clients = startClients(url, { count: 64, path: PATH, key: KEY })
    await until(() => clients.load.good > 500)
    const before = workersOf(server.pid)
    process.kill(before[0] as number, 'SIGKILL')
    await renewed(server.pid, 2, before.slice(0, 1))
    const good = clients.load.good
    await until(() => clients.load.good > good + 500)
    const { failures, idleCuts } = await clients.stop()
    // Each client has one request at a time, so it can lose only that one.
    const lost = Object.values(failures).reduce((sum, times) => sum + times, 0)
    expect(Object.keys(failures).filter((what) => !what.startsWith('cut'))).toEqual([])
    expect([lost + idleCuts > 0, lost <= 64]).toEqual([true, true])
    expect(workersOf(server.pid)).toContain(before[1] as number)
    expect(server.output()).toContain('a worker ended: it is replaced')
  })

  test('a worker that cannot start is retried after growing pauses, while the others serve', async () => {
    const { server, url } = await startProcess(place.settings)
    const sql = connect(place.DATABASE_URL)
    await sql`alter table absence rename to gone`
    process.kill(workersOf(server.pid)[0] as number, 'SIGKILL')
    await server.waitFor(/pauseMs=200/)
    expect(server.output()).toContain('Absence needs a migration: relation "absence" does not exist')
    expect((await fetch(url + PATH, { headers })).status).toBe(200)
    const pauses = [...server.output().matchAll(/a worker (?:ended|cannot start).*pauseMs=(\d+)/g)].map(([, ms]) => Number(ms))
    expect(pauses).toEqual(pauses.map((_, attempt) => (attempt === 0 ? 0 : 100 * 2 ** (attempt - 1))))
    await sql`alter table gone rename to absence`
    await sql.end()
    const [there = 0] = workersOf(server.pid)
    await until(() => workersOf(server.pid).length === 2)
    expect(workersOf(server.pid)).toContain(there)
  })

  test('the number of workers stays the same after SIGUSR2 during the start, several restarts, and a kill during a restart', async () => {
    const server = launchProcess({ ...place.settings, WORKERS: '2' })
    await until(() => workersOf(server.pid).length >= 2)
    server.kill('SIGUSR2')
    await server.waitFor(LISTENS)
    const first = workersOf(server.pid)
    server.kill('SIGUSR2')
    server.kill('SIGUSR2')
    await Bun.sleep(150)
    process.kill(first[1] as number, 'SIGKILL')
    // While a worker is replaced, one more worker runs; three seconds without a change mean that the restart is over.
    await until(async () => {
      const before = await renewed(server.pid, 2, first)
      await Bun.sleep(3_000)
      return Bun.deepEquals(workersOf(server.pid), before)
    })
    expect(await server.stop()).toBe(0)
    expect(server.output()).not.toContain('restart given up')
  })

  test('a start fails with exit code 1 and the reason if a worker is killed before it is ready', async () => {
    const server = launchProcess({ ...place.settings, WORKERS: '1' })
    await until(() => workersOf(server.pid).length === 1)
    process.kill(workersOf(server.pid)[0] as number, 'SIGKILL')
    expect(await server.ended).toBe(1)
    expect(server.output()).toContain('a worker ended with SIGKILL before it was ready')
  })

  test('workers end if their supervisor is killed, and the next start can use the port', async () => {
    const { server } = await startProcess(place.settings)
    const workers = workersOf(server.pid)
    server.kill('SIGKILL')
    await until(() => !workers.some(isAlive))
    const next = await startProcess(place.settings)
    expect((await fetch(next.url + PATH, { headers })).status).toBe(200)
  })
})

describe('the port of a server', () => {
  test('if two servers start on it at the same time, one serves and the other ends with exit code 1', async () => {
    const both = ['a', 'b'].map((name) => launchProcess({ ...place.settings, DATA_DIR: join(place.folder, name) }))
    const ends = await Promise.race(both.map(({ ended }) => ended))
    expect(ends).toBe(1)
    const winner = both.find(({ output }) => !output().includes('is taken'))
    await winner?.waitFor(LISTENS)
    expect((await fetch(`http://127.0.0.1:${place.port}${PATH}`, { headers })).status).toBe(200)
  })
})
