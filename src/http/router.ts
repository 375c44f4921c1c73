// The router: finds the endpoint of a path, in any case and with or without a slash at its end.
import type { ResourceRequest } from '../operations/resourceRequest.ts'
import type { Reply } from '../respond/reply.ts'

/** The methods of one path. */
export interface Endpoint {
  /** The pattern of its path, for the log: `/Absences/{id}`. */
  readonly route: string
  /** Each answers a request with what the server has found out about it before. */
  readonly methods: Readonly<Record<string, (call: ResourceRequest) => Promise<Reply> | Reply>>
  /** For `Allow`: the methods, and HEAD and OPTIONS, which every path has. */
  readonly allow: string
  /** Answers without a key. */
  readonly isOpen: boolean
  readonly isUnlimited: boolean
  /** The entity that a key needs a right to; null: none. */
  readonly plural: string | null
}

/** Result of routing a path. */
export interface Location {
  readonly endpoint: Endpoint
  /** The path's second segment, decoded; '' where the endpoint takes none. */
  readonly id: string
}

/** A location that the framework has matched. */
export interface Match extends Location {
  /** The path of which that is right; the framework may have read another one from the URL. Null: of any. */
  readonly path: string | null
}

/** A method of a path in the spelling with which it was added, for the framework. */
export interface Route {
  readonly method: string
  /** `/Absences/:id` */
  readonly pattern: string
  /** Makes the match of the framework's parameter; null: the router has to look. */
  match(id: string): Match | null
}

/** The id of a row. Any other segment may be the name of another path in another case: `/Absences/summary`. */
const ROW_ID = /^\d+$/

/** An endpoint with these methods; wherever there is GET there is HEAD. D19 */
export function defineEndpoint(
  methods: Endpoint['methods'],
  { isOpen = false, isUnlimited = false, plural = null, route = '' }: Partial<Endpoint> = {},
): Endpoint {
  const names = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { methods, allow: [...names, 'OPTIONS'].join(', '), isOpen, isUnlimited, plural, route }
}

/** Finds what the framework does not: it minds case and slashes, and takes a wrong method for an unknown path. */
export class Router {
  /** By the path in lower case: one segment, or two. */
  private readonly fixed = new Map<string, Endpoint>()
  /** By the path in lower case without its second segment, which is the id. */
  private readonly items = new Map<string, Endpoint>()
  /** For the framework, which matches paths in the spelling with which they were added. */
  readonly routes: Route[] = []

  /** Paths of APP_FILE's routes. */
  others: readonly (readonly [RegExp, Endpoint])[] = []

  /** `path` as documentation spells it, without slashes at its ends; `*` stands for a segment behind the first, the id. */
  add(path: string, methods: Endpoint['methods'], options: Partial<Endpoint> = {}): void {
    const endpoint = defineEndpoint(methods, { route: `/${path.replace('/*', '/{id}')}`, ...options })
    const endpoints = path.includes('/*') ? this.items : this.fixed
    const name = path.replace('/*', '')
    const lower = name.toLowerCase()
    if (endpoints.has(lower)) throw new Error(`two entities or pages claim /${lower}`)
    endpoints.set(lower, endpoint)
    this.routes.push(...routesOf(`/${path}`, endpoint))
  }

  /** `path` begins with a slash. Null: there is nothing there. */
  find(path: string): Location | null {
    if (path === '//') return null // its one slash at the end is the root's own
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
    const fixed = named(this.fixed, path.slice(1, end))
    if (fixed) return { endpoint: fixed, id: '' }
    const slash = path.indexOf('/', 1)
    if (slash === -1 || slash >= end) return null
    const behind = path.indexOf('/', slash + 1)
    const idEnd = behind === -1 ? end : Math.min(behind, end)
    const id = path.slice(slash + 1, idEnd)
    const endpoint = named(this.items, path.slice(1, slash) + path.slice(idEnd, end))
    return endpoint && id !== '' ? { endpoint, id: decode(id) } : null
  }

  /** Finds the path of a route of APP_FILE, for methods that the route does not have. */
  other(path: string): Location | null {
    const endpoint = this.others.find(([pattern]) => pattern.test(path))?.[1]
    return endpoint ? { endpoint, id: '' } : null
  }

  /** The first segments there are, for a hint. */
  get names(): string[] {
    const paths = new Set(this.routes.map(({ pattern }) => pattern.slice(1).toLowerCase()))
    return [...paths].filter((path) => path !== '' && !path.includes('/'))
  }
}

function routesOf(path: string, endpoint: Endpoint): Route[] {
  const [before = '', after] = path.split('*')
  const fixed = { endpoint, id: '', path }
  const match = (id: string) => (ROW_ID.test(id) ? { endpoint, id, path: before + id + after } : null)
  // OPTIONS, the last one, is for the router: no handler answers it.
  const methods = endpoint.allow.split(', ').slice(0, -1)
  return methods.map((method) =>
    after === undefined ? { method, pattern: path, match: () => fixed } : { method, pattern: `${before}:id${after}`, match },
  )
}

/** Finds a path in any case, percent-encoded or not. */
function named(endpoints: ReadonlyMap<string, Endpoint>, path: string): Endpoint | undefined {
  return endpoints.get(decode(path).toLowerCase())
}

/** Decodes a path or a segment; one that cannot be decoded stays as it is. */
function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
