// Routes of a project's own (APP_FILE): adapts them to endpoints, and lets them call the API with `ask`.
import { ApiError } from '../errors.ts'
import type { ResourceRequest } from '../operations/resourceRequest.ts'
import { readBytes } from '../parse/body.ts'
import { isStreamed, type Reply } from '../respond/reply.ts'
import { defineEndpoint, type Endpoint, type Route } from './router.ts'

/** A route of the app that APP_FILE names. */
export interface OwnRoute {
  readonly method: string
  /** As the framework writes it: `/Bookings/:id/approve`. */
  readonly path: string
  readonly isOpen: boolean
  handle(request: Request): Promise<Response>
}

/** Checks that the API has none of the project's own routes. @throws Error that names the first */
export function requireFree(own: readonly OwnRoute[], routes: readonly Route[]): void {
  const nameless = (method: string, path: string) => `${method} ${path}`.replace(/:\w+/g, ':').toLowerCase()
  const taken = new Set(routes.map(({ method, pattern }) => nameless(method, pattern)))
  for (const { method, path } of own)
    if (taken.has(nameless(method, path))) throw new Error(`APP_FILE cannot have the route ${method} ${path}: the API has it`)
}

/** Handlers of `ask`, by the request that a route is answering. */
const askers = new WeakMap<Request, NonNullable<ResourceRequest['answerInner']>>()

/** An endpoint of a project's own route, under the rules of all others. */
export function ownEndpoint({ method, path, isOpen, handle }: OwnRoute): Endpoint {
  const route = path.replace(/:(\w+)\??/g, '{$1}')
  const respond = async (call: ResourceRequest) => {
    const request = await bounded(call.request)
    if (call.answerInner) askers.set(request, call.answerInner)
    return replyOf(await handle(request))
  }
  return defineEndpoint({ [method]: respond }, { isOpen, route })
}

/** Endpoints of the project's own paths for OPTIONS, and for methods without a route; Elysia calls the other routes itself. */
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

/** The request with its body in memory, which may be as long as that of one row. */
async function bounded(request: Request): Promise<Request> {
  const { method, headers } = request
  // The URL of a request of HTTP/1.0 without a Host header is relative.
  const { href } = new URL(request.url, 'http://localhost')
  if (method === 'GET' || method === 'HEAD') return new Request(href, { method: 'GET', headers })
  const body = await readBytes(request)
  return new Request(href, { method, headers, body: body.length === 0 ? null : body })
}

/** Headers of each answer, in the spelling by which `finish` sets them, if a route passes on an answer of the API with them. */
const COMMON = [
  ...['X-Request-Id', 'X-Content-Type-Options', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
  ...['RateLimit', 'RateLimit-Policy', 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'],
]
const commonNames = new Map(COMMON.map((name) => [name.toLowerCase(), name]))

/** @throws Error of what failed there, or cannot be sent, which is for the log and not for clients */
async function replyOf(response: Response): Promise<Reply> {
  const { status } = response
  const body = new Uint8Array(await response.arrayBuffer())
  if (status === 500) throw new Error(`a route of APP_FILE: ${new TextDecoder().decode(body)}`)
  if (response.headers.getSetCookie().length > 1) throw new Error('a route of APP_FILE sets more than one cookie')
  const headers = Object.fromEntries([...response.headers].map(([name, value]) => [commonNames.get(name) ?? name, value]))
  return { status, headers, body: body.length === 0 ? null : body }
}

/** Encodes a segment of a path; one that URLs leave out, or take for the folder above, as one that names nothing. */
const encodeSegment = (segment: string) => encodeURIComponent(/^\.{0,2}$/.test(segment) ? `${segment} ` : segment)

/** Headers of the client's request that `ask` passes on. */
const HEADERS = ['if-match', 'if-none-match', 'if-unmodified-since', 'idempotency-key', 'prefer']
/** For each client's request, how many of the same kind, reading or writing, `ask` has sent for it. */
const asks = new WeakMap<Request, number>()
const isReading = (method: string) => method === 'GET' || method === 'HEAD'

/** Adds the client's headers to the first request of the same kind; each later write gets a key of its own, made from its key. */
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
 * Asks the API for the client of `request`, by its key and rights: `ask(request, 'PATCH', ['Bookings', id], { Status:
 * 'Approved' })`. Only the rows of an array are charged to the key's limits. Under an `Idempotency-Key` each write is done
 * once, if the route asks the same in the same order. @throws Error for a request that no route of APP_FILE was called with
 */
export async function ask(request: Request, method: string, path: readonly string[], body?: object): Promise<Response> {
  const answer = askers.get(request)
  if (!answer) throw new Error('ask() needs the request of a client, as a route of APP_FILE gets it')
  const headers = new Headers({ 'Content-Type': 'application/json' })
  passOn(request, method, headers)
  const url = `${new URL(request.url).origin}/${path.map(encodeSegment).join('/')}`
  const text = body === undefined ? null : JSON.stringify(body)
  const reply = await answer(new Request(url, { method, headers, body: text }))
  if (isStreamed(reply.body)) throw new Error('ask() has no streams')
  return new Response(reply.body, { status: reply.status, headers: reply.headers })
}
