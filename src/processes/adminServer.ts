import { isIP } from 'node:net'
import { EXPOSITION_TYPE } from '../metrics/sums.ts'
import { withDeadline } from '../os/time.ts'
import { StartError } from './startError.ts'

/** A running server of ADMIN_PORT. */
export interface AdminServer {
  readonly url: string
  stop(): void
}

interface AdminParts {
  metrics(): Promise<string>
  isLive(): boolean
  /** Rejects, as a false does, where requests cannot be served. */
  isReady(): Promise<boolean>
}

const READY_MS_MAX = 4_000
const SAFE = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }

const REBOUND = 'A browser asks here by an IP address or as localhost, not by another name.'

/** Serves `/metrics`, `/livez` and `/readyz`, without a key and without limits. @throws StartError when the port is taken */
export function serveAdmin(at: { host: string; port: number }, parts: AdminParts): AdminServer {
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
    throw new StartError(`cannot listen on ADMIN_PORT ${at.host}:${at.port}: ${(error as Error).message}`)
  }
}

/**
 * Keeps the promise that no web page reads the metrics: a page's own name can be made to lead here (DNS rebinding), for which
 * the browser sends no `Origin`. Browsers always send Accept-Language, and programs that scrape do not; Node's do, with
 * Sec-Fetch-Mode, which a browser leaves out in clear text under such a name.
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
