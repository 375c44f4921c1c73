// The OpenAPI document of a request: it describes what the request's key may do; without a key, what a key with all rights may
// do.
import { describeApi, type ServerFacts } from '../describe/openApi.ts'
import type { GrantedRights } from '../model/access.ts'
import type { Entity } from '../model/entity.ts'
import { LruCache } from '../model/lruCache.ts'
import type { NamedView } from '../model/namedView.ts'
import type { Filter } from '../model/query.ts'
import type { ResourceRequest } from '../operations/resourceRequest.ts'
import { JSON_TYPE, type Reply } from '../respond/reply.ts'
import { StoredBody } from '../respond/storedBody.ts'
import { RightsReader } from '../rights/reader.ts'

/**
 * Maximum number of documents that a worker keeps for requests with a key or token. Each document has some 450 KB; a document
 * that is not kept is made again in milliseconds.
 */
const DOCUMENTS_MAX = 16

/**
 * Value of `Cache-Control`: a client that keeps a document asks each time whether it has changed. If it has not, the ETag saves
 * sending it.
 */
const CACHE_CONTROL = 'no-cache'

export class Documents {
  private open: StoredBody | null = null
  /** Documents for requests with a key or token, by the result of `topicsOf`. Persons with the same roles share a document. */
  private readonly ofKeys = new LruCache<StoredBody>(DOCUMENTS_MAX, () => 1)

  /** `factsOf` is called when a document is made, since the server knows its address only once it listens. */
  constructor(
    private readonly entities: readonly Entity[],
    private readonly views: readonly NamedView[],
    private readonly factsOf: () => ServerFacts,
  ) {}

  reply({ request: { headers }, rights }: ResourceRequest): Reply {
    return this.documentFor(rights).reply(headers)
  }

  private documentFor(rights: GrantedRights | null): StoredBody {
    if (rights === null) {
      // Leaves out the named views: only a client that may read a view may learn of it. D105
      const all = new RightsReader(this.entities).read({ rights: '*:read,*:write', addresses: null })
      return (this.open ??= this.make(all, [], CACHE_CONTROL))
    }
    const key = topicsOf(rights)
    const kept = this.ofKeys.get(key)
    if (kept) return kept
    const made = this.make(rights, this.views, `private, ${CACHE_CONTROL}`)
    this.ofKeys.set(key, made)
    return made
  }

  private make(rights: GrantedRights, views: readonly NamedView[], cacheControl: string): StoredBody {
    const ofViews = views.map((view) => rights.accessTo(view)).filter(({ read }) => read !== null)
    const accesses = [...this.entities.map((entity) => rights.accessTo(entity)), ...ofViews]
    const document = JSON.stringify(describeApi(accesses, this.factsOf()))
    return new StoredBody(document, { 'Content-Type': JSON_TYPE, 'Cache-Control': cacheControl, Vary: 'Authorization' })
  }
}

/**
 * Returns the cache key of a document: everything in the rights that the document shows, such as verbs, properties and operators.
 * The values of filters are left out, because no document has them. These values differ by person, and making a document for each
 * person would block the process.
 */
function topicsOf({ fault, rights }: GrantedRights): string {
  const namesOf = (filters: readonly Filter[] | null) => filters?.map(({ property, operator }) => [property.name, operator.sign])
  const topics = rights.map(({ verb, collection, properties, filters, becomes }) => [
    verb,
    collection.plural,
    properties?.map(({ name }) => name),
    namesOf(filters),
    namesOf(becomes),
  ])
  return JSON.stringify([fault === null, topics])
}
