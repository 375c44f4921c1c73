import type { Resource, ResourceRequest } from '../operations/resource.ts'
import type { Reply } from '../respond/reply.ts'

type Handler = (request: ResourceRequest) => Promise<Reply> | Reply

/** What one path can do. */
export interface Endpoint {
  readonly methods: Readonly<Record<string, Handler>>
  /** For `Allow`: the methods, and HEAD and OPTIONS, which every path has. */
  readonly allow: string
  /** Answers without a key. */
  readonly isOpen: boolean
  /** Is not charged to anybody. */
  readonly isUnlimited: boolean
  /** The entity that a key needs a right to; null: none. */
  readonly plural: string | null
}

export interface Location {
  readonly endpoint: Endpoint
  readonly id: string
}

/** An endpoint with these methods. */
export function defineEndpoint(
  methods: Record<string, Handler>,
  { isOpen = false, isUnlimited = false, plural = null }: Partial<Endpoint> = {},
): Endpoint {
  const names = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { methods, allow: [...names, 'OPTIONS'].join(', '), isOpen, isUnlimited, plural }
}

/**
 * Finds the endpoint of a path: case does not count, nor does one slash at the end. The framework's router can do
 * neither, and tells a wrong method from an unknown path no better, so it hands every path to this one.
 */
export class Router {
  private readonly fixed = new Map<string, Endpoint>()
  private readonly collections = new Map<string, { collection: Endpoint; item: Endpoint }>()

  /** `path` in lower case, without slashes at its ends; with `/*` at the end it takes one more segment, as the id. */
  add(path: string, endpoint: Endpoint): void {
    if (path.endsWith('/*')) this.collections.set(path.slice(0, -2), { collection: NOTHING, item: endpoint })
    else this.fixed.set(path, endpoint)
  }

  addResource(resource: Resource): void {
    const { plural } = resource.entity
    const path = plural.toLowerCase()
    if (this.fixed.has(path) || this.collections.has(path)) throw new Error(`two entities or pages claim /${path}`)
    this.collections.set(path, {
      collection: defineEndpoint(
        {
          GET: (request) => resource.list(request),
          POST: (request) => resource.create(request),
        },
        { plural },
      ),
      item: defineEndpoint(
        {
          GET: (request) => resource.get(request),
          PUT: (request) => resource.replace(request),
          PATCH: (request) => resource.patch(request),
          DELETE: (request) => resource.remove(request),
        },
        { plural },
      ),
    })
  }

  /** `path` begins with a slash. Null: there is nothing there. */
  find(path: string): Location | null {
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
    const slash = path.indexOf('/', 1)
    if (slash === -1 || slash >= end) {
      if (path === '//') return null // its one slash at the end is the root's own
      const name = normalize(path.slice(1, end))
      const endpoint = this.collections.get(name)?.collection ?? this.fixed.get(name)
      return endpoint && endpoint !== NOTHING ? { endpoint, id: '' } : null
    }
    const id = path.slice(slash + 1, end)
    const endpoint = this.collections.get(normalize(path.slice(1, slash)))?.item
    return endpoint && id !== '' && !id.includes('/') ? { endpoint, id: decode(id) } : null
  }

  /** The first segments there are, for a hint. */
  get names(): string[] {
    const collections = [...this.collections].filter(([, { collection }]) => collection !== NOTHING)
    return [...this.fixed.keys(), ...collections.map(([name]) => name)].filter((name) => name !== '')
  }
}

const NOTHING = defineEndpoint({})

function normalize(segment: string): string {
  return decode(segment).toLowerCase()
}

/** A segment that cannot be decoded matches nothing as it stands. */
function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
