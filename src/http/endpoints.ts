// The endpoints: every path that the server answers, with its methods and handlers; the probes livez and readyz.
import type { PageJson } from '../describe/successes.ts'
import { ApiError } from '../errors.ts'
import type { GrantedRights } from '../model/access.ts'
import type { Rule } from '../model/limits.ts'
import type { NamedView } from '../model/namedView.ts'
import type { SignIn } from '../model/signIn.ts'
import { ChangeFeed, type FeedParts } from '../operations/changeFeed.ts'
import { BODIES, ConcurrencyLimit, STREAMS, SUMMARIES } from '../operations/concurrencyLimit.ts'
import { ReadOnlyResource } from '../operations/readOnlyResource.ts'
import { Resource } from '../operations/resource.ts'
import type { ResourceParts, ResourceRequest } from '../operations/resourceRequest.ts'
import { createPages } from '../pages/pages.ts'
import { parseComplete, parsePartial } from '../parse/assignments.ts'
import { parseNoParameters } from '../parse/parameters.ts'
import { createReadiness } from '../postgres/readiness.ts'
import { type Reply, respondJson } from '../respond/reply.ts'
import { respondRights } from '../respond/rights.ts'
import { databaseIsAway } from './authentication.ts'
import { Documents } from './document.ts'
import { type Endpoint, Router } from './router.ts'

export interface EndpointParts extends Omit<ResourceParts, 'streamLimit' | 'summaryLimit' | 'bodyLimit'>, FeedParts {
  readonly migrationFiles: readonly string[]
  /** Limits that the OpenAPI description names. */
  readonly limits: {
    readonly ofKeys: readonly Rule[]
    readonly anonymous: readonly Rule[]
    /** Limits of each person; undefined or null if the server takes no tokens of persons. */
    readonly ofPersons?: readonly Rule[] | null
  }
  /** True if the OpenAPI document needs a key; then pages without a key do not show the entities either. */
  readonly documentNeedsKey: boolean
  /** Returns how people sign in at /explore; null if they cannot sign in there. */
  readonly signIn: (() => Promise<SignIn>) | null
  /** Base address of links, without a slash at the end. */
  baseUrl(): string
  /** True until the database has been reached for the first time; until then no key is known. */
  isWaiting(): boolean
}

const LIVE = JSON.stringify({ status: 'live' } satisfies PageJson['live'])
const READY = JSON.stringify({ status: 'ready' } satisfies PageJson['ready'])

/**
 * Creates the router, with the paths of the pages, the probes, the OpenAPI document, /Rights and /Changes, four paths for each
 * entity, and three for each named view. @throws Error if two paths are the same
 */
export function createRouter(parts: EndpointParts): Router {
  const { entities, views, database, migrationFiles, limits, documentNeedsKey, baseUrl, isDraining, isWaiting } = parts
  const router = new Router()
  const open = (path: string, GET: (call: ResourceRequest) => Promise<Reply> | Reply, options: Partial<Endpoint> = {}) =>
    router.add(path, { GET }, { isOpen: true, ...options })
  const shown = documentNeedsKey ? [] : entities
  for (const [path, page] of Object.entries(createPages(shown, baseUrl, parts.signIn))) {
    const get = ({ request: { headers }, url, id }: ResourceRequest) => page({ headers, path: url.slice(baseUrl().length), id })
    open(path.replace(/\{\w+\}$/, '*'), get, { route: `/${path}` })
  }
  open('livez', () => respondJson(200, LIVE), { isUnlimited: true })
  const isReady = createReadiness((statement) => database.read(statement), migrationFiles)
  const readiness = async () => {
    if (isWaiting()) throw databaseIsAway()
    if (!isDraining() && (await isReady())) return respondJson(200, READY)
    const message = isDraining() ? 'The server is stopping.' : 'The database lacks a migration.'
    throw new ApiError('ServiceUnavailable', message, { headers: { 'Retry-After': '1' } })
  }
  open('readyz', readiness, { isUnlimited: true })
  const documents = new Documents(entities, views, () => ({
    baseUrl: baseUrl(),
    limits: limits.ofKeys,
    anonymousLimits: limits.anonymous,
    personLimits: limits.ofPersons ?? null,
    documentNeedsKey,
  }))
  router.add('openapi.json', { GET: (call) => documents.reply(call) }, { isOpen: !documentNeedsKey, checksKey: true })
  router.add('Rights', { GET: listRights })
  const changes = new ChangeFeed(parts)
  const shared = {
    ...parts,
    streamLimit: new ConcurrencyLimit(STREAMS),
    summaryLimit: new ConcurrencyLimit(SUMMARIES),
    bodyLimit: new ConcurrencyLimit(BODIES),
    changesToken: changes.tokenNow.bind(changes),
  }
  router.add('Changes', { GET: (call) => changes.list(call) })
  for (const entity of entities) {
    const { plural } = entity
    const resource = new Resource(entity, entities, shared)
    const add = (path: string, methods: Endpoint['methods']) => router.add(`${plural}${path}`, methods, { entity })
    add('', {
      GET: resource.list.bind(resource),
      POST: resource.create.bind(resource),
      PATCH: resource.updateWhere.bind(resource),
      DELETE: resource.removeWhere.bind(resource),
    })
    add('/Summary', { GET: resource.summary.bind(resource) })
    add('/*', {
      GET: resource.get.bind(resource),
      PUT: (call) => resource.update(call, parseComplete),
      PATCH: (call) => resource.update(call, parsePartial),
      DELETE: resource.remove.bind(resource),
    })
    add('/*/Changes', { GET: (call) => changes.history(entity, call) })
  }
  for (const view of views) addView(router, view, shared)
  return router
}

/** Adds the paths of a named view, which has neither writes nor changes. D105 */
function addView(router: Router, view: NamedView, parts: ResourceParts): void {
  const resource = new ReadOnlyResource(view, parts)
  const add = (path: string, GET: (call: ResourceRequest) => Promise<Reply>) =>
    router.add(`${view.plural}${path}`, { GET }, { entity: view })
  add('', resource.list.bind(resource))
  add('/Summary', resource.summary.bind(resource))
  add('/*', resource.get.bind(resource))
}

/**
 * Answers with the rights of the request's key. D88 @throws ApiError Forbidden if these rights do not fit the entities any more
 */
function listRights({ query, rights }: ResourceRequest): Reply {
  parseNoParameters(query)
  const own = rights as GrantedRights
  if (own.fault !== null) throw new ApiError('Forbidden', `The key has no rights any more: ${own.fault}`)
  return respondRights(own)
}
