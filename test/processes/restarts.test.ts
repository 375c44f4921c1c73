import { describe, expect, test } from 'bun:test'
import { startClients } from '../support/clients.ts'
import { headers, PATH, renewed, usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { type RunningProgram, until, workersOf } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { heldRename } from '../support/rows.ts'
import { KEY } from '../support/server.ts'

const RUNS = Array.from({ length: rounds(1, 3) }, (_, index) => index + 1)

const place = usePlace()

/** A server and clients that ask it, so far without a failure. */
async function startLoaded(count: number, keepAlive = true) {
  const { server, url } = await place.start()
  const clients = startClients(url, { count, path: PATH, key: KEY, keepAlive })
  await until(() => clients.load.good > 500)
  return { server, clients }
}

async function replaceWorkers({ pid, kill }: RunningProgram) {
  const before = workersOf(pid)
  kill('SIGUSR2')
  await renewed(pid, 2, before)
}

describe('no request fails', () => {
  for (const run of RUNS)
    test(`while workers are replaced one after the other, with 64 clients that keep their connections, run ${run}`, async () => {
      const { server, clients } = await startLoaded(64)
      await replaceWorkers(server)
      const { failures, leaves } = await clients.stop()
      expect(failures).toEqual({})
      expect(leaves).toBeGreaterThanOrEqual(64) // each was asked at least once
    })

  test('while workers are replaced, with clients that open a connection for each request', async () => {
    const { server, clients } = await startLoaded(32, false)
    await replaceWorkers(server)
    expect((await clients.stop()).failures).toEqual({})
  })

  test('while the worker of a rename that waits for seconds is replaced', async () => {
    const { server, url } = await place.start({ WORKERS: '1' })
    const sql = connect(place.DATABASE_URL)
    const asked = { method: 'PATCH', headers: { ...headers, 'Content-Type': 'application/json' }, body: '{"Name":"larger"}' }
    const rename = (id: string) => fetch(`${url}/Companies/${id}`, asked)
    const answer = await heldRename(sql, rename, async () => {
      await until(async () => (await sql`select from pg_locks where not granted`).count > 0)
      const old = workersOf(server.pid)
      server.kill('SIGUSR2')
      await until(() => workersOf(server.pid).some((worker) => !old.includes(worker)))
      // Longer than its clients have to leave, and the requests of a server that stops.
      await Bun.sleep(6_500)
    })
    expect(answer.status).toBe(200)
    await sql.end()
  })

  for (const run of RUNS)
    test(`when the server stops under 64 clients, beyond that no new connection is made, run ${run}`, async () => {
      const { server, clients } = await startLoaded(64)
      expect(await server.stop()).toBe(0)
      const { failures } = await clients.stop()
      expect(Object.keys(failures).filter((what) => what !== 'not connected: ECONNREFUSED')).toEqual([])
    })
})
