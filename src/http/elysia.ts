// The internals of Elysia and its bearer plugin: everything that this program relies on although their types do not promise it.
// `checkElysia` checks them at the start.
import { bearer } from '@elysiajs/bearer'
import { type AnyElysia, Elysia } from 'elysia'
import { CLIENT_IDLE_MS } from '../execute/limits.ts'
import type { Exchange } from './exchange.ts'
import type { OwnRoute } from './ownRoutes.ts'

const SERVE = {
  // In development Bun answers a failure with a page that shows the source.
  development: false,
  idleTimeout: CLIENT_IDLE_MS / 1_000,
  // parse/body.ts has a smaller limit, and its error has the API's form.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  error: () => new Response(null, { status: 500, headers: { 'X-Content-Type-Options': 'nosniff' } }),
}

/** An error that no handler has caught. */
export interface Failed {
  readonly request: Request
  readonly error: unknown
  readonly server: Exchange['server']
}

/** Creates an app without routes, with the options and the handler of errors that every app has. */
export function createElysia(onError: (failed: Failed) => Promise<Response>) {
  return (
    new Elysia({
      name: 'roster',
      // By default Elysia looks for the path from the eleventh character of the URL on, and does not find the path of
      // `http://a/Companies`.
      handler: { standardHostname: false },
      serve: SERVE,
    })
      // Elysia awaits a handler of errors only if it is declared async.
      .onError(async ({ request, error, server }) => await onError({ request, error, server }))
  )
}

type Handle = (request: Request, id: string) => Response | Promise<Response>

/** Keeps Elysia from reading the body, which it does when it finds the word `body` in the text of a handler. */
const UNPARSED = { parse: 'none' } as const

/**
 * Adds a route. `path` can have a parameter `:id`, which the handler gets decoded; without a parameter the handler gets ''.
 * Elysia reads the source of a handler, and parses the parts of a request that the source names. So a handler must not name
 * query, headers or body.
 */
export function addRoute(app: AnyElysia, method: string, path: string, handle: Handle): void {
  if (path.includes('/:id')) app.route(method, path, ({ request, params }) => handle(request, params.id as string), UNPARSED)
  else app.route(method, path, ({ request }) => handle(request, ''), UNPARSED)
}

/** Adds a route for all paths and methods that have no route. */
export function addRest(app: AnyElysia, handle: (request: Request) => Response | Promise<Response>): void {
  app.all('/*', ({ request }) => handle(request), UNPARSED)
}

/**
 * Reads the routes of the default export of APP_FILE, whose path is `file`.
 * @throws Error if the export is no app, or the app has a route that the API cannot serve
 */
export function ownRoutesOf(app: AnyElysia | undefined, file: string): OwnRoute[] {
  if (typeof app?.handle !== 'function' || !Array.isArray(app.routes))
    throw new Error(`${file} has no default export that is an Elysia app`)
  return app.routes.map(({ method, path, hooks }): OwnRoute => {
    if (method === 'WS' || method === 'ALL' || /[*?]/.test(path))
      throw new Error(
        `${file} cannot have the route ${method} ${path}: neither WebSockets, all() nor * and ? in a path are supported`,
      )
    const { security } = (hooks?.detail ?? {}) as { security?: unknown }
    return {
      method,
      path,
      isOpen: Array.isArray(security) && security.length === 0,
      handle: async (request) => app.handle(request),
    }
  })
}

const SCHEME = 'ApiKey'
/**
 * Name of a query parameter that no client can send: half of a surrogate pair. If a request has no `Authorization`, the plugin
 * reads this parameter instead.
 */
const UNREACHABLE = '\ud800'
const NO_QUERY: Record<string, string> = {}

/** Function by which the plugin reads a request. */
type ReadBearer = (context: { headers: { authorization: string }; query: Record<string, string> }) => { bearer?: string }

/**
 * The plugin with our scheme. Its hook is called directly, with the one header that it reads. As a global hook it would make
 * Elysia copy all headers and parse the query string, which costs a twelfth of a request by id.
 */
const plugin = bearer({ extract: { header: SCHEME, query: UNREACHABLE, body: UNREACHABLE } })
const readBearer = (plugin.event.transform?.[0]?.fn ?? null) as ReadBearer | null

/**
 * Reads the key of `ApiKey <key>`. The caller must pass exactly this spelling: the plugin takes `ApiKeyx` for `ApiKey x`, and
 * does not know `apikey x`.
 */
export function bearerOf(authorization: string): string | undefined {
  return (readBearer as ReadBearer)({ headers: { authorization }, query: NO_QUERY }).bearer
}

/**
 * Checks that the libraries do what this file relies on. `app` has no routes; the check adds some, so the app must not serve
 * later. @throws Error for versions that behave differently
 */
export function checkElysia(app: AnyElysia, read: ReadBearer | null = readBearer): void {
  check(read?.({ headers: { authorization: 'ApiKey x' }, query: {} }).bearer === 'x', 'the hook of the bearer plugin')
  check(app.config.serve?.error === SERVE.error, 'the options of Bun.serve')
  check(app.event.error?.length === 1, 'the handler of errors')
  const found: string[] = []
  const note = (route: string, sent: Request) => (request: Request, id: string) => {
    found.push(request === sent && !request.bodyUsed ? `${route} ${id}` : 'another request')
    return new Response(null)
  }
  // The short host checks `standardHostname`. Elysia calls handlers before `handle` returns, so nothing is awaited.
  const sent = ['checks/1', 'checks', 'other/path'].map((path) => new Request(`http://a/${path}`, { method: 'PUT', body: '{}' }))
  const [byId, fixed, rest] = sent as [Request, Request, Request]
  addRoute(app, 'PUT', '/checks/:id', note('by id', byId))
  addRoute(app, 'PUT', '/checks', note('fixed', fixed))
  addRest(app, (request) => note('rest', rest)(request, ''))
  for (const request of sent) app.handle(request)
  check(found.join(', ') === 'by id 1, fixed , rest ', 'the match of routes')
  check(
    app.routes.some(({ method, path }) => `${method} ${path}` === 'PUT /checks/:id'),
    'the list of routes',
  )
}

function check(holds: boolean, what: string): void {
  if (!holds)
    throw new Error(`this version of elysia or @elysiajs/bearer is not one that src/http/elysia.ts was written for: ${what}`)
}
