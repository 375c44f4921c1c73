import { CHANGE_COLUMNS, compileChanges, compileHistory, compileRows } from '../compile/changes.ts'
import { compileGet } from '../compile/entity.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { type ChangesPlace, type ChangesToken, comparePlaces, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { allows, type Rights } from '../model/rights.ts'
import { shown } from '../model/shown.ts'
import type { Row, Statement } from '../model/sql.ts'
import { type ChangesQuery, parseChanges, parseFollow } from '../parse/changes.ts'
import { formOf } from '../parse/headers.ts'
import { parseId } from '../parse/ownParameters.ts'
import { type ChangeLine, respondChanges } from '../respond/changes.ts'
import type { Reply } from '../respond/reply.ts'
import { type ChangesPage, Followers } from './changesFollow.ts'
import type { ChangeWaits } from './changeWaits.ts'
import type { ResourceRequest } from './resourceRequest.ts'

type Column = (typeof CHANGE_COLUMNS)[number]
const placeOf = Object.fromEntries(CHANGE_COLUMNS.map((column, index) => [column, index])) as Record<Column, number>
const cellOf = (row: Row, column: Column) => row[placeOf[column]] as string

/** Before all lines. */
const START: ChangesPlace = { position: '0', number: '0' }
/** How much longer than it waits a connection may be silent. */
const SPARE_SECONDS = 15

type PageQuery = Pick<ChangesQuery, 'pageSize' | 'hasRows'>

/** The keys of requests that wait. */
export interface KeysInUse {
  /** The key of the request, the same object for as long as it stays as it is; null: it is not valid. */
  of(request: Request): unknown
  /** Returns the rights of the key as of now; charges nothing. @throws ApiError if it is not valid any more */
  rightsOf(request: Request): Promise<Rights>
  /** Returns the rights of the key as of now, and charges a request. @throws ApiError RateLimitExceeded */
  charge(request: Request): Promise<Rights>
}

/** The change feed, as the triggers of tables have recorded it. D57, D58 */
export class Changes {
  private readonly byTable: ReadonlyMap<string, Entity>
  private readonly followers = new Followers(this)

