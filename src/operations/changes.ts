import type { ReadFence } from '../changes/readFence.ts'
import { tableMask } from '../changes/recorder.ts'
import { CHANGE_COLUMNS, compileChanges, compileHistory } from '../compile/changes.ts'
import { compileGet } from '../compile/entity.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { type ChangesPlace, type ChangesToken, comparePlaces, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { allows, type Rights } from '../model/rights.ts'
import { shown } from '../model/shown.ts'
import type { Row, Statement } from '../model/sql.ts'
import { type ChangesQuery, parseChanges, parseFollow } from '../parse/changes.ts'
import { formOf } from '../parse/form.ts'
import { parseId } from '../parse/id.ts'
import { type ChangeLine, followHeaders, respondChanges } from '../respond/changes.ts'
import type { Reply } from '../respond/reply.ts'
import { type ChangesPage, followTexts } from './changesFollow.ts'
import type { ChangeWaits } from './changeWaits.ts'
import type { ResourceRequest } from './resourceRequest.ts'
import { StreamPlaces } from './streamPlaces.ts'

type Column = (typeof CHANGE_COLUMNS)[number]
const placeOf = Object.fromEntries(CHANGE_COLUMNS.map((column, index) => [column, index])) as Record<Column, number>
const cellOf = (row: Row, column: Column) => row[placeOf[column]] as string

/** Before all lines. */
const START: ChangesPlace = { position: '0', number: '0' }
/** How much longer than it waits a connection may be silent. */
const SPARE_SECONDS = 15
/** Streams that follow the changes, of all keys and of each: they stay, so they have places of their own. */
const FOLLOWERS_MAX = 64
const FOLLOWERS_OF_ONE_MAX = 8

/** The keys of requests that wait. */
export interface KeysInUse {
  /** The key of the request, the same object for as long as it stays as it is; null: it is not valid. */
  of(request: Request): unknown
  /** What the key may do now; charges nothing. @throws ApiError where it is not valid any more */
  rightsOf(request: Request): Promise<Rights>
  /** The same, and charges a request. @throws ApiError RateLimitExceeded */
  charge(request: Request): Promise<Rights>
}

/** What has changed, as writes have left it behind them. D57, D58 */
export class Changes {
  private readonly byTable: ReadonlyMap<string, Entity>
  private readonly followers = new StreamPlaces(FOLLOWERS_MAX, FOLLOWERS_OF_ONE_MAX)

