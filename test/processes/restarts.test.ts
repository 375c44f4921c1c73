import { describe, expect, test } from 'bun:test'
import { startClients } from '../support/clients.ts'
import { PATH, renewed, usePlace } from '../support/place.ts'
import { until, workersOf } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { KEY } from '../support/server.ts'

const TIMEOUT_MS = 120_000
const RUNS = Array.from({ length: rounds(1, 3) }, (_, index) => index + 1)

const place = usePlace()

describe('no request fails', () => {
  for (const run of RUNS)
    test(
      `while workers are replaced one after the other, with 64 clients that keep their connections, run ${run}`,
      async () => {
        const { server, url } = await place.start()
        const clients = startClients(url, { count: 64, path: PATH, key: KEY })
        await until(() => clients.load.good > 500)
        const before = workersOf(server.pid)
        server.kill('SIGUSR2')
        await renewed(server.pid, 2, before)
        const { failures, leaves } = await clients.stop()
        expect(failures).toEqual({})
        expect(leaves).toBeGreaterThanOrEqual(64) // each was asked at least once
      },
      TIMEOUT_MS,
    )

  test(
    'while workers are replaced, with clients that open a connection for each request',
    async () => {
      const { server, url } = await place.start()
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
        const { server, url } = await place.start()
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
