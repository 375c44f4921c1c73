import { type Operation, operationsOf } from '../describe/operations.ts'
import type { Entity } from '../model/entity.ts'
import type { ResourceRequest } from '../operations/resourceRequest.ts'
import type { Reply } from '../respond/reply.ts'

/** Answers a request with what the server has found out about it before. */
type Handler = (call: ResourceRequest) => Promise<Reply> | Reply

/** The methods of one path. */
export interface Endpoint {
  /** The pattern of its path, for the log: `/Absences/{id}`. */
  readonly route: string
  readonly methods: Readonly<Record<string, Handler>>
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

/** An endpoint with these methods; wherever there is GET there is HEAD. D19 */
export function defineEndpoint(
  methods: Endpoint['methods'],
  { isOpen = false, isUnlimited = false, plural = null, route = '' }: Partial<Endpoint> = {},
): Endpoint {
  const names = Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { methods, allow: [...names, 'OPTIONS'].join(', '), isOpen, isUnlimited, plural, route }
}

/**
 * Finds the endpoint of a path: case does not count, nor does one slash at the end. The framework's router cannot do that,
 * decodes ids, and takes a wrong method for an unknown path.
 */
export class Router {
  /** By the path without `*`: one segment, or two. */
  private readonly fixed = new Map<string, Endpoint>()
  /** By the path's first segment; the second is the id. */
  private readonly items = new Map<string, Endpoint>()
  /** By the path's first segment and its third, with a slash between; the second is the id. */
  private readonly parts = new Map<string, Endpoint>()
  /** Every path in the spelling with which it was added. */
  readonly added: [path: string, endpoint: Endpoint][] = []

  /** `path` as documentation spells it, without slashes at its ends; `*` stands for a segment behind the first, the id. */
  add(path: string, methods: Endpoint['methods'], options: Partial<Endpoint> = {}): void {
    const endpoint = defineEndpoint(methods, { route: `/${path.replace('/*', '/{id}')}`, ...options })
    const [endpoints, name] = path.endsWith('/*')
      ? [this.items, path.slice(0, -2)]
      : path.includes('/*/')
        ? [this.parts, path.replace('/*/', '/')]
        : [this.fixed, path]
    const lower = name.toLowerCase()
    if (endpoints.has(lower)) throw new Error(`two entities or pages claim /${lower}`)
    endpoints.set(lower, endpoint).set(name, endpoint)
    this.added.push([path, endpoint])
  }

  /** `path` begins with a slash. Null: there is nothing there. */
  find(path: string): Location | null {
    if (path === '//') return null // its one slash at the end is the root's own
    const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
    const slash = path.indexOf('/', 1)
    const hasId = slash !== -1 && slash < end
    const idEnd = hasId ? path.indexOf('/', slash + 1) : -1
    const isItem = idEnd === -1 || idEnd >= end
    // Ids begin with a digit, and no other second segment does.
    const mayBeFixed = isItem && !(hasId && isDigit(path.charCodeAt(slash + 1)))
    const fixed = mayBeFixed ? named(this.fixed, path.slice(1, end)) : undefined
    if (fixed) return { endpoint: fixed, id: '' }
    if (!hasId) return null
    const id = path.slice(slash + 1, isItem ? end : idEnd)
    const name = path.slice(1, slash)
    const endpoint = isItem ? named(this.items, name) : named(this.parts, `${name}${path.slice(idEnd, end)}`)
    return endpoint && id !== '' ? { endpoint, id: decode(id) } : null
  }

  /** The first segments there are, for a hint. */
  get names(): string[] {
    return this.added.flatMap(([path]) => (path === '' || path.includes('/') ? [] : [path.toLowerCase()]))
  }
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}

/** As it was added a path is found at once. */
function named(endpoints: ReadonlyMap<string, Endpoint>, path: string): Endpoint | undefined {
  return endpoints.get(path) ?? endpoints.get(decode(path).toLowerCase())
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

/** Routes of the framework, for every method of every endpoint. `detail`: what the OpenAPI document says of it. */
export function routesOf({ added }: Router, entities: readonly Entity[]) {
  const keyOf = ({ method, path }: Operation) => `${method} ${path.slice(1).replace(/\{\w+\}/g, '*')}`
  const operations = new Map(operationsOf(entities).map((operation) => [keyOf(operation), operation]))
  return added.flatMap(([path, { allow }]) => {
    const methods = allow.split(', ').slice(0, -1)
    const route = `/${path.replace('*', ':id')}`
    return methods.map((method) => ({ method, path: route, detail: detailOf(operations.get(`${method} ${path}`)) }))
  })
}

function detailOf(operation: Operation | undefined) {
  if (!operation) return { hide: true }
  const { operationId, summary, description, entity, success } = operation
  return { operationId, summary, description, tags: [entity?.plural ?? (success === 'changes' ? 'Changes' : 'Server')] }
}