  /** `kept`: what lines have; null: none are kept. `keys`: null where none ever ends. */
  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
    private readonly kept: { readonly hasValues: boolean } | null,
    readonly waits: ChangeWaits,
    readonly keys: KeysInUse | null = null,
  ) {
    this.byTable = new Map(entities.map((entity) => [entity.table, entity]))
  }

  /** Lines of all entities that the key may read, in their order; waits for one where it is asked to. @throws ApiError */
  async list(call: ResourceRequest): Promise<Reply> {
    this.requireKept()
    if (formOf(call.request.headers.get('accept')) === 'ndjson')
      return this.followers.follow(call, parseFollow(call.query, this.entities))
    const query = parseChanges(call.query, this.entities)
    const untilMs = performance.now() + query.waitMs
    if (query.waitMs > 0) call.server?.timeout(call.request, query.waitMs / 1_000 + SPARE_SECONDS)
    let entities = this.entitiesFor(call.rights, query)
    let after: ChangesPlace | null = query.after === 'now' ? null : query.after
    for (;;) {
      const page = await this.read(query, (place) => compileChanges(entities, place, query.pageSize + 1), after)
      if (page.lines.length > 0 || performance.now() >= untilMs) return respond(page)
      const isWoken = await this.wait(call, entities, page.end, untilMs)
      // Meanwhile the key may have been revoked, or have lost rights.
      if (this.keys !== null) entities = this.entitiesFor(await this.keys.rightsOf(call.request), query)
      if (!isWoken) return respond(page)
      after = page.end
    }
  }

  /** The first page of a query. @throws ApiError */
  firstPage(query: ChangesQuery, entities: readonly Entity[]): Promise<ChangesPage> {
    const after = query.after === 'now' ? null : query.after
    return this.read(query, (place) => compileChanges(entities, place, query.pageSize + 1), after)
  }

  /** Lines behind a token. @throws ApiError TokenExpired */
  pageAfter(entities: readonly Entity[], after: ChangesToken, query: PageQuery): Promise<ChangesPage> {
    return this.read({ ...query, after }, (place) => compileChanges(entities, place, query.pageSize + 1), after)
  }

  /** The token behind all lines of an entity: what changes from now on lies behind it. Null: no lines are kept. D73 */
  async tokenNow(entity: Entity): Promise<string | null> {
    if (this.kept === null) return null
    const query = { after: 'now', pageSize: 1, hasRows: false } as const
    return writeToken((await this.read(query, (place) => compileChanges([entity], place, 1), null)).end)
  }

  /** As those that wait do, whose key must stay as it is. */
  wait(call: ResourceRequest, entities: readonly Entity[], after: ChangesPlace, untilMs: number): Promise<boolean> {
    const { request, key } = call
    const own = this.keys?.of(request)
    const isAdmitted = () => this.keys?.of(request) === own
    return this.waits.wait({ entities, after, untilMs, signal: request.signal, key, isAdmitted })
  }

  /** Lines of one row, also of one that is gone. @throws ApiError NotFound, where there is neither a row nor a line */
  async history(entity: Entity, call: ResourceRequest): Promise<Reply> {
    this.requireKept()
    const query = parseChanges(call.query, null)
    const id = parseId(call.id)
    const after = query.after === 'now' ? null : query.after
    const absent = new ApiError('NotFound', `There is no ${entity.name} with id ${id ?? shown(call.id)}, and no change of one.`)
    if (id === null) throw absent
    const { lines, more } = await this.read(query, (place) => compileHistory(entity, id, place, query.pageSize + 1), after)
    const isThere = lines.length > 0 || query.after !== null || (await this.database.read(compileGet(entity, id))).length > 0
    if (!isThere) throw absent
    const next = lines.at(-1)?.token ?? (query.after === 'now' ? null : query.afterText)
    return respondChanges(lines, next, more, this.kept?.hasValues === true)
  }

  private requireKept() {
    if (this.kept === null) throw new ApiError('NotFound', 'This server keeps no changes: its setting CHANGES_DAYS is 0.')
  }

  /** Returns the entities that are asked for, or that the key may read. @throws ApiError Forbidden */
  entitiesFor(rights: ResourceRequest['rights'], { entities }: ChangesQuery): readonly Entity[] {
    const mayRead = ({ plural }: Entity) => rights != null && allows(rights, plural, 'read')
    const refused = entities?.find((entity) => !mayRead(entity))
    if (refused) throw new ApiError('Forbidden', `The key does not have the right ${refused.plural}:read.`)
    const readable = entities ?? this.entities.filter(mayRead)
    if (readable.length === 0) throw new ApiError('Forbidden', 'The key does not have the right to read any entity.')
    return readable
  }

  private async read(
    { after: asked, pageSize, hasRows }: Pick<ChangesQuery, 'after'> & PageQuery,
    compile: (after: ChangesPlace) => Statement,
    after: ChangesPlace | null,
  ): Promise<ChangesPage> {
    const isNow = asked === 'now' && after === null
    const rows = await this.database.read(compile(after ?? (isNow ? END : START)))
    const [first] = rows as [Row]
    if (asked !== null && asked !== 'now') requireKept(asked, first)
    const run = cellOf(first, 'run')
    const found = rows.filter((row) => row[placeOf.position] !== null)
    const shown = found.slice(0, pageSize)
    const plain = shown.map((row) => this.lineOf(row, run))
    const lines = hasRows && plain.length > 0 ? await this.withRows(plain) : plain
    const more = found.length > pageSize
    const settled = cellOf(first, 'settled')
    if (more) return { lines, more, end: { ...placeIn(shown.at(-1) as Row), run } }
    // All below this was read, whether it has lines of these entities or not.
    // A history has lines that are not settled. Behind the token of one, lines may still come that stand in front of it.
    return { lines, more, end: { position: settled, number: '0', run } }
  }

  /** Adds the rows as they are now: not older than the lines, which were read before. */
  private async withRows(lines: readonly ChangeLine[]): Promise<ChangeLine[]> {
    const wanted = [...Map.groupBy(lines, ({ entity }) => entity)].map(
      ([entity, lines]) => [entity, [...new Set(lines.map(({ id }) => id))]] as const,
    )
    const found = new Map<string, Row>()
    for (const [index, ...values] of await this.database.read(compileRows(wanted)))
      found.set(`${wanted[Number(index)]?.[0].table} ${values[0]}`, values)
    return lines.map((line) => ({ ...line, row: found.get(`${line.entity.table} ${line.id}`) ?? null }))
  }

  private lineOf(row: Row, run: string): ChangeLine {
    return {
      token: writeToken({ run, ...placeIn(row) }),
      entity: this.byTable.get(cellOf(row, 'entity')) as Entity,
      id: cellOf(row, 'id'),
      action: cellOf(row, 'action'),
      at: cellOf(row, 'at'),
      key: row[placeOf.key] as string | null,
      changed: cellOf(row, 'changed'),
      before: cellOf(row, 'before'),
      after: cellOf(row, 'after'),
    }
  }
}

/** Behind all lines. */
const END: ChangesPlace = { position: '9223372036854775807', number: '0' }

function respond({ lines, more, end }: ChangesPage): Reply {
  return respondChanges(lines, writeToken(end), more, false)
}

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
