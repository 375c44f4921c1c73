import { type ChangesToken, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import type { Rights } from '../model/rights.ts'
import type { ChangesQuery } from '../parse/changes.ts'
import { type ChangeLine, followHeaders, lineText, nextText } from '../respond/changes.ts'
import type { Reply } from '../respond/reply.ts'
import { FOLLOWERS, Places } from './places.ts'
import type { ResourceRequest } from './resourceRequest.ts'

/** Lines of what has changed that were read together. */
export interface ChangesPage {
  readonly lines: readonly ChangeLine[]
  readonly more: boolean
  /** Behind all that was read: what comes later lies behind it. */
  readonly end: ChangesToken
}

/** Source of lines. */
interface Source {
  readonly waits: { readonly isEnding: boolean }
  /** Null: no key ever ends. */
  readonly keys: { rightsOf(request: Request): Promise<Rights>; charge(request: Request): Promise<Rights> } | null
  entitiesFor(rights: ResourceRequest['rights'], query: ChangesQuery): readonly Entity[]
  firstPage(query: ChangesQuery, entities: readonly Entity[]): Promise<ChangesPage>
  pageAfter(entities: readonly Entity[], after: ChangesToken, query: ChangesQuery): Promise<ChangesPage>
  wait(call: ResourceRequest, entities: readonly Entity[], after: ChangesToken, untilMs: number): Promise<boolean>
}

interface FollowParts {
  readOn(after: ChangesToken): Promise<ChangesPage>
  /** True: there is a line. False: time has passed, the client has gone, its key is another, or too many wait. */
  wait(after: ChangesToken, untilMs: number): Promise<boolean>
  /** Looks at the key and its rights as they are now. @throws ApiError */
  readmit(isCharged: boolean): Promise<void>
  /** The client has gone, or the server ends. */
  isOver(): boolean
  readonly heartbeatMs?: number
}

/** For as many lines begun a request is charged, the first by the one that asks. */
const CHARGED_LINES = 1_000
/** Interval of tokens without changes, so that neither the connection nor the client's position grows old. */
const HEARTBEAT_MS = 15_000
/** The key is looked at so often, though news of it comes by itself. */
const LOOK_MS = 1_000

/** Streams of what has changed and of what changes, one line each, until their clients leave. D62 */
export class Followers {
  private readonly places = new Places(FOLLOWERS)

  constructor(private readonly source: Source) {}

  /**
   * The first page is there before the answer begins, so that what goes wrong with it is an answer of its own. @throws ApiError
   */
  async follow(call: ResourceRequest, query: ChangesQuery): Promise<Reply> {
    const { source } = this
    const { request, rights, key } = call
    const { keys } = source
    let entities = source.entitiesFor(rights, query)
    const headers = followHeaders(request.headers)
    if (request.method === 'HEAD') return { status: 200, headers, body: null }
    const place = this.places.take(key)
    try {
      const first = await source.firstPage(query, entities)
      const texts = followTexts(first, {
        readOn: (after) => source.pageAfter(entities, after, query),
        wait: (after, untilMs) => source.wait(call, entities, after, untilMs),
        async readmit(isCharged) {
          if (keys === null) return
          entities = source.entitiesFor(await (isCharged ? keys.charge(request) : keys.rightsOf(request)), query)
        },
        isOver: () => request.signal.aborted || source.waits.isEnding,
      })
      const isGzipped = headers['Content-Encoding'] !== undefined
      return { status: 200, headers, body: { texts, place, isGzipped, saysFault: true } }
    } catch (error) {
      place.release()
      throw error
    }
  }
}

/**
 * Yields the change feed line by line, from the first page on; without changes, a line with the token behind all that was read.
 */
export async function* followTexts(first: ChangesPage, parts: FollowParts): AsyncGenerator<string> {
  const { heartbeatMs = HEARTBEAT_MS } = parts
  let paidLines = CHARGED_LINES
  let isBehind = true
  for (let page = first; ; ) {
    const { lines, more, end } = page
    if (lines.length > paidLines) {
      await parts.readmit(true)
      paidLines += CHARGED_LINES
    }
    paidLines -= lines.length
    if (lines.length > 0) yield lines.map((line) => `${lineText(line, false)}\n`).join('')
    if (!more) {
      if (isBehind || lines.length === 0) yield nextText(writeToken(end))
      isBehind = false
      await untilNews(end, performance.now() + heartbeatMs, parts)
    }
    if (parts.isOver()) return
    await parts.readmit(false)
    page = await parts.readOn(end)
  }
}

async function untilNews(after: ChangesToken, untilMs: number, parts: FollowParts): Promise<void> {
  while (!parts.isOver() && performance.now() < untilMs) {
    const lookMs = Math.min(performance.now() + LOOK_MS, untilMs)
    if ((await parts.wait(after, lookMs)) || parts.isOver()) return
    await parts.readmit(false)
    const earlyMs = lookMs - performance.now()
    if (earlyMs <= 0) continue
    // The key is another, or too many wait, and then it is read once a second.
    await Bun.sleep(earlyMs)
    return
  }
}
