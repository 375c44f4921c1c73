import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { version } from '../../package.json'
import type { Admission } from '../admit/admission.ts'
import { canonicalAuthorization } from '../admit/apiKey.ts'
import type { Key } from '../admit/keyring.ts'
import type { Standing } from '../admit/meter.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import type { LongWrites } from '../execute/longWrites.ts'
import type { Log } from '../log.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Entity } from '../model/entity.ts'
import { allows } from '../model/rights.ts'
import { type CacheParts, Resource, type ResourceRequest } from '../operations/resource.ts'
import { respondError, respondFailure } from '../respond/error.ts'
import { errorPage } from '../respond/errorPage.ts'
import { fitHead } from '../respond/head.ts'
import { type Reply, respondEmpty, respondJson } from '../respond/reply.ts'
import { createReadiness } from './readiness.ts'
import { databaseIsAway, notFound, rateLimitExceeded, requireRight, unauthorized, unconfirmed } from './refusals.ts'
import { defineEndpoint, type Location, Router } from './router.ts'
import { pathOf, readTarget, type Target } from './target.ts'

export interface Parts {
  readonly entities: readonly Entity[]
  readonly database: Database
  readonly longWrites: LongWrites
  readonly admission: Admission
  readonly cursors: Cursors
  /** Null: every list is read from the database. */
  readonly memory: CacheParts | null
  readonly migrationFiles: readonly string[]
  readonly log: Log
  /** What links begin with, without a slash at the end. */
  baseUrl(): string
  /** True while the server is stopping: answers tell clients to leave. */
  isDraining(): boolean
  /** True until the database has been there for the first time: its rows and keys are not known, nor that it has any. */
  isWaiting(): boolean
}

/** Over the statement's and the query's deadlines, which must have their say first. */
const IDLE_SECONDS = 30

// The plugin looks there when the header is not its own; half of a surrogate pair is no name that a client can send.
const UNREACHABLE = '\ud800'

/** The server, put together: route, admit, then an entity's resource; every answer leaves through `finish`. */
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
    .onRequest((context) => {
      // Where Elysia has found a query string, which it would parse for the plugin below. We read it ourselves, or not at all.
      ;(context as { qi?: number }).qi = -1
      const { request } = context
      const header = request.headers.get('authorization')
      if (header === null) return
      const canonical = canonicalAuthorization(header)
      if (canonical === null) request.headers.delete('authorization')
      else if (canonical !== header) request.headers.set('authorization', canonical)
    })
    .use(bearer({ extract: { header: 'ApiKey', query: UNREACHABLE, body: UNREACHABLE } }))
    .onError(async ({ request, error, server }) => {
      const requestId = requestIdOf(request)
      const standing = await parts.admission.charge(null, request, server)
      return finish(parts, request, requestId, null, standing, performance.now(), failure(parts, requestId, error))
    })
    .all(
      '/*',
      async ({ request, bearer: text, server }) => {
        const startMs = performance.now()
        const requestId = requestIdOf(request)
        const target = readTarget(request)
        const location = router.find(target.path)
        const isUnlimited = location?.endpoint.isUnlimited === true
        // Keys are not even looked at where the asker could tell right ones from wrong ones as often as it likes.
        let key = isUnlimited ? null : parts.admission.keyOf(text)
        let isConfirmed = true
        const settled = location?.endpoint.isOpen ? null : parts.admission.settle(text, key, request, server)
        if (settled !== null) ({ key, isConfirmed } = await settled)
        const asked = isUnlimited ? null : parts.admission.charge(key, request, server)
        const standing = asked instanceof Promise ? await asked : asked
        let reply: Reply
        try {
          reply = await answer(parts, router, { request, server, target, location, key, isConfirmed, standing })
        } catch (error) {
          reply = failure(parts, requestId, error)
        }
        return finish(parts, request, requestId, key, standing, startMs, reply)
      },
      { parse: 'none' },
    )
}

