// The server of ADMIN_PORT: metrics and probes, without a key and without limits.
import { readdirSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type postgres from 'postgres'
import { version } from '../../package.json'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { withConnection } from '../execute/connect.ts'
import { QUERY_MS_MAX } from '../execute/limits.ts'
import { classify, unavailable } from '../execute/outcomes.ts'
import type { HookMetrics } from '../hooks/sender.ts'
import { type MetricName, metrics, type Sample } from '../metrics/declared.ts'
import { EXPOSITION_TYPE, writeMetrics } from '../metrics/sums.ts'
import type { Row, Statement } from '../model/sql.ts'
import { descriptorsMax } from '../os/descriptors.ts'
import { withDeadline } from '../os/time.ts'
import { createReadiness } from '../postgres/readiness.ts'
import { StartError } from './startError.ts'
import type { WorkerPool } from './workerPool.ts'

interface Supervised {
  readonly pool: WorkerPool
  hooks(): HookMetrics | null
  readonly url: string
  readonly migrationFiles: readonly string[]
  /** False if the server waits for its database, or stops. */
  isServing(): boolean
}

/** Serves metrics and readiness on ADMIN_PORT. Returns the address, and a function that stops serving. @throws StartError */
export function startMonitor(config: Config, { pool, hooks, url, migrationFiles, isServing }: Supervised) {
  const openMax = descriptorsMax()

  function ownSamples(): Partial<Record<MetricName, Sample[]>> {
    const running = [...pool.workers]
    const uses = [
      ...processUse('supervisor', 'self'),
      ...running.flatMap((worker) => processUse(`worker-${pool.sums.numberOf(worker)}`, worker.child.pid)),
    ]
    const use = hooks()
    return {
      workers: one(running.length),
      workersWanted: one(config.workers),
      replacements: one(pool.replacements),
      ...(use !== null && samplesOfHooks(use)),
      memory: uses.map(({ labels, bytes }) => ({ labels, values: [bytes] })),
      descriptors: uses.map(({ labels, open }) => ({ labels, values: [open] })),
      descriptorsMax: Number.isFinite(openMax) ? one(openMax) : [],
      started: one(performance.timeOrigin / 1_000),
      build: [{ labels: { version, bun: Bun.version }, values: [1] }],
    }
  }

  async function text(): Promise<string> {
    await pool.poll()
    const own = ownSamples()
    return writeMetrics((name) => (metrics[name].from === 'supervisor' ? (own[name] ?? []) : pool.sums.samples(name)))
  }

  let known: readonly Row[] = migrationFiles.map((file) => [file])
  async function read({ text }: Statement): Promise<readonly Row[]> {
    const tooLate = () => {
      throw unavailable()
    }
    const ask = (sql: postgres.Sql) => withDeadline(sql.unsafe(text).values() as Promise<Row[]>, QUERY_MS_MAX, tooLate)
    try {
      known = await withConnection(url, ask)
    } catch (error) {
      // PostgreSQL has no connection left for the monitor, but the workers still have theirs. So the result of the last read is
      // returned.
      if (classify(error) !== 'noConnection') throw error
    }
    return known
  }
  const isApplied = createReadiness(read, migrationFiles)
  const isLive = () => pool.workers.size > 0
  const isReady = async () => isLive() && isServing() && isApplied()
  return serveAdmin({ host: config.adminHost, port: config.adminPort as number }, { isLive, isReady, metrics: text })
}

function samplesOfHooks({ states, delivered, failed, lagMs }: HookMetrics): Partial<Record<MetricName, Sample[]>> {
  return {
    hooks: Object.entries(states).map(([state, value]) => ({ labels: { state }, values: [value] })),
    deliveries: Object.entries({ taken: delivered, failed }).map(([outcome, value]) => ({
      labels: { outcome },
      values: [value],
    })),
    hookLag: one(lagMs / 1_000),
  }
}

function one(value: number): Sample[] {
  return [{ labels: {}, values: [value] }]
}

/**
 * Returns resident memory and open descriptors of a process on Linux, see proc(5). Returns an empty array if the process has
 * ended, or if the system is not Linux.
 */
function processUse(process: string, pid: number | 'self') {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    if (kilobytes === undefined) return []
    return [{ labels: { process }, bytes: Number(kilobytes) * 1_024, open: readdirSync(`/proc/${pid}/fd`).length }]
  } catch {
    return []
  }
}

interface AdminParts {
  metrics(): Promise<string>
  isLive(): boolean
  /** Resolves with false, or rejects, if requests cannot be served. */
  isReady(): Promise<boolean>
}

const READY_MS_MAX = 4_000
const SAFE = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }

const REBOUND = 'A browser asks here by an IP address or as localhost, not by another name.'

/** Serves `/metrics`, `/livez` and `/readyz`, without a key and without limits. @throws StartError when the port is taken */
export function serveAdmin(at: { host: string; port: number }, parts: AdminParts) {
  try {
    const server = Bun.serve({
      hostname: at.host,
      port: at.port,
      development: false,
      reusePort: false,
      fetch: (request) => (isRebound(request) ? refuse(421, REBOUND) : answer(request, parts)),
      error: () => new Response(null, { status: 500, headers: SAFE }),
    })
    const host = at.host.includes(':') ? `[${at.host}]` : at.host
    return { url: `http://${host}:${server.port}`, stop: () => server.stop(true) }
  } catch (error) {
    throw new StartError(`cannot listen on ADMIN_PORT ${at.host}:${at.port}: ${errorOf(error).message}`)
  }
}

/**
 * Returns whether a request looks like DNS rebinding: a web page makes its own host name point to this server, to read the
 * metrics. Returns true if the host is neither an IP address nor `localhost`, and the request has Accept-Language, but not
 * Sec-Fetch-Mode.
 *
 * Browsers always send Accept-Language. They send no Sec-Fetch-Mode over HTTP to such a host. Programs that scrape metrics send
 * no Accept-Language, except programs in Node, which send both headers.
 */
function isRebound({ url, headers }: Request): boolean {
  const { hostname } = new URL(url, 'http://admin')
  if (hostname === 'localhost' || isIP(hostname.replace(/[[\]]/g, '')) !== 0) return false
  return headers.has('accept-language') && !headers.has('sec-fetch-mode')
}

async function answer({ method, url }: Request, { metrics, isLive, isReady }: AdminParts): Promise<Response> {
  const { pathname } = new URL(url, 'http://admin')
  if (!/^\/(metrics|livez|readyz)$/.test(pathname)) return refuse(404, 'Here are /metrics, /livez and /readyz.')
  if (method !== 'GET' && method !== 'HEAD') return refuse(405, 'Here is only to read.', { Allow: 'GET, HEAD' })
  if (pathname === '/metrics') return new Response(await metrics(), { headers: { ...SAFE, 'Content-Type': EXPOSITION_TYPE } })
  if (pathname === '/livez') return statusOf('live', isLive())
  return statusOf('ready', await withDeadline(isReady(), READY_MS_MAX, () => false).catch(() => false))
}

function statusOf(word: string, isSo: boolean): Response {
  const body = JSON.stringify({ status: isSo ? word : `not ${word}` })
  return new Response(body, { status: isSo ? 200 : 503, headers: { ...SAFE, 'Content-Type': 'application/json; charset=utf-8' } })
}

function refuse(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { ...SAFE, ...headers, 'Content-Type': 'text/plain' } })
}
