import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { version } from '../package.json'
import { canonicalAuthorization, type Keyring } from './admit/apiKey.ts'
import { errorPage } from './docs/errorPage.ts'
import { ApiError } from './errors.ts'
import type { Database } from './execute/database.ts'
import type { Entity } from './model/entity.ts'
import { suggest } from './model/nearest.ts'
import { createReadiness } from './observe/health.ts'
import type { Log } from './observe/log.ts'
import { Resource } from './resource.ts'
import { respondError, respondFailure } from './respond/error.ts'
import { type Reply, respondEmpty, respondJson } from './respond/reply.ts'
import { defineEndpoint, Router } from './route.ts'

export interface Parts {
  readonly entities: readonly Entity[]
  readonly database: Database
  readonly keyring: Keyring
  readonly migrationFiles: readonly string[]
  readonly log: Log
  /** What links begin with, without a slash at the end. */
  baseUrl(): string
  /** True while the server is stopping: answers tell clients to leave. */
  isDraining(): boolean
}

const TARGET_LENGTH_MAX = 8 * 1024
/** Over the statement's and the query's deadlines, which must have their say first. */
const IDLE_SECONDS = 30

// The plugin looks there when the header is not its own; half of a surrogate pair is no name that a client can send.
const UNREACHABLE = '\ud800'

/** The server, put together: admit, then route, then an entity's resource; every answer leaves through `finish`. */
export function createApp(parts: Parts) {
  const router = createRouter(parts)
  return new Elysia({
    name: 'roster',
    handler: { standardHostname: false },
    serve: {
      development: false,
      idleTimeout: IDLE_SECONDS,
      // Ours is smaller, and answers with a body of ours.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      error: () => new Response(null, { status: 500 }),
    },
  })
    .onRequest(({ request }) => {
      const header = request.headers.get('authorization')
      if (header === null) return
      const canonical = canonicalAuthorization(header)
      if (canonical === null) request.headers.delete('authorization')
      else if (canonical !== header) request.headers.set('authorization', canonical)
    })
    .use(bearer({ extract: { header: 'ApiKey', query: UNREACHABLE, body: UNREACHABLE } }))
    .onError(({ request, error }) => {
      const requestId = requestIdOf(request)
      return finish(parts, request, requestId, performance.now(), failure(parts, requestId, error))
    })
    .all(
      '/*',
      async ({ request, bearer: key }) => {
        const startMs = performance.now()
        const requestId = requestIdOf(request)
        const reply = await answer(parts, router, request, key).catch((error) => failure(parts, requestId, error))
        return finish(parts, request, requestId, startMs, reply)
      },
      { parse: 'none' },
    )
}

function createRouter({ entities, database, migrationFiles, baseUrl, isDraining }: Parts): Router {
  const router = new Router()
  const resources = entities.map((entity) => new Resource(entity, database))
  const links = () => Object.fromEntries(entities.map(({ plural }) => [plural, `${baseUrl()}/${plural}`]))
  const isReady = createReadiness(database, migrationFiles)
  const open = (get: (id: string) => Promise<Reply> | Reply) => defineEndpoint({ GET: ({ id }) => get(id) }, true)
  router.add(
    '',
    open(() => respondJson(200, JSON.stringify({ name: 'Roster', version, resources: links() }))),
  )
  router.add(
    'livez',
    open(() => respondJson(200, '{"status":"live"}')),
  )
  router.add(
    'readyz',
    open(async () => {
      if (!isDraining() && (await isReady())) return respondJson(200, '{"status":"ready"}')
      const message = isDraining() ? 'The server is stopping.' : 'The database lacks a migration.'
      throw new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
    }),
  )
  router.add(
    'errors/*',
    open((code) => {
      const page = errorPage(code)
      if (page) return page
      throw new ApiError('NotFound', 'There is no such error code.')
    }),
  )
  for (const resource of resources) router.addResource(resource)
  return router
}

async function answer(parts: Parts, router: Router, request: Request, key: string | undefined): Promise<Reply> {
  const { path, query } = splitTarget(request)
  const location = router.find(path)
  const { method } = request
  if (method === 'OPTIONS' && location) return respondEmpty({ Allow: location.endpoint.allow })
  if (!location?.endpoint.isOpen && !parts.keyring.accepts(key)) throw unauthorized()
  if (!location) throw notFound(router, path)
  const { endpoint, id } = location
  const handler = endpoint.methods[method === 'HEAD' ? 'GET' : method]
  if (!handler) {
    const headers = { Allow: endpoint.allow }
    throw new ApiError('MethodNotAllowed', `${method} is not among the methods here: ${endpoint.allow}.`, { headers })
  }
  return handler({ request, url: parts.baseUrl() + path, query, id })
}

/** Path and query of an absolute URL. No URL object: it costs more than the rest of the routing. */
function splitTarget({ url, headers }: Request): { path: string; query: string } {
  // The server leaves the URL relative when the Host header is not valid, or missing, which HTTP/1.0 allows.
  const isRelative = url.startsWith('/')
  if (isRelative && headers.has('host')) throw new ApiError('InvalidHost', 'The Host header is not valid.')
  const start = isRelative ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  if (url.length - start > TARGET_LENGTH_MAX)
    throw new ApiError('UriTooLong', 'Path and query string together may have up to 8 KiB.')
  const mark = url.indexOf('?', start)
  return mark === -1
    ? { path: url.slice(start), query: '' }
    : { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

function unauthorized(): ApiError {
  const message = 'The request needs a valid key in the header Authorization: ApiKey <key>.'
  return new ApiError('Unauthorized', message, { headers: { 'WWW-Authenticate': 'ApiKey' } })
}

function notFound(router: Router, path: string): ApiError {
  const [first = ''] = path.slice(1).split('/')
  return new ApiError('NotFound', `There is nothing at this path.${suggest(first, router.names)}`)
}

function failure({ baseUrl, log }: Parts, requestId: string, error: unknown): Reply {
  if (error instanceof ApiError) {
    if (error.cause) log.warn(error.code, { requestId, cause: String(error.cause) })
    return respondError(error, baseUrl())
  }
  log.error('a request failed', { requestId, error: String((error as Error | null)?.stack ?? error) })
  return respondFailure(requestId, baseUrl())
}

/** What every answer carries, and its line in the log. */
function finish({ isDraining, log }: Parts, request: Request, requestId: string, startMs: number, reply: Reply) {
  const headers = reply.headers
  headers['X-Request-Id'] = requestId
  // A body that nobody reads is still being sent; only a closed connection stops its sender.
  if (isDraining() || (request.body !== null && !request.bodyUsed)) headers.Connection = 'close'
  const { method, url } = request
  log.info(`${method} ${pathOf(url)} ${reply.status}`, {
    ms: Math.round((performance.now() - startMs) * 100) / 100,
    requestId,
  })
  return new Response(reply.body, { status: reply.status, headers })
}

const SANE_ID = /^[\w.:/+=~-]{1,128}$/
/** The client's id if it is sane, else a new one. */
function requestIdOf(request: Request): string {
  const own = request.headers.get('x-request-id')
  return own !== null && SANE_ID.test(own) ? own : crypto.randomUUID()
}

/** Without the query string, which can hold people's data. */
function pathOf(url: string): string {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const mark = url.indexOf('?', start)
  return url.slice(start, Math.min(mark === -1 ? url.length : mark, start + 200))
}
