// The inside of Elysia and its bearer plugin: all that this program uses and their types do not promise. Checked at the start.
import { bearer } from '@elysiajs/bearer'
import { type AnyElysia, Elysia } from 'elysia'
import { CLIENT_IDLE_MS } from '../execute/limits.ts'
import type { Exchange } from './exchange.ts'
import type { OwnRoute } from './ownRoutes.ts'

const SERVE = {
  // Else a failure is a page that shows the source.
  development: false,
  idleTimeout: CLIENT_IDLE_MS / 1_000,
  // The limit of parse/body.ts is smaller, and its error has a body of ours.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  error: () => new Response(null, { status: 500, headers: { 'X-Content-Type-Options': 'nosniff' } }),
}

/** An error that no handler has caught. */
export interface Failed {
  readonly request: Request
  readonly error: unknown
  readonly server: Exchange['server']
}

/** Creates an app without routes. */
export function createElysia(onError: (failed: Failed) => Promise<Response>) {
  return (
    new Elysia({
      name: 'roster',
      // Else the path is taken to begin after the eleventh character of the URL, and `http://a/Companies` has none.
      handler: { standardHostname: false },
      serve: SERVE,
    })
      // Elysia awaits a handler of errors only if it is declared async.
      .onError(async ({ request, error, server }) => await onError({ request, error, server }))
  )
}

type Handle = (request: Request, id: string) => Response | Promise<Response>

/** Without it Elysia would read the body of a handler in whose text it finds the word. */
const UNPARSED = { parse: 'none' } as const

/**
 * Adds a route. `path` may have a parameter `:id`, which the handler gets decoded; else it gets ''. Elysia reads the text of the
 * functions it calls, and prepares what they name: query, headers and body must not be among it.
 */
export function addRoute(app: AnyElysia, method: string, path: string, handle: Handle): void {
  if (path.includes('/:id')) app.route(method, path, ({ request, params }) => handle(request, params.id as string), UNPARSED)
  else app.route(method, path, ({ request }) => handle(request, ''), UNPARSED)
}

/** Adds the route of all paths and methods that no other route has. */
export function addRest(app: AnyElysia, handle: (request: Request) => Response | Promise<Response>): void {
  app.all('/*', ({ request }) => handle(request), UNPARSED)
}

/** The routes of the app that is the default export of APP_FILE, `file`. @throws Error */
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
/** Name of a header that no client can send, half of a surrogate pair, which the plugin reads if there is no `Authorization`. */
const UNREACHABLE = '\ud800'
const NO_QUERY: Record<string, string> = {}

/** Function by which the plugin reads a request. */
type ReadBearer = (context: { headers: { authorization: string }; query: Record<string, string> }) => { bearer?: string }

/**
 * The plugin with our scheme. Its hook is called directly, with the one header that it reads: as a global hook it has Elysia copy
 * all headers and parse the query string, which costs a twelfth of a request by id.
 */
const plugin = bearer({ extract: { header: SCHEME, query: UNREACHABLE, body: UNREACHABLE } })
const readBearer = (plugin.event.transform?.[0]?.fn ?? null) as ReadBearer | null

/** The key of a canonical `ApiKey <key>`. The plugin takes `ApiKeyx` for `ApiKey x`, and `apikey x` for nothing. */
export function bearerOf(authorization: string): string | undefined {
  return (readBearer as ReadBearer)({ headers: { authorization }, query: NO_QUERY }).bearer
}

/**
 * Checks that the libraries do what this file relies on. `app`: without routes; it gets some, and is of no further use.
 * @throws Error for versions that do something else
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
  // A host as short as a host can be; all is called before Elysia returns.
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
