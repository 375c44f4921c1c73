import { type Operation, operationsOf } from '../describe/operations.ts'
import type { Entity } from '../model/entity.ts'
import type { Endpoint, Location } from './router.ts'

/** A path that the framework's router finds by itself: in the spelling of the documentation. */
export interface Route<Call> {
  readonly method: string
  /** As the framework writes it: `/Companies/:id`. */
  readonly path: string
  /** For `app.routes`: what the OpenAPI document says of it; `hide`: nothing. */
  readonly detail: RouteDetail
  /**
   * Locates a path that the framework's router has matched; null: the server's own router has to decide, because the
   * framework's decodes, and overlooks a slash at the end.
   */
  locate(path: string): Location<Call> | null
}

interface RouteDetail {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: string[]
  readonly hide?: boolean
}

/** Every method of every endpoint, by the path that it was added with. */
export function routesOf<Call>(
  endpoints: readonly (readonly [path: string, endpoint: Endpoint<Call>])[],
  entities: readonly Entity[],
): Route<Call>[] {
  const operations = new Map(
    operationsOf(entities).map((operation) => [`${operation.method} ${patternOf(operation)}`, operation]),
  )
  const fixed = new Set(endpoints.map(([path]) => path.toLowerCase()))
  return endpoints.flatMap(([path, endpoint]) => {
    const locate = path.includes('*') ? locateRow(path, endpoint, fixed) : locateFixed(endpoint)
    return methodsOf(endpoint).map((method) => ({
      method,
      path: `/${path.replace('*', ':id')}`,
      detail: detailOf(operations.get(`${method} ${path}`)),
      locate,
    }))
  })
}

/** `/Companies/{id}` → `Companies/*` */
function patternOf({ path }: Operation): string {
  return path.slice(1).replace(/\{\w+\}/g, '*')
}

/** Wherever there is GET there is HEAD. D19 */
function methodsOf({ methods }: Endpoint<never>): string[] {
  return Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

function detailOf(operation: Operation | undefined): RouteDetail {
  if (!operation) return { hide: true }
  const { operationId, summary, description, entity } = operation
  return {
    operationId,
    summary,
    description,
    tags: [entity?.plural ?? (operation.success === 'changes' ? 'Changes' : 'Server')],
  }
}

const NINE = '9'.charCodeAt(0)

function locateFixed<Call>(endpoint: Endpoint<Call>): Route<Call>['locate'] {
  const location = { endpoint, id: '' }
  return () => location
}

/** `fixed`: the paths that are found before a row. */
function locateRow<Call>(path: string, endpoint: Endpoint<Call>, fixed: ReadonlySet<string>): Route<Call>['locate'] {
  const star = path.indexOf('*')
  // Without what comes behind the id, which the framework's router has found there.
  const behind = path.length - star - 1
  return (target) => {
    const id = target.slice(star + 1, target.length - behind)
    if (id === '' || id.includes('/') || id.includes('%')) return null
    return id.charCodeAt(0) > NINE && fixed.has(path.replace('*', id).toLowerCase()) ? null : { endpoint, id }
  }
}
