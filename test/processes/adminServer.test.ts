import { afterEach, expect, test } from 'bun:test'
import { serveAdmin } from '../../src/processes/monitor.ts'

let server: ReturnType<typeof serveAdmin> | null = null
afterEach(() => server?.stop())

test('/livez says whether a worker runs, and /readyz whether requests can be served', async () => {
  let isThere = true
  const isLive = () => isThere
  server = serveAdmin({ host: '127.0.0.1', port: 0 }, { isLive, isReady: async () => isThere, metrics: async () => '' })
  const statusOf = async (path: string) => (await fetch(`${server?.url}${path}`)).status
  expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 200])
  isThere = false
  expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([503, 503])
})

test('/readyz answers 503 if the check for readiness throws an error', async () => {
  const isReady = () => Promise.reject(new Error('no connection'))
  server = serveAdmin({ host: '127.0.0.1', port: 0 }, { isLive: () => true, isReady, metrics: async () => '' })
  const answer = await fetch(`${server.url}/readyz`)
  expect([answer.status, await answer.json()]).toEqual([503, { status: 'not ready' }])
})

test('a web page under a rebound host name (DNS rebinding) cannot read metrics; programs can use any host name', async () => {
  server = serveAdmin({ host: '127.0.0.1', port: 0 }, { isLive: () => true, isReady: async () => true, metrics: async () => 'm' })
  const browser = { 'accept-language': 'en' }
  const ask = async (host: string, headers: Record<string, string>) => {
    const answer = await fetch(`${server?.url}/metrics`, { headers: { host, ...headers } })
    return [answer.status, (await answer.text()).length > 1]
  }
  for (const host of ['rebound.example.com', 'rebound.example.com:9464', 'localhost.example.com', 'service', '1.example'])
    expect([host, ...(await ask(host, browser))]).toEqual([host, 421, true])
  for (const host of ['127.0.0.1:9464', 'localhost:1', 'LOCALHOST', '[::1]:9464', '10.0.0.7'])
    expect([host, ...(await ask(host, browser))]).toEqual([host, 200, false])
  // Headers of curl, Prometheus and Node.
  for (const host of ['roster.hr.svc:9464', 'roster', 'hr.example.com'])
    for (const headers of [{}, { 'accept-language': '*', 'sec-fetch-mode': 'cors' }])
      expect([host, ...(await ask(host, headers))]).toEqual([host, 200, false])
})
