// Answers requests for the change feed: pages, streams, and the history of one row. A page may wait for an event. D57, D58, D62
import { compileGet } from '../compile/row.ts'
import { ApiError } from '../errors.ts'
import type { GrantedRights } from '../model/access.ts'
import { type ChangesToken, SealedTokens, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { excerpt } from '../model/excerpt.ts'
import type { Collection, NamedView } from '../model/namedView.ts'
import type { View } from '../model/view.ts'
import { type ChangesQuery, parseChanges } from '../parse/changes.ts'
import { formOf } from '../parse/headers.ts'
import { parseId } from '../parse/parameters.ts'
import { eventText, respondChanges, type ShowToken } from '../respond/changes.ts'
import type { Reply } from '../respond/reply.ts'
import { streamHeaders } from '../respond/stream.ts'
import { Changes, type ChangesPage, ChangeWaits } from './changes.ts'
import { ConcurrencyLimit, FOLLOWERS } from './concurrencyLimit.ts'
import { type ResourceParts, type ResourceRequest, requireRight, viewFor } from './resourceRequest.ts'
import { replyStreamed } from './streams.ts'

/** Seconds by which the timeout of a connection exceeds the time that its request waits. */
const SPARE_SECONDS = 15
/** Number of events that are charged as one request. A page never has more, so only streams are charged again. */
const CHARGED_EVENTS = 1_000
/**
 * Interval of heartbeats in a stream. A heartbeat keeps the connection open, and its token keeps the client's position current.
 */
const HEARTBEAT_MS = 15_000
/**
 * Interval of key checks. A check uses the newest known state of the API keys, and requests a newer state for the next check. So
 * a wait with a revoked key ends within a second.
 */
const KEY_CHECK_MS = 500

export interface FeedParts extends Pick<ResourceParts, 'database' | 'keysInUse' | 'cursors'> {
  readonly entities: readonly Entity[]
  /** Named views of the entities. A right to one of them can hide properties, and then tokens are sealed. */
  readonly views: readonly NamedView[]
  /** Settings of the feed: whether events in the history of a row contain values. Null or undefined: no changes are kept. */
  readonly changes?: { readonly hasValues: boolean } | null
  /** True while the server stops; then responses ask clients to close their connections. */
  isDraining(): boolean
}

export class ChangeFeed {
  private readonly changes: Changes
  private readonly waits: ChangeWaits
  private readonly followers = new ConcurrencyLimit(FOLLOWERS)
  private readonly tokens: SealedTokens

  constructor(private readonly parts: FeedParts) {
    const { entities, database } = parts
    this.changes = new Changes(database)
    this.tokens = new SealedTokens(() => parts.cursors.secret)
    this.waits = new ChangeWaits(entities, database, { isDraining: () => parts.isDraining() })
  }

  /**
   * Returns a page or a stream of the events of entities that the key may read. A page may wait for an event. @throws ApiError
   */
  async list(call: ResourceRequest): Promise<Reply> {
    const { request, key } = call
    const { entities: all, keysInUse: keys, isDraining } = this.parts
    this.requireKept()
    const isStream = formOf(request.headers.get('accept')) === 'ndjson'
    const query = parseChanges(call.query, all, isStream, (text) => this.readToken(call.rights, text))
    let rights = call.rights as GrantedRights
    let views = this.viewsFor(rights, query)
    const parts: FollowParts = {
      readAfter: (after) => this.changes.pageAfter(views, after, query),
      wait: (after, untilMs) => this.waits.wait({ views, after, untilMs, signal: request.signal, key }),
      recheckKey: async (isCharged) => {
        if (!keys) return
        rights = await (isCharged ? keys.charge(request) : keys.rightsOf(request))
        views = this.viewsFor(rights, query)
      },
      showToken: (token) => this.showToken(rights, token),
      isOver: () => request.signal.aborted || isDraining(),
    }
    if (isStream) {
      const headers = streamHeaders('Changes', 'ndjson', request.headers)
      const begin = async () => followTexts(await parts.readAfter(query.after), parts)
      return replyStreamed(call, this.followers, { headers, form: 'ndjson' }, begin)
    }
    const untilMs = performance.now() + query.waitMs
    if (query.waitMs > 0) call.server?.timeout(request, query.waitMs / 1_000 + SPARE_SECONDS)
    let { after } = query
    for (;;) {
      const { events, more, end } = await parts.readAfter(after)
      const isDue = events.length > 0 || more || performance.now() >= untilMs || parts.isOver()
      if (isDue || !(await waitForEvent(end, untilMs, parts))) {
        return respondChanges(events, writeToken(end), more, { hasValues: false, show: parts.showToken })
      }
      // The key may have been revoked, or have lost rights, during the wait.
      await parts.recheckKey(false)
      after = end
    }
  }

  /**
   * Returns a token of the feed's end for readers of a view; null if no changes are kept, or the feed has no events of the view.
   * D73
   */
  async tokenNow(view: View, rights: GrantedRights | null): Promise<string | null> {
    if (!this.parts.changes || !isFed(view)) return null
    const { end } = await this.changes.pageAfter([view], 'now', { pageSize: 1, hasRows: false })
    return this.showToken(rights, writeToken(end))
  }

  /**
   * Returns the events of one row, even if the row was deleted. @throws ApiError NotFound if there is neither a row nor an event
   */
  async history(entity: Entity, call: ResourceRequest): Promise<Reply> {
    const view = requireFed(viewFor(call))
    const { hasValues } = this.requireKept()
    const query = parseChanges(call.query, null, false, (text) => this.readToken(call.rights, text))
    const id = parseId(call.id)
    const absent = new ApiError('NotFound', `There is no ${entity.name} with id ${id ?? excerpt(call.id)}, and no change of one.`)
    if (id === null) throw absent
    const { after } = query
    const { events, more, end } = await this.changes.historyAfter(view, id, after, query)
    const hasEvent = async () =>
      after === 'now' && (await this.changes.historyAfter(view, id, null, { ...query, pageSize: 1 })).events.length > 0
    const isKnown = events.length > 0 || more || (after !== null && after !== 'now')
    if (!isKnown && !(await hasEvent()) && (await this.parts.database.read(compileGet(entity, id))).length === 0) throw absent
    const last = events.at(-1)?.token ?? (after === null ? null : writeToken(after === 'now' ? end : after))
    const next = more ? writeToken(end) : last
    return respondChanges(events, next, more, { hasValues, show: (token) => this.showToken(call.rights, token) })
  }

  /** Returns a token in the form that the key gets: sealed, or as it is. */
  private showToken(rights: GrantedRights | null, token: string): string {
    return this.areSealed(rights) ? this.tokens.seal(token) : token
  }

  /** Reads a token that a key has sent; null if the text is no valid token. */
  private readToken(rights: GrantedRights | null, text: string): ChangesToken | null {
    return this.areSealed(rights) ? this.tokens.readSealed(text) : this.tokens.read(text)
  }

  /** Returns whether the key gets sealed tokens: it does if one of its rights to read hides rows or properties. */
  private areSealed(rights: GrantedRights | null): boolean {
    const { entities, views } = this.parts
    const textOf = (collection: Collection) => rights?.accessTo(collection).read?.text ?? null
    // If the key may read all of the view's entity, the view hides nothing from the key.
    return entities.some((entity) => textOf(entity)) || views.some((view) => textOf(view) && textOf(view.base) !== '')
  }

  private requireKept(): { readonly hasValues: boolean } {
    if (this.parts.changes) return this.parts.changes
    throw new ApiError('NotFound', 'This server keeps no changes: its setting CHANGES_DAYS is 0.')
  }

  /**
   * Returns the requested entities as the key sees them; by default all entities whose changes it may read. @throws ApiError
   * Forbidden
   */
  private viewsFor(rights: GrantedRights, { entities }: ChangesQuery): readonly View[] {
    if (entities !== null) return entities.map((entity) => requireFed(requireRight(rights, entity, 'read').read as View))
    const readable = this.parts.entities.flatMap((entity) => rights.accessTo(entity).read ?? [])
    if (readable.length === 0) throw new ApiError('Forbidden', rights.refusalOfAll ?? 'You have no right to read any entity.')
    const views = readable.filter(isFed)
    if (views.length > 0) return views
    throw new ApiError('Forbidden', 'You may not read changes, because each of your rights to read has filters.')
  }
}

/**
 * Returns whether the feed has events of a view. It has no events of a named view, or of a view with filters: a row may match the
 * view at one time and not at another, so the view's events would be incomplete.
 */
function isFed({ filters, whole, collection }: View): boolean {
  return filters.length === 0 && collection === whole
}

/** @throws ApiError Forbidden if the feed has no events of the view */
function requireFed(view: View): View {
  if (isFed(view)) return view
  const message = `You may not read changes of ${view.plural}, because your right to read them has filters.`
  throw new ApiError('Forbidden', message)
}

interface FollowParts {
  readAfter(after: ChangesQuery['after']): Promise<ChangesPage>
  wait(after: ChangesToken, untilMs: number): Promise<boolean>
  /** Checks the key and reads its rights again. `isCharged`: also charges one request. @throws ApiError */
  recheckKey(isCharged: boolean): Promise<void>
  readonly showToken: ShowToken
  /** True if the client has left or the server is stopping. */
  isOver(): boolean
  readonly heartbeatMs?: number
}

/** Yields events as lines of JSON, and at intervals a heartbeat: a line with the token of the feed's end. */
export async function* followTexts(first: ChangesPage, parts: FollowParts): AsyncGenerator<string> {
  const { heartbeatMs = HEARTBEAT_MS } = parts
  let paidEvents = CHARGED_EVENTS
  let isCatchingUp = true
  let heartbeatAtMs = 0
  let page = first
  for (;;) {
    const { events, more, end } = page
    if (events.length > paidEvents) {
      await parts.recheckKey(true)
      paidEvents += CHARGED_EVENTS
    }
    paidEvents -= events.length
    if (events.length > 0) {
      yield events.map((event) => `${eventText(event, false, parts.showToken)}\n`).join('')
      heartbeatAtMs = performance.now() + heartbeatMs
    }
    if (!more) {
      // Heartbeats follow the clock: a heartbeat for each page without events would reveal when a hidden property has changed.
      if (isCatchingUp || performance.now() >= heartbeatAtMs) {
        yield `{"next":"${parts.showToken(writeToken(end))}"}\n`
        heartbeatAtMs = performance.now() + heartbeatMs
      }
      isCatchingUp = false
      // If too many requests wait already, this stream cannot wait, so it polls the feed.
      if (!(await waitForEvent(end, heartbeatAtMs, parts))) await Bun.sleep(KEY_CHECK_MS)
    }
    if (parts.isOver()) return
    await parts.recheckKey(false)
    page = await parts.readAfter(end)
  }
}

/** Waits for an event, and checks the key in the meantime. Returns false if too many requests wait already. */
async function waitForEvent(after: ChangesToken, untilMs: number, parts: FollowParts): Promise<boolean> {
  while (!parts.isOver() && performance.now() < untilMs) {
    const checkMs = Math.min(performance.now() + KEY_CHECK_MS, untilMs)
    if ((await parts.wait(after, checkMs)) || parts.isOver()) return true
    if (performance.now() < checkMs) return false
    await parts.recheckKey(false)
  }
  return true
}
