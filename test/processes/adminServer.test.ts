import { afterEach, expect, test } from 'bun:test'
import { type AdminServer, serveAdmin } from '../../src/processes/adminServer.ts'

let server: AdminServer | null = null
afterEach(() => server?.stop())

test('/livez says whether a worker is there, /readyz whether requests can be served', async () => {
  let isThere = true
  const isLive = () => isThere
  server = serveAdmin({ host: '127.0.0.1', port: 0 }, { isLive, isReady: async () => isThere, metrics: () => '' })
  const statusOf = async (path: string) => (await fetch(`${server?.url}${path}`)).status
  expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 200])
  isThere = false
  expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([503, 503])
})

test('a question of readiness that fails is answered that it is not ready', async () => {
  const isReady = () => Promise.reject(new Error('no connection'))
  server = serveAdmin({ host: '127.0.0.1', port: 0 }, { isLive: () => true, isReady, metrics: () => '' })
  const answer = await fetch(`${server.url}/readyz`)
  expect([answer.status, await answer.json()]).toEqual([503, { status: 'not ready' }])
})