function createRouter(parts: Parts): Router {
  const { entities, database, longWrites, cursors, memory, migrationFiles, baseUrl, isDraining, isWaiting } = parts
  const router = new Router()
  const resources = entities.map((entity) => new Resource(entity, database, entities, cursors, memory, longWrites))
  const links = () => Object.fromEntries(entities.map(({ plural }) => [plural, `${baseUrl()}/${plural}`]))
  const isReady = createReadiness(database, migrationFiles)
  const open = (get: (id: string) => Promise<Reply> | Reply, isUnlimited = false) =>
    defineEndpoint({ GET: ({ id }) => get(id) }, { isOpen: true, isUnlimited })
  router.add(
    '',
    open(() => respondJson(200, JSON.stringify({ name: 'Roster', version, resources: links() }))),
  )
  router.add(
    'livez',
    open(() => respondJson(200, '{"status":"live"}'), true),
  )
  router.add(
    'readyz',
    open(async () => {
      if (isWaiting()) throw databaseIsAway()
      if (!isDraining() && (await isReady())) return respondJson(200, '{"status":"ready"}')
      const message = isDraining() ? 'The server is stopping.' : 'The database lacks a migration.'
      throw new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
    }, true),
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

/** A request, and what is known of it before it is answered. */
interface Call {
  readonly request: Request
  readonly server: ResourceRequest['server']
  readonly target: Target
  readonly location: Location | null
  readonly key: Key | null
  readonly isConfirmed: boolean
  /** Null: nothing is charged here. */
  readonly standing: Standing | null
}

function answer(parts: Parts, router: Router, call: Call): Promise<Reply> | Reply {
  const { request, server, target, location, key, isConfirmed, standing } = call
  const { method } = request
  if (standing !== null && !standing.admitted) throw rateLimitExceeded(standing)
  if (target.fault) throw target.fault
  if (method === 'OPTIONS' && location) return respondEmpty({ Allow: location.endpoint.allow })
  if (!location?.endpoint.isOpen) {
    const isWaiting = parts.isWaiting()
    if (isWaiting && (key !== null || request.headers.has('authorization'))) throw databaseIsAway()
    if (!isConfirmed) throw unconfirmed()
    if (key === null) throw unauthorized()
  }
  if (!location) throw notFound(router.names, target.path)
  const { endpoint, id } = location
  const handler = endpoint.methods[method === 'HEAD' ? 'GET' : method]
  if (!handler) {
    const headers = { Allow: endpoint.allow }
    throw new ApiError('MethodNotAllowed', `${method} is not among the methods here: ${endpoint.allow}.`, { headers })
  }
  const { plural } = endpoint
  if (key !== null && plural !== null) requireRight(key, plural, method)
  const mayRead = key !== null && plural !== null && allows(key.rights, plural, 'read')
  return handler({ request, server, url: parts.baseUrl() + target.path, query: target.query, id, mayRead })
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
function finish(
  { isDraining, log }: Parts,
  request: Request,
  requestId: string,
  key: Key | null,
  standing: Standing | null,
  startMs: number,
  reply: Reply,
) {
  const headers = reply.headers
  if (standing !== null) {
    // Spec 8. The limit is told by its period.
    headers['X-RateLimit-Limit'] = standing.rule.period
    headers['X-RateLimit-Remaining'] = standing.remaining
    headers['X-RateLimit-Reset'] = standing.reset
  }
  headers['X-Request-Id'] = requestId
  if (isDraining() || hasUnreadBody(request) || request.method === 'CONNECT') headers.Connection = 'close'
  fitHead(reply)
  if (log.tells('info')) logRequest(log, request, requestId, key, reply.status, startMs)
  return new Response(reply.body, { status: reply.status, headers })
}

/**
 * Whether a body may still be on its way: only a closed connection stops its sender. `request.body` does not tell, since
 * it is null for GET and HEAD, whose bodies are read off the connection for as long as they last.
 */
function hasUnreadBody({ bodyUsed, headers }: Request): boolean {
  if (bodyUsed) return false
  const length = headers.get('content-length')
  return length === null ? headers.has('transfer-encoding') : length !== '0'
}

function logRequest(
  log: Log,
  { method, url }: Request,
  requestId: string,
  key: Key | null,
  status: number,
  startMs: number,
) {
  const ms = Math.round((performance.now() - startMs) * 100) / 100
  const fields = key === null ? { ms, requestId } : { ms, requestId, key: key.id }
  log.info(`${method} ${pathOf(url)} ${status}`, fields)
}

const SANE_ID = /^[\w.:/+=~-]{1,128}$/
/** The client's id if it is sane, else a new one. */
function requestIdOf(request: Request): string {
  const own = request.headers.get('x-request-id')
  return own !== null && SANE_ID.test(own) ? own : crypto.randomUUID()
}
