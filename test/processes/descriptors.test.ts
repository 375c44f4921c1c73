import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { cpuUsBetween, readCpu } from '../../bench/cpu.ts'
import { Connection } from '../support/connection.ts'
import { headers, PATH } from '../support/place.ts'
import { createDatabase } from '../support/postgres.ts'
import { until, workersOf } from '../support/process.ts'
import { bytesOf } from '../support/requests.ts'
import { startProcess } from '../support/start.ts'

const LIMIT = 200
const CLIENTS = 400
const FULL = /no descriptors left: new clients wait until others have left/g

// Both limits, because the runtime raises the soft one to the hard one.
const LIMITED = ['sh', '-c', `ulimit -n ${LIMIT}; exec "$0" --no-env-file src/main.ts`, process.execPath]

if (process.platform === 'linux') {
  test('a server without free file descriptors serves its clients and lets new ones wait, with one log line and little CPU time', async () => {
    const { server, url } = await startProcess({ DATABASE_URL: await createDatabase(), WORKERS: '1' }, LIMITED)
    const port = Number(new URL(url).port)
    const [worker = 0] = workersOf(server.pid)
    const open = () => readdirSync(`/proc/${worker}/fd`).length
    const connection = new Connection(url)
    const served = async (path: string) => (await connection.send(bytesOf('GET', path), false)).status
    // Before the pool has more than one connection to the database.
    expect(await served('/livez')).toBe(200)
    const clients: Socket[] = []
    for (let index = 0; index < CLIENTS; index++) {
      const client = connect(port, '127.0.0.1', () => client.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'))
      client.on('error', () => undefined) // the server closes the connection
      clients.push(client)
    }
    await server.waitFor(FULL)
    // Descriptors are reserved for database connections. The reads differ, so that they are not merged.
    const paths = Array.from({ length: 12 }, (_, index) => `/Companies?Name=${index}`)
    for (const path of paths) expect(await served(path)).toBe(200)
    await until(() => clients.some((client) => client.bytesRead > 0))
    expect(open()).toBeLessThan(LIMIT)

    const [sinceMs, before] = [performance.now(), readCpu([worker])]
    await Bun.sleep(2_000)
    const usedMs = (cpuUsBetween(before, readCpu([worker])) as number) / 1_000
    const share = usedMs / (performance.now() - sinceMs)
    expect(share).toBeLessThan(0.1)
    expect(await served('/Companies?Name=last')).toBe(200)
    expect(server.output().match(FULL)).toHaveLength(1)

    // When these clients have left, new clients are accepted again.
    for (const client of clients) client.destroy()
    const status = () =>
      fetch(url + PATH, { headers, keepalive: false }).then(
        ({ status }) => status,
        () => null,
      )
    await until(async () => (await status()) === 200)
    connection.close()
    expect(await server.stop()).toBe(0)
  })
} else test('how many descriptors there are is not known here', () => expect(process.platform).not.toBe('linux'))
