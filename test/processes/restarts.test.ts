import { describe, expect, test } from 'bun:test'
import { startClients } from '../support/clients.ts'
import { headers, PATH, renewed, usePlace } from '../support/place.ts'
import { connect } from '../support/postgres.ts'
import { until, workersOf } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { heldRename } from '../support/rows.ts'
import { KEY } from '../support/server.ts'
import { startProcess } from '../support/start.ts'

const RUNS = Array.from({ length: rounds(1, 3) }, (_, index) => index + 1)

const place = usePlace()

describe('restarts without failed requests', () => {
  for (const run of RUNS)
    test(`no request over an accepted connection fails while workers are replaced and while the server stops: run ${run}`, async () => {
      const { server, url } = await startProcess(place.settings)
      const kept = startClients(url, { count: 64, path: PATH, key: KEY })
      const single = startClients(url, { count: 16, path: PATH, key: KEY, keepAlive: false })
      await until(() => kept.load.good > 500 && single.load.good > 100)
      const before = workersOf(server.pid)
      server.kill('SIGUSR2')
      await renewed(server.pid, 2, before)
      expect([(await single.stop()).failures, kept.load.failures]).toEqual([{}, {}])
      expect(kept.load.leaves).toBeGreaterThanOrEqual(64) // each client had at least one response
      expect(await server.stop()).toBe(0)
      const { failures } = await kept.stop()
      // A stopping server gives each request a second. On a busy machine some need longer.
      const allowed = ['not connected: ECONNREFUSED', '503 after a second']
      expect(Object.keys(failures).filter((what) => !allowed.includes(what))).toEqual([])
    })

  test('a rename that waits for seconds succeeds although its worker is replaced meanwhile', async () => {
    const { server, url } = await startProcess({ ...place.settings, WORKERS: '1' })
    const sql = connect(place.DATABASE_URL)
    const asked = { method: 'PATCH', headers: { ...headers, 'Content-Type': 'application/json' }, body: '{"Name":"larger"}' }
    const rename = (id: string) => fetch(`${url}/Companies/${id}`, asked)
    const answer = await heldRename(sql, rename, async () => {
      await until(async () => (await sql`select from pg_locks where not granted`).count > 0)
      const old = workersOf(server.pid)
      server.kill('SIGUSR2')
      await until(() => workersOf(server.pid).some((worker) => !old.includes(worker)))
      // Longer than clients have to leave, and than requests of a stopping server have.
      await Bun.sleep(6_500)
    })
    expect(answer.status).toBe(200)
    await sql.end()
  })
})
