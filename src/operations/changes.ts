import { CHANGE_COLUMNS, compileChanges, compileHistory } from '../compile/changes.ts'
import { compileGet } from '../compile/entity.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { type ChangesPlace, type ChangesToken, comparePlaces, writeToken } from '../model/changesToken.ts'
import type { Entity } from '../model/entity.ts'
import { allows } from '../model/rights.ts'
import { shown } from '../model/shown.ts'
import type { Row, Statement } from '../model/sql.ts'
import { type ChangesQuery, parseChanges } from '../parse/changes.ts'
import { parseId } from '../parse/id.ts'
import { type ChangeLine, respondChanges } from '../respond/changes.ts'
import type { Reply } from '../respond/reply.ts'
import type { ChangeWaits } from './changeWaits.ts'
import type { ResourceRequest } from './resourceRequest.ts'

type Column = (typeof CHANGE_COLUMNS)[number]
const placeOf = Object.fromEntries(CHANGE_COLUMNS.map((column, index) => [column, index])) as Record<Column, number>
const cellOf = (row: Row, column: Column) => row[placeOf[column]] as string

/** Before all lines. */
const START: ChangesPlace = { position: '0', number: '0' }
/** How much longer than it waits a connection may be silent. */
const SPARE_SECONDS = 15

interface Page {
  readonly lines: readonly ChangeLine[]
  readonly more: boolean
  /** Behind all that was read: what comes later lies behind it. */
  readonly end: ChangesToken
}

/** What has changed, as writes have left it behind them. D57, D58 */
export class Changes {
  private readonly byTable: ReadonlyMap<string, Entity>

  /** `trail`: null where writes leave no lines. */
  constructor(
    private readonly entities: readonly Entity[],
    private readonly database: Pick<Database, 'read'>,
    private readonly trail: { readonly hasValues: boolean } | null,
    private readonly waits: ChangeWaits,
  ) {
    this.byTable = new Map(entities.map((entity) => [entity.table, entity]))
  }

  /** Lines of all entities that the key may read, in their order; waits for one where it is asked to. @throws ApiError */
  async list(call: ResourceRequest): Promise<Reply> {
    this.requireTrail()
    const query = parseChanges(call.query, this.entities)
    const entities = this.entitiesFor(call, query)
    const untilMs = performance.now() + query.waitMs
    if (query.waitMs > 0) call.server?.timeout(call.request, query.waitMs / 1_000 + SPARE_SECONDS)
    let after: ChangesPlace | null = query.after === 'now' ? null : query.after
    for (;;) {
      const page = await this.read(query, (place) => compileChanges(entities, place, query.pageSize + 1), after)
      const { lines, more, end } = page
      const isOver = lines.length > 0 || performance.now() >= untilMs
      if (isOver || !(await this.waits.wait(entities, end, untilMs, call.request.signal)))
        return respondChanges(lines, writeToken(end), more, false)
      after = end
    }
  }

  /** Lines behind a token, for the server itself. @throws ApiError TokenExpired */
  pageAfter(entities: readonly Entity[], after: ChangesToken, pageSize: number): Promise<Page> {
    return this.read({ after, pageSize }, (place) => compileChanges(entities, place, pageSize + 1), after)
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
    if (lines.length === 0 && after === null && query.after !== 'now') {
      const [row] = await this.database.read(compileGet(entity, id))
      if (!row) throw absent
    }
    const next = lines.at(-1)?.token ?? (query.after === 'now' ? null : query.afterText)
    return respondChanges(lines, next, more, this.trail?.hasValues === true)
  }

  private requireTrail() {
    if (this.trail === null)
      throw new ApiError('NotFound', 'This server keeps no changes: its setting CHANGES_DAYS is 0.')
  }

  private entitiesFor({ rights }: ResourceRequest, { entities }: ChangesQuery): readonly Entity[] {
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
  ): Promise<Page> {
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
