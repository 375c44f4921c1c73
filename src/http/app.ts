// The HTTP app: routes, authenticates and charges each request, calls its handler, and adds common headers to the response.
import type { Admission } from '../admit/admission.ts'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import { count, seriesOf } from '../metrics/counts.ts'
import type { GrantedRights, Verb } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { baseOf } from '../model/namedView.ts'
import type { RightsNow } from '../model/principal.ts'
import { type RightsMoment, withRightsOfNow } from '../operations/momentRights.ts'
import { requireRight } from '../operations/resourceRequest.ts'
import { faultPage } from '../pages/errorPages.ts'
import { readPieces } from '../parse/body.ts'
import { respondError } from '../respond/error.ts'
import { isStreamed, type Reply, respondEmpty, type Streamed, type TextReply } from '../respond/reply.ts'
import {
  credentialOf,
  databaseIsAway,
  keyChecks,
  needsNoKey,
  rateLimitExceeded,
  unauthorized,
  unconfirmed,
} from './authentication.ts'
import { type AddCors, isPreflight, respondPreflight } from './cors.ts'
import { addRest, addRoute, checkElysia, createElysia, type Failed } from './elysia.ts'
import { createRouter, type EndpointParts } from './endpoints.ts'
import { type Exchange, idsOf, noteAnswer } from './exchange.ts'
import { type OwnRoute, ownEndpoint, ownPaths, requireFree } from './ownRoutes.ts'
import { type Match, type Router, requireSeen, viewAt } from './router.ts'
import { shortenHeaders } from './shortenHeaders.ts'
import { chunked, streamBody } from './streamBody.ts'
import { pathOf, readTarget, type Target } from './target.ts'

/** Dependencies of an app. The worker makes them. */
export interface Parts extends EndpointParts {
  readonly admission: Admission
  /** Adds CORS headers to a response; null if no page of another origin may read responses. */
  readonly addCors: AddCors | null
  readonly log: Log
}

/** Creates the app with the routes of the API and of a project; every response leaves through `finish`. */
export function createApp(parts: Parts, ownRoutes: readonly OwnRoute[] = []) {
  const { admission } = parts
  const router = createRouter({ ...parts, keysInUse: keyChecks(admission) })
  const onError = async ({ request, error, server }: Failed) => {
    const startMs = performance.now()
    const address = admission.addressOf(request, server)
    const rateLimit = await admission.charge(null, address)
    const call = {
      request,
      server,
      requestId: requestIdOf(request),
      startMs,
      address,
      location: null,
      principal: null,
      rateLimit,
    }
    return finish(parts, call, failure(parts, call, error), hasUnreadBody(request))
  }
  checkElysia(createElysia(onError))
  const app = createElysia(onError)
  // `app.server` is read at each request, since it is null until the app listens. Reading it from the context of Elysia's
  // handlers would cost more.
  const answerAt = (match: Match | null, request: Request) => respond(parts, router, app.server, request, match)
  for (const { method, pattern, match } of router.routes)
    addRoute(app, method, pattern, (request, id) => answerAt(match(id), request))
  requireFree(ownRoutes, router.routes, parts.views)
  for (const own of ownRoutes) {
    const match = { endpoint: ownEndpoint(own), id: '', path: null }
    for (const method of own.method === 'GET' ? ['GET', 'HEAD'] : [own.method])
      addRoute(app, method, own.path, (request) => answerAt(match, request))
  }
  router.others = ownPaths(ownRoutes)
  addRest(app, (request) => answerAt(null, request))
  return app
}

/** Verb of the right that a request needs, by method. A method that is not listed here needs the right to read. */
const VERBS: Readonly<Record<string, Verb>> = { POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'delete' }
const UNLIMITED = { principal: null, isConfirmed: true, refusal: null, rateLimit: null }

/** Answers a request. `match`: the location that Elysia has found; null if the router must look for the location. */
async function respond(
  parts: Parts,
  router: Router,
  server: Exchange['server'],
  request: Request,
  match: Match | null,
): Promise<Response> {
  const startMs = performance.now()
  const requestId = requestIdOf(request)
  const address = parts.admission.addressOf(request, server)
  const target = readTarget(request)
  const path = target.fault === null ? target.path : pathOf(request.url)
  const isRight = match !== null && (match.path === null || match.path === path)
  const location = isRight ? match : (router.find(path) ?? router.other(path))
  const isUnlimited = location?.endpoint.isUnlimited === true
  const hasClient = server === null || address !== ''
  const { admission } = parts
  // At an unlimited endpoint a client could try any number of keys, so keys are not looked at there.
  const asked =
    isUnlimited || !hasClient
      ? UNLIMITED
      : admission.admit(credentialOf(request, admission.takesTokens), address, needsNoKey(location?.endpoint, request, admission))
  const { principal, isConfirmed, refusal, rateLimit } = asked instanceof Promise ? await asked : asked
  const call = { request, server, requestId, startMs, address, target, location, principal, isConfirmed, refusal, rateLimit }
  let reply: Reply
  try {
    reply = await answer(parts, router, call)
  } catch (error) {
    reply = failure(parts, call, error)
    if (error instanceof ApiError) reply = faultPage(request, path, error) ?? reply
  }
  const isArriving = hasUnreadBody(request) && !(await readRest(request))
  return finish(parts, call, reply, isArriving)
}

