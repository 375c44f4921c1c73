import { ApiError } from '../errors.ts'
import type { Entity } from '../model/entity.ts'
import { Changes, type KeysInUse } from '../operations/changes.ts'
import { ChangeWaits } from '../operations/changeWaits.ts'
import { BODIES, Places, STREAMS } from '../operations/places.ts'
import { Resource } from '../operations/resource.ts'
import type { ResourceParts, ResourceRequest } from '../operations/resourceRequest.ts'
import { createPages } from '../pages/pages.ts'
import { type Reply, respondJson } from '../respond/reply.ts'
import { databaseIsAway } from './authentication.ts'
import { createOpenApi, type Limits } from './openApi.ts'
import { createReadiness } from './readiness.ts'
import { defineEndpoint, Router } from './router.ts'

/** Dependencies of the endpoints. */
export interface EndpointParts extends ResourceParts {
  readonly entities: readonly Entity[]
  readonly migrationFiles: readonly string[]
  readonly limits: Limits
  /** Base of links, without a slash at the end. */
  baseUrl(): string
  /** True while the server is stopping: answers ask clients to close their connections. */
  isDraining(): boolean
  /** True until the database has been there for the first time: its rows and keys are not known, nor that it has any. */
  isWaiting(): boolean
  /** Settings of the change feed: whether lines have values; null or undefined: no lines are kept. */
  readonly changes?: { readonly hasValues: boolean } | null
  /** The keys of requests that wait; not there: none ever ends. */
  readonly keysInUse?: KeysInUse & { serial(): number }
}

/** Every path that the server answers: its own pages, /Changes, and three for each entity. */
export function createRouter(parts: EndpointParts): Router<ResourceRequest> {
  const { entities, database, migrationFiles, baseUrl, isDraining, isWaiting } = parts
  const router = new Router<ResourceRequest>()
  const isReady = createReadiness(database, migrationFiles)
  const open = (
    get: (call: ResourceRequest) => Promise<Reply> | Reply,
    options: { isUnlimited?: boolean; route?: string } = {},
  ) => defineEndpoint<ResourceRequest>({ GET: get }, { isOpen: true, ...options })
  for (const [path, page] of Object.entries(createPages(entities, baseUrl)))
    router.add(
      path.replace(/\{\w+\}$/, '*'),
      open(({ request: { headers }, url, id }) => page({ headers, path: url.slice(baseUrl().length), id }), {
        route: `/${path}`,
      }),
    )
  router.add(
    'livez',
    open(() => respondJson(200, '{"status":"live"}'), { isUnlimited: true }),
  )
  router.add(
    'readyz',
    open(
      async () => {
        if (isWaiting()) throw databaseIsAway()
        if (!isDraining() && (await isReady())) return respondJson(200, '{"status":"ready"}')
        const message = isDraining() ? 'The server is stopping.' : 'The database lacks a migration.'
        throw new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
      },
      { isUnlimited: true },
    ),
  )
  const openApi = createOpenApi(entities, parts.limits, baseUrl)
  router.add(
    'openapi.json',
    open(({ request: { headers } }) => openApi(headers)),
  )
  const changes = createChanges(parts)
  const shared = {
    ...{ streamPlaces: new Places(STREAMS), bodyPlaces: new Places(BODIES), ...parts },
    changesToken: (entity: Entity) => changes.tokenNow(entity),
  }
  for (const entity of entities) addResource(router, new Resource(entity, entities, shared))
  addChanges(router, entities, changes)
  return router
}

/** The paths of the collection, of its summary, and of each row. @throws Error when another entity or page has one of them */
export function addResource(router: Router<ResourceRequest>, resource: Resource): void {
  const { plural } = resource.entity
  router.add(
    plural,
    defineEndpoint<ResourceRequest>(
      {
        GET: (call) => resource.list(call),
        POST: (call) => resource.create(call),
      },
      { plural },
    ),
  )
  router.add(`${plural}/Summary`, defineEndpoint<ResourceRequest>({ GET: (call) => resource.summary(call) }, { plural }))
  router.add(
    `${plural}/*`,
    defineEndpoint<ResourceRequest>(
      {
        GET: (call) => resource.get(call),
        PUT: (call) => resource.replace(call),
        PATCH: (call) => resource.patch(call),
        DELETE: (call) => resource.remove(call),
      },
      { plural },
    ),
  )
}

function createChanges(parts: EndpointParts): Changes {
  const { entities, database, changes: kept = null, isDraining, keysInUse = null } = parts
  const waits = new ChangeWaits(entities, database, {
    isDraining,
    keysSerial: keysInUse && (() => keysInUse.serial()),
  })
  return new Changes(entities, database, kept, waits, keysInUse)
}

/** Adds the change feed of all rows, and the history of each. */
function addChanges(router: Router<ResourceRequest>, entities: readonly Entity[], changes: Changes): void {
  router.add('Changes', defineEndpoint<ResourceRequest>({ GET: (call) => changes.list(call) }))
  for (const entity of entities) {
    const { plural } = entity
    router.add(
      `${plural}/*/Changes`,
      defineEndpoint<ResourceRequest>({ GET: (call) => changes.history(entity, call) }, { plural }),
    )
  }
}
