import type { Reply } from '../respond/reply.ts'

/** Answers a call: a request with what the server has found out about it before. */
type Handler<Call> = (call: Call) => Promise<Reply> | Reply

/** The methods of one path. */
export interface Endpoint<Call> {
  /** The pattern of its path, for the log: `/Absences/{id}`. Without one the router makes it of the path. */
  readonly route: string
  readonly methods: Readonly<Record<string, Handler<Call>>>
  /** For `Allow`: the methods, and HEAD and OPTIONS, which every path has. */
  readonly allow: string
  /** Answers without a key. */
  readonly isOpen: boolean
  /** Requests to it count against no limit. */
  readonly isUnlimited: boolean
  /** The entity that a key needs a right to; null: none. */
  readonly plural: string | null
}

/** Result of routing a path. */
export interface Location<Call> {
  readonly endpoint: Endpoint<Call>
  /** The path's second segment, decoded; '' where the endpoint takes none. */
  readonly id: string
}

/** An endpoint with these methods. */
export function defineEndpoint<Call>(
  methods: Record<string, Handler<Call>>,
  { isOpen = false, isUnlimited = false, plural = null, route = '' }: Partial<Endpoint<Call>> = {},
): Endpoint<Call> {
  const names = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { methods, allow: [...names, 'OPTIONS'].join(', '), isOpen, isUnlimited, plural, route }
}

/**
 * Finds the endpoint of a path: case does not count, nor does one slash at the end. The framework's router cannot do that,
 * and takes a wrong method for an unknown path. It finds the documented paths, and hands all others to this one.
 */
export class Router<Call> {
  /** By the path without `*`: one segment, or two. */
  private readonly fixed = new Map<string, Endpoint<Call>>()
  /** By the path's first segment; the second is the id. */
  private readonly items = new Map<string, Endpoint<Call>>()
  /** By the path's first segment and its third, with a slash between; the second is the id. */
  private readonly parts = new Map<string, Endpoint<Call>>()
  /** Every path in the spelling with which it was added. */
  readonly added: [path: string, endpoint: Endpoint<Call>][] = []

  /** `path` as documentation spells it, without slashes at its ends; `*` stands for a segment behind the first, the id. */
  add(path: string, endpoint: Endpoint<Call>): void {
    const lower = path.toLowerCase()
    const [endpoints, name] = lower.endsWith('/*')
      ? [this.items, lower.slice(0, -2)]
      : lower.includes('/*/')
        ? [this.parts, lower.replace('/*/', '/')]
        : [this.fixed, lower]
    if (endpoints.has(name)) throw new Error(`two entities or pages claim /${name}`)
    const located = { ...endpoint, route: endpoint.route || `/${path.replace('/*', '/{id}')}` }
    endpoints.set(name, located)
    this.added.push([path, located])
  }

  /** `path` begins with a slash. Null: there is nothing there. */
  find(path: string): Location<Call> | null {
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
    const slash = path.indexOf('/', 1)
    if (slash === -1 || slash >= end) {
      if (path === '//') return null // its one slash at the end is the root's own
      const endpoint = this.fixed.get(normalize(path.slice(1, end)))
      return endpoint ? { endpoint, id: '' } : null
    }
    const idEnd = path.indexOf('/', slash + 1)
    const isItem = idEnd === -1 || idEnd >= end
    const id = path.slice(slash + 1, isItem ? end : idEnd)
    const name = normalize(path.slice(1, slash))
    const fixed = isItem ? this.fixed.get(`${name}/${normalize(id)}`) : undefined
    if (fixed) return { endpoint: fixed, id: '' }
    const endpoint = isItem ? this.items.get(name) : this.parts.get(`${name}/${normalize(path.slice(idEnd + 1, end))}`)
    return endpoint && id !== '' ? { endpoint, id: decode(id) } : null
  }

  /** The first segments there are, for a hint. */
  get names(): string[] {
    return [...this.fixed.keys()].filter((name) => name !== '' && !name.includes('/'))
  }
}

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