/**
 * A request with its target. `isConfirmed`: false if the server could not find out whether its key or token is valid. `refusal`:
 * reason why its token is refused, or cannot be verified; else null.
 */
interface Call extends Exchange {
  readonly target: Target
  readonly isConfirmed: boolean
  readonly refusal: string | null
}

function answer(parts: Parts, router: Router, call: Call): Promise<Reply> | Reply {
  const { request, server, target, location, principal, isConfirmed, refusal, rateLimit } = call
  const { method } = request
  if (server !== null && call.address === '')
    throw new ApiError('RequestTimeout', 'The client left before its request was begun; nothing was done.')
  if (rateLimit !== null && !rateLimit.admitted) throw rateLimitExceeded(rateLimit)
  if (parts.addCors !== null && isPreflight(request)) return respondPreflight()
  if (target.fault) throw target.fault
  // Only a client that may read a named view may learn that the view exists. D105
  if (method === 'OPTIONS' && location && viewAt(location.endpoint) === null)
    return respondEmpty({ Allow: location.endpoint.allow })
  if (!needsNoKey(location?.endpoint, request, parts.admission, principal !== null)) {
    const isWaiting = parts.isWaiting()
    if (isWaiting && (principal !== null || request.headers.has('authorization'))) throw databaseIsAway()
    if (!isConfirmed) throw unconfirmed(refusal)
    if (principal === null) throw unauthorized(request, parts.admission, refusal)
  }
  const answerWith = (rights: GrantedRights | null, moment: RightsMoment | null = null) =>
    answerByRights(parts, router, call, rights, moment)
  if (principal === null) return answerWith(null)
  if (!principal.isPerson) return answerWith((principal.rightsNow() as RightsNow).rights)
  return withRightsOfNow(listedBy(call), (reads) => principal.rightsNow(reads), answerWith)
}

/** Returns the entity whose rows a request lists, in an array; an empty array if the request lists no rows. */
function listedBy({ request: { method }, location }: Call): readonly Entity[] {
  const entity = location?.endpoint.entity ?? null
  return entity !== null && location?.id === '' && (method === 'GET' || method === 'HEAD') ? [baseOf(entity)] : []
}

/**
 * Answers a request by the rights of its key or person. `rights`: null if the request has no key and needs none. `moment`: copies
 * of tables from which a person's rights were decided; null if no copy was used.
 */
function answerByRights(
  parts: Parts,
  router: Router,
  call: Call,
  rights: GrantedRights | null,
  moment: RightsMoment | null,
): Promise<Reply> | Reply {
  const { request, server, target, location, principal } = call
  const { method } = request
  const { endpoint, id } = requireSeen(router, location, target.path, rights)
  if (method === 'OPTIONS') return respondEmpty({ Allow: endpoint.allow })
  const handler = endpoint.methods[method === 'HEAD' ? 'GET' : method]
  if (!handler) {
    const headers = { Allow: endpoint.allow }
    throw new ApiError('MethodNotAllowed', `${method} is not among the methods here: ${endpoint.allow}.`, { headers })
  }
  const { entity } = endpoint
  // Rights are checked before anything is read, so that a client learns nothing of rows that it may not read.
  const access = rights !== null && entity !== null ? requireRight(rights, entity, VERBS[method] ?? 'read') : null
  return handler({
    request,
    server,
    url: parts.baseUrl() + target.path,
    query: target.query,
    id,
    access,
    rights,
    moment,
    key: principal?.id ?? '',
    keyName: principal?.name ?? '',
    charged: call,
    answerInner: (inner) => answerInner(parts, router, call, inner),
  })
}

/**
 * Answers a request that a route of APP_FILE sends by `ask`. The request has the key of the client's request, and is not charged
 * again.
 */
