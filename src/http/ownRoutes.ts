// Routes that a project adds (APP_FILE): adapts them to endpoints, and lets them call the API with `ask`.
import { ApiError } from '../errors.ts'
import type { NamedView } from '../model/namedView.ts'
import type { ResourceRequest } from '../operations/resourceRequest.ts'
import { readBytes } from '../parse/body.ts'
import { isStreamed, type Reply } from '../respond/reply.ts'
import { defineEndpoint, type Endpoint, type Route } from './router.ts'

/** A route of the app that is the default export of APP_FILE. */
export interface OwnRoute {
  readonly method: string
  /** Path as Elysia writes it: `/Bookings/:id/approve`. */
  readonly path: string
  readonly isOpen: boolean
  handle(request: Request): Promise<Response>
}

/**
 * Checks that the routes of APP_FILE differ from the routes of the API, and from the names of named views: people can add views
 * without knowing the routes. @throws Error that names the first conflict
 */
export function requireFree(own: readonly OwnRoute[], routes: readonly Route[], views: readonly NamedView[]): void {
  const named = new Map(views.map((view) => [view.plural.toLowerCase(), view]))
  for (const { method, path } of own) {
    const view = named.get(path.slice(1).replace(/\/.*$/s, '').toLowerCase())
    if (view) throw new Error(`ROLES_FILE cannot have the view ${view.plural}: APP_FILE has the route ${method} ${path}`)
  }
  const nameless = (method: string, path: string) => `${method} ${path}`.replace(/:\w+/g, ':').toLowerCase()
  const taken = new Set(routes.map(({ method, pattern }) => nameless(method, pattern)))
  for (const { method, path } of own)
    if (taken.has(nameless(method, path))) throw new Error(`APP_FILE cannot have the route ${method} ${path}: the API has it`)
}

/** Functions that answer `ask`, by the request that a route of APP_FILE was called with. */
const innerAnswers = new WeakMap<Request, NonNullable<ResourceRequest['answerInner']>>()

/** Makes an endpoint from a route of APP_FILE. Keys, limits and errors apply to it as to all endpoints. */
export function ownEndpoint({ method, path, isOpen, handle }: OwnRoute): Endpoint {
  const route = path.replace(/:(\w+)\??/g, '{$1}')
  const respond = async (call: ResourceRequest) => {
    const request = await bounded(call.request)
    if (call.answerInner) innerAnswers.set(request, call.answerInner)
    return replyOf(await handle(request))
  }
  return defineEndpoint({ [method]: respond }, { isOpen, route })
}

/** Makes endpoints for OPTIONS and for unknown methods at the paths of APP_FILE. Elysia matches the routes themselves. */
export function ownPaths(routes: readonly OwnRoute[]): [RegExp, Endpoint][] {
  const absent = () => {
    throw new ApiError('NotFound', 'There is nothing at this path.')
  }
  return [...Map.groupBy(routes, ({ path }) => path)].map(([path, same]) => {
    const methods = Object.fromEntries(same.map(({ method }) => [method, absent]))
    const segments = path.split('/').map((part) => (/^:\w+$/.test(part) ? '[^/]+' : RegExp.escape(part)))
    return [new RegExp(`^${segments.join('/')}$`), defineEndpoint(methods, { isOpen: same.some(({ isOpen }) => isOpen) })]
  })
}

/** Returns a copy of a request with its body in memory, which is limited to the size that the API allows for one row. */
async function bounded(request: Request): Promise<Request> {
  const { method, headers } = request
  // In HTTP/1.0 a request may lack the Host header. Then its URL is relative.
  const { href } = new URL(request.url, 'http://localhost')
  if (method === 'GET' || method === 'HEAD') return new Request(href, { method: 'GET', headers })
  const body = await readBytes(request)
  return new Request(href, { method, headers, body: body.length === 0 ? null : body })
}

/**
 * Common headers as `finish` in app.ts spells them. A route may pass on a response of the API, which already has these headers.
 */
const COMMON = [
  'X-Request-Id',
  'X-Content-Type-Options',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
]
const commonNames = new Map(COMMON.map((name) => [name.toLowerCase(), name]))

/**
 * Returns a route's response as a reply. @throws Error if the route failed, or if its response cannot be sent. The error is
 * logged, and the client gets a 500
 */
async function replyOf(response: Response): Promise<Reply> {
  const { status } = response
  const body = new Uint8Array(await response.arrayBuffer())
  if (status === 500) throw new Error(`a route of APP_FILE: ${new TextDecoder().decode(body)}`)
  if (response.headers.getSetCookie().length > 1) throw new Error('a route of APP_FILE sets more than one cookie')
  const headers = Object.fromEntries([...response.headers].map(([name, value]) => [commonNames.get(name) ?? name, value]))
  return { status, headers, body: body.length === 0 ? null : body }
}

/**
 * Returns a segment of a path, encoded. A URL drops '' and `.`, and resolves `..`, so these get a space, which makes the path
 * unknown.
 */
const encodeSegment = (segment: string) => encodeURIComponent(/^\.{0,2}$/.test(segment) ? `${segment} ` : segment)

/** Headers of the client's request that `ask` passes on. */
const HEADERS = ['if-match', 'if-none-match', 'if-unmodified-since', 'idempotency-key', 'prefer']
/**
 * Number of requests that `ask` has sent for a client's request. If the client's request reads, only reads are counted; if it
 * writes, only writes.
 */
const asks = new WeakMap<Request, number>()
const isReading = (method: string) => method === 'GET' || method === 'HEAD'

/**
 * Copies headers of the client's `request` to the `headers` of a request that `ask` sends, if both requests read or both write.
 * The first request that `ask` sends gets all headers in `HEADERS`. Each later request gets only an Idempotency-Key, which is
 * derived from the client's Idempotency-Key.
 */
function passOn(request: Request, method: string, headers: Headers) {
  if (isReading(method) !== isReading(request.method)) return
  const number = (asks.get(request) ?? 0) + 1
  asks.set(request, number)
  for (const name of number === 1 ? HEADERS : []) {
    const value = request.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  const key = request.headers.get('idempotency-key')
  if (number > 1 && key !== null)
    headers.set('idempotency-key', `${new Bun.CryptoHasher('sha256').update(key).digest('hex')}-${number}`)
}

/**
 * Sends a request to the API with the key and the rights of the client of `request`: `ask(request, 'PATCH', ['Bookings', id], {
 * Status: 'Approved' })`. The limits of the key are charged only for a request that counts as several, such as an array of many
 * rows. If the client repeats its request with the same `Idempotency-Key`, each write is done once, provided that the route sends
 * the same requests in the same order. @throws Error if `request` is not a client's
 */
export async function ask(request: Request, method: string, path: readonly string[], body?: object): Promise<Response> {
  const answer = innerAnswers.get(request)
  if (!answer) throw new Error('ask() needs the request of a client, as a route of APP_FILE gets it')
  const headers = new Headers({ 'Content-Type': 'application/json' })
  passOn(request, method, headers)
  const url = `${new URL(request.url).origin}/${path.map(encodeSegment).join('/')}`
  const text = body === undefined ? null : JSON.stringify(body)
  const reply = await answer(new Request(url, { method, headers, body: text }))
  if (isStreamed(reply.body)) throw new Error('ask() has no streams')
  return new Response(reply.body, { status: reply.status, headers: reply.headers })
}