  /** `trail`: null where writes leave no lines. `fence`: null where there is no list cache. `keys`: null where none ever ends. */
  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
    private readonly trail: { readonly hasValues: boolean } | null,
    private readonly waits: ChangeWaits,
    private readonly fence: ReadFence | null,
    private readonly keys: KeysInUse | null = null,
  ) {
    this.byTable = new Map(entities.map((entity) => [entity.table, entity]))
  }

  /** Lines of all entities that the key may read, in their order; waits for one where it is asked to. @throws ApiError */
  async list(call: ResourceRequest): Promise<Reply> {
    this.requireTrail()
    if (formOf(call.request.headers.get('accept')) === 'ndjson') return this.follow(call)
    const query = parseChanges(call.query, this.entities)
    const untilMs = performance.now() + query.waitMs
    if (query.waitMs > 0) call.server?.timeout(call.request, query.waitMs / 1_000 + SPARE_SECONDS)
    let entities = this.entitiesFor(call.rights, query)
    let after: ChangesPlace | null = query.after === 'now' ? null : query.after
    for (;;) {
      const page = await this.read(query, (place) => compileChanges(entities, place, query.pageSize + 1), after)
      if (page.lines.length > 0 || performance.now() >= untilMs) return this.respond(page, query, entities)
      const isWoken = await this.wait(call.request, entities, page.end, untilMs)
      // Meanwhile the key may have been revoked, or have lost rights.
      if (this.keys !== null) entities = this.entitiesFor(await this.keys.rightsOf(call.request), query)
      if (!isWoken) return this.respond(page, query, entities)
      after = page.end
    }
  }

  /** The same, and those that come, one a line, until the client leaves. The first page is there before the answer begins. D62 */
  private async follow(call: ResourceRequest): Promise<Reply> {
    const query = parseFollow(call.query, this.entities)
    let entities = this.entitiesFor(call.rights, query)
    const headers = followHeaders(call.request.headers)
    if (call.request.method === 'HEAD') return { status: 200, headers, body: null }
    const { keys, waits } = this
    const { request } = call
    const readOn = async (after: ChangesToken) => {
      const page = await this.pageAfter(entities, after, query.pageSize)
      if (page.lines.length > 0) await this.settlePage(page, entities)
      return page
    }
    const release = this.followers.take(call.key)
    try {
      const first = await this.firstPage(query, entities)
      await this.settlePage(first, entities)
      const texts = followTexts(first, {
        readOn,
        wait: (after, untilMs) => this.wait(request, entities, after, untilMs),
        readmit: async (isCharged) => {
          if (keys === null) return
          entities = this.entitiesFor(await (isCharged ? keys.charge(request) : keys.rightsOf(request)), query)
        },
        isOver: () => request.signal.aborted || waits.isEnding,
      })
      const isGzipped = headers['Content-Encoding'] !== undefined
      return { status: 200, headers, body: { texts, release, isGzipped, saysFault: true } }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Lines behind a token, for the server itself. @throws ApiError TokenExpired */
  pageAfter(entities: readonly Entity[], after: ChangesToken, pageSize: number): Promise<ChangesPage> {
    return this.read({ after, pageSize }, (place) => compileChanges(entities, place, pageSize + 1), after)
  }

  private wait(request: Request, entities: readonly Entity[], after: ChangesPlace, untilMs: number): Promise<boolean> {
    const key = this.keys?.of(request)
    return this.waits.wait(entities, after, untilMs, request.signal, () => this.keys?.of(request) === key)
  }

  private async respond(page: ChangesPage, query: ChangesQuery, entities: readonly Entity[]): Promise<Reply> {
    const { lines, more, end } = page
    // Behind a token without lines there is nothing that was not there when the token was given.
    const isNews = lines.length > 0 || query.after === null || query.after === 'now'
    if (isNews) await this.settlePage(page, entities)
    return respondChanges(lines, writeToken(end), more, false)
  }

  private settlePage({ end, more }: ChangesPage, entities: readonly Entity[]): Promise<void> {
    // A line's transaction is not behind its place; what stands behind the last one may still run.
    return this.settle(entities, Number(end.position) + (more ? 1 : 0))
  }

  private firstPage(query: ChangesQuery, entities: readonly Entity[]): Promise<ChangesPage> {
    const after = query.after === 'now' ? null : query.after
    return this.read(query, (place) => compileChanges(entities, place, query.pageSize + 1), after)
  }

  /** Lines of one row, also of one that is gone. @throws ApiError NotFound, where there is neither a row nor a line */
  async history(entity: Entity, call: ResourceRequest): Promise<Reply> {
    this.requireTrail()
    const query = parseChanges(call.query, null)
    const id = parseId(call.id)
    const after = query.after === 'now' ? null : query.after
    const absent = new ApiError(
      'NotFound',
      `There is no ${entity.name} with id ${id ?? shown(call.id)}, and no change of one.`,
    )
    if (id === null) throw absent
    const { lines, more } = await this.read(
      query,
      (place) => compileHistory(entity, id, place, query.pageSize + 1),
      after,
    )
    const isThere =
      lines.length > 0 || query.after !== null || (await this.database.read(compileGet(entity, id))).length > 0
    await this.settle([entity], null)
    if (!isThere) throw absent
    const next = lines.at(-1)?.token ?? (query.after === 'now' ? null : query.afterText)
    return respondChanges(lines, next, more, this.trail?.hasValues === true)
  }

  private requireTrail() {
    if (this.trail === null)
      throw new ApiError('NotFound', 'This server keeps no changes: its setting CHANGES_DAYS is 0.')
  }

  /**
   * Until each list that is asked for later has what the lines, or their token, stand for: what was written before this transaction;
   * null: by now.
   */
  private async settle(entities: readonly Entity[], before: number | null) {
    await this.fence?.all(tableMask(this.entities, entities), before)
  }

  private entitiesFor(rights: ResourceRequest['rights'], { entities }: ChangesQuery): readonly Entity[] {
    const mayRead = ({ plural }: Entity) => rights != null && allows(rights, plural, 'read')
    const refused = entities?.find((entity) => !mayRead(entity))
    if (refused) throw new ApiError('Forbidden', `The key does not have the right ${refused.plural}:read.`)
    const readable = entities ?? this.entities.filter(mayRead)
    if (readable.length === 0) throw new ApiError('Forbidden', 'The key does not have the right to read any entity.')
    return readable
  }

  private async read(
    { after: asked, pageSize }: Pick<ChangesQuery, 'after' | 'pageSize'>,
    compile: (after: ChangesPlace) => Statement,
    after: ChangesPlace | null,
  ): Promise<ChangesPage> {
    const isNow = asked === 'now' && after === null
    const rows = await this.database.read(compile(after ?? (isNow ? END : START)))
    const [first] = rows as [Row]
    if (asked !== null && asked !== 'now') requireKept(asked, first)
    const run = cellOf(first, 'run')
    const found = rows.filter((row) => row[placeOf.position] !== null)
    const lines = found.slice(0, pageSize).map((row) => this.lineOf(row, run))
    const more = found.length > pageSize
    if (more) return { lines, more, end: { ...placeIn(found[pageSize - 1] as Row), run } }
    // All below this was read, whether it has lines of these entities or not.
    const settled = { position: cellOf(first, 'settled'), number: '0' }
    // A history has lines that are not settled. Behind the token of one, lines may still come that stand in front of it.
    return { lines, more, end: { ...settled, run } }
  }

  private lineOf(row: Row, run: string): ChangeLine {
    return {
      token: writeToken({ run, ...placeIn(row) }),
      entity: this.byTable.get(cellOf(row, 'entity')) as Entity,
      id: cellOf(row, 'id'),
      action: cellOf(row, 'action'),
      at: cellOf(row, 'at'),
      key: cellOf(row, 'key'),
      changed: cellOf(row, 'changed'),
      before: cellOf(row, 'before'),
      after: cellOf(row, 'after'),
    }
  }
}

/** Behind all lines. */
const END: ChangesPlace = { position: '9223372036854775807', number: '0' }

function placeIn(row: Row): ChangesPlace {
  return { position: cellOf(row, 'position'), number: cellOf(row, 'number') }
}

/** @throws ApiError TokenExpired, where lines behind the token may be missing */
function requireKept(token: ChangesToken, row: Row) {
  const deleted = { position: cellOf(row, 'deletedPosition'), number: cellOf(row, 'deletedNumber') }
  const isOld = comparePlaces(token, deleted) < 0
  const isForeign = token.run !== cellOf(row, 'run') || BigInt(token.position) > BigInt(cellOf(row, 'begun'))
  if (!isForeign && !isOld) return
  const why = isForeign
    ? 'The token is of another run of the changes: the database was restored, or was served without keeping them'
    : 'The token is older than the changes that are kept'
  const message = `${why}. Ask for a new one with after=now, and then read the lists whole.`
  throw new ApiError('TokenExpired', message, { target: 'after' })
}