async function answerInner(parts: Parts, router: Router, outer: Call, request: Request): Promise<Reply> {
  const target = readTarget(request)
  // The key is checked now, because an open route has not checked it.
  const confirmed = await parts.admission.confirm(credentialOf(outer.request, parts.admission.takesTokens))
  // The request has no connection: a long write extends the timeout of the connection of the client's request.
  const server = outer.server && {
    requestIP: () => outer.server?.requestIP(outer.request) ?? null,
    timeout: (_: Request, seconds: number) => outer.server?.timeout(outer.request, seconds),
  }
  const call = { ...outer, ...confirmed, request, server, target, location: router.find(target.path) }
  try {
    return await answer(parts, router, call)
  } catch (error) {
    return failure(parts, call, error)
  }
}

/** Maximum length of a body that is read although no handler needs it. */
const REST_BYTES_MAX = 16 * 1024
/**
 * Maximum time to read a body that no handler needs: longer than a client pauses between the head and the body of its request.
 */
const REST_MS_MAX = 1_000

/**
 * Returns whether a body may still be arriving. The headers tell: `request.body` is null for GET and HEAD even if they have a
 * body.
 */
function hasUnreadBody({ bodyUsed, headers }: Request): boolean {
  if (bodyUsed) return false
  const length = headers.get('content-length')
  return length === null ? headers.has('transfer-encoding') : length !== '0'
}

/**
 * Reads a small body to its end. Returns false if the body has not ended; then the connection must be closed. A client that is
 * still sending when its connection is closed gets a reset, and may never see the response. RFC 9112, 9.6
 */
function readRest(request: Request): Promise<boolean> | boolean {
  if (Number(request.headers.get('content-length')) > REST_BYTES_MAX || request.body === null) return false
  const read = readPieces(request, REST_BYTES_MAX, REST_MS_MAX).then(() => true)
  return read.catch(() => false)
}

function failure({ baseUrl, log }: Parts, call: Exchange, error: unknown): TextReply {
  if (error instanceof ApiError) {
    if (error.cause) log.warn(error.code, { ...idsOf(call), cause: String(error.cause) })
    return respondError(error, baseUrl())
  }
  log.error('a request failed', { ...idsOf(call), error: String((error as Error | null)?.stack ?? error) })
  // The client gets the request id, by which the cause can be found in the log, but nothing of the cause itself.
  const message = `The server failed. Its log has the details under request id ${call.requestId}.`
  return respondError(new ApiError('InternalError', message), baseUrl())
}

/**
 * Makes the response, with the common headers, and writes the access log. `isArriving`: true if the request's body has not ended.
 */
function finish(parts: Parts, call: Exchange, reply: Reply, isArriving: boolean): Response {
  const { addCors, isDraining } = parts
  const { request, rateLimit } = call
  const { status, body } = reply
  const headers: Record<string, string> = { ...reply.headers }
  if (rateLimit !== null) {
    // Spec 8: the limit is named by its period.
    headers['X-RateLimit-Limit'] = rateLimit.rule.period
    headers['X-RateLimit-Remaining'] = rateLimit.remaining
    headers['X-RateLimit-Reset'] = rateLimit.reset
    headers.RateLimit = rateLimit.state
    headers['RateLimit-Policy'] = rateLimit.policy
  }
  headers['X-Request-Id'] = call.requestId
  headers['X-Content-Type-Options'] = 'nosniff'
  if (addCors !== null) addCors(headers, request.headers.get('origin'))
  if (isDraining() || isArriving || request.method === 'CONNECT') headers.Connection = 'close'
  shortenHeaders(headers, body)
  if (isStreamed(body)) return new Response(streamed(parts, call, status, body), { status, headers })
  const bytes = body === null || request.method === 'HEAD' ? 0 : Buffer.byteLength(body)
  noteAnswer(parts, call, { status, bytes })
  return new Response(chunked(body, request.method), { status, headers })
}

const STREAMS = seriesOf('streams')

/** Streams a body; the access log gets its line when the stream ends. */
function streamed(parts: Parts, call: Exchange, status: number, body: Streamed): ReadableStream<Uint8Array> {
  count(STREAMS)
  return streamBody(body, {
    request: call.request,
    faultLine(error) {
      const { body: text } = failure(parts, call, error)
      return body.reportsErrorInBody ? `${text}\n` : ''
    },
    onEnd(bytes, isWhole) {
      count(STREAMS, -1)
      noteAnswer(parts, call, { status, bytes, isStream: true, isCut: !isWhole })
    },
  })
}

const SANE_ID = /^[\w.:/+=~-]{1,128}$/
/** Returns the client's request id if it is well formed, else a new id. */
function requestIdOf(request: Request): string {
  const own = request.headers.get('x-request-id')
  return own !== null && SANE_ID.test(own) ? own : crypto.randomUUID()
}
