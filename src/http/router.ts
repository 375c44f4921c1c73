// The router: finds the endpoint of a path, in upper or lower case, with or without a slash at its end.
import { ApiError } from '../errors.ts'
import type { GrantedRights } from '../model/access.ts'
import { type Collection, isNamedView, type NamedView } from '../model/namedView.ts'
import { suggest } from '../model/nearest.ts'
import type { ResourceRequest } from '../operations/resourceRequest.ts'
import type { Reply } from '../respond/reply.ts'

/** One path of the API with the handlers of its methods. */
export interface Endpoint {
  /** Pattern of the path for the access log and metrics: `/Absences/{id}`. */
  readonly route: string
  /** Handlers by method. The handler of GET also answers HEAD. */
  readonly methods: Readonly<Record<string, (call: ResourceRequest) => Promise<Reply> | Reply>>
  /** Value of `Allow`: the methods, HEAD if there is GET, and OPTIONS, which every path has. */
  readonly allow: string
  /** True if requests need no key. */
  readonly isOpen: boolean
  readonly isUnlimited: boolean
  /** True if the endpoint needs no key, but a key that a request sends must be valid. */
  readonly checksKey: boolean
  /** The entity or named view for which a key needs a right; null if the endpoint needs no right. */
  readonly entity: Collection | null
}

/** Result of routing a path. */
export interface Location {
  readonly endpoint: Endpoint
  /** Second segment of the path, decoded; '' if the endpoint has no id. */
  readonly id: string
}

/** A location that Elysia has matched. */
export interface Match extends Location {
  /**
   * The match is valid only for a request with this path; null: it is valid for every request. Elysia reads a wrong path from
   * some URLs, so the caller must compare this path with the path of the request.
   */
  readonly path: string | null
}

/** A route for Elysia, which matches paths only in the spelling in which they were added. */
export interface Route {
  readonly method: string
  /** Path as Elysia writes it: `/Absences/:id`. */
  readonly pattern: string
  /** Returns the match for the parameter that Elysia has found; null if the router must look for the location. */
  match(id: string): Match | null
}

/**
 * Matches the id of a row. A segment that is no id can belong to a fixed path in unusual capitals, such as `/Absences/summary`.
 */
const ROW_ID = /^\d+$/

/** Makes an endpoint from the handlers of its methods. If there is a handler for GET, HEAD is allowed, too. D19 */
export function defineEndpoint(
  methods: Endpoint['methods'],
  { isOpen = false, isUnlimited = false, checksKey = false, entity = null, route = '' }: Partial<Endpoint> = {},
): Endpoint {
  const names = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { methods, allow: [...names, 'OPTIONS'].join(', '), isOpen, isUnlimited, checksKey, entity, route }
}

/**
 * Finds the paths that Elysia does not match: paths in unusual capitals, with a slash at the end, or with a method that has no
 * route.
 */
export class Router {
  /** Endpoints without an id, by their path in lower case, without the leading slash. */
  private readonly fixed = new Map<string, Endpoint>()
  /** Endpoints with an id, by their path in lower case without the id's segment. */
  private readonly items = new Map<string, Endpoint>()
  readonly routes: Route[] = []

  /** Endpoints for OPTIONS and for unknown methods at the paths of APP_FILE. */
  others: readonly (readonly [RegExp, Endpoint])[] = []

  /** Adds a path in the spelling of the docs, without slashes at its ends; `*` is the id, and can only be the second segment. */
  add(path: string, methods: Endpoint['methods'], options: Partial<Endpoint> = {}): void {
    const endpoint = defineEndpoint(methods, { route: `/${path.replace('/*', '/{id}')}`, ...options })
    const endpoints = path.includes('/*') ? this.items : this.fixed
    const name = path.replace('/*', '')
    const lower = name.toLowerCase()
    if (endpoints.has(lower)) throw new Error(`two entities or pages claim /${lower}`)
    endpoints.set(lower, endpoint)
    this.routes.push(...routesOf(`/${path}`, endpoint))
  }

  /** Finds the endpoint of a path of the API, which begins with a slash. Returns null if there is no such endpoint. */
  find(path: string): Location | null {
    // Without the slash at its end this path would be the root.
    if (path === '//') return null
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
    const fixed = named(this.fixed, path.slice(1, end))
    if (fixed) return { endpoint: fixed, id: '' }
    const slash = path.indexOf('/', 1)
    if (slash === -1 || slash >= end) return null
    const nextSlash = path.indexOf('/', slash + 1)
    const idEnd = nextSlash === -1 ? end : Math.min(nextSlash, end)
    const id = path.slice(slash + 1, idEnd)
    const endpoint = named(this.items, path.slice(1, slash) + path.slice(idEnd, end))
    return endpoint && id !== '' ? { endpoint, id: decode(id) } : null
  }

  /**
   * Finds a path of APP_FILE that has no route for the request's method. The response is then 405, or has `Allow` for OPTIONS,
   * instead of 404. Returns null if APP_FILE does not have the path.
   */
  other(path: string): Location | null {
    const endpoint = this.others.find(([pattern]) => pattern.test(path))?.[1]
    return endpoint ? { endpoint, id: '' } : null
  }

  /**
   * Returns the paths that have one segment, for an error that suggests the nearest of them. `isSeen`: returns whether the client
   * may know of an endpoint.
   */
  names(isSeen: (endpoint: Endpoint) => boolean): string[] {
    const paths = [...this.fixed.values()].filter(isSeen).map(({ route }) => route.slice(1))
    return paths.filter((path) => path !== '' && !path.includes('/'))
  }
}

/** Returns the named view that an endpoint serves; null if it serves none. */
export function viewAt({ entity }: Endpoint): NamedView | null {
  return entity !== null && isNamedView(entity) ? entity : null
}

/**
 * Returns the location at a path if a client with these rights may know of it. Only a client that may read a named view may know
 * of the view. D105 `rights`: null without a key. @throws ApiError NotFound; Forbidden to a person without any right, who learns
 * of no path
 */
export function requireSeen(router: Router, location: Location | null, path: string, rights: GrantedRights | null): Location {
  const isSeen = (endpoint: Endpoint) => {
    const view = viewAt(endpoint)
    return view === null || (rights !== null && rights.accessTo(view).read !== null)
  }
  if (location && isSeen(location.endpoint)) return location
  const refusal = rights?.refusalOfAll ?? null
  if (refusal !== null) throw new ApiError('Forbidden', refusal)
  const [first = ''] = path.slice(1).split('/')
  throw new ApiError('NotFound', `There is nothing at this path.${suggest(first, router.names(isSeen))}`)
}

function routesOf(path: string, endpoint: Endpoint): Route[] {
  const [before = '', after] = path.split('*')
  const fixed = { endpoint, id: '', path }
  const match = (id: string) => (ROW_ID.test(id) ? { endpoint, id, path: before + id + after } : null)
  // Leaves out OPTIONS, the last method, which has no handler. The router finds the paths of OPTIONS.
  const methods = endpoint.allow.split(', ').slice(0, -1)
  return methods.map((method) =>
    after === undefined ? { method, pattern: path, match: () => fixed } : { method, pattern: `${before}:id${after}`, match },
  )
}

/** Finds the endpoint of a path, in upper or lower case, percent-encoded or not. */
function named(endpoints: ReadonlyMap<string, Endpoint>, path: string): Endpoint | undefined {
  return endpoints.get(decode(path).toLowerCase())
}

/** Decodes a path or a segment. A text that cannot be decoded stays as it is. */
function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
