// Writes of one entity: plans each, compiles its statement, runs it, explains refusals, and finds out what an answer may show.
import { compileReadable } from '../compile/comparisons.ts'
import { compileCreate } from '../compile/create.ts'
import { compileCreateRows } from '../compile/createRows.ts'
import { checkedGuard, readableTest } from '../compile/guard.ts'
import { compileRemove } from '../compile/remove.ts'
import { compileUpdate } from '../compile/update.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { LONG_WRITE_MS_MAX } from '../execute/limits.ts'
import { ConstraintViolation } from '../execute/outcomes.ts'
import type { CreateRight, Guard } from '../model/access.ts'
import { type BatchableStatement, CLAIM_CONSTRAINT, type IdempotencyClaim, type WritePlan } from '../model/batch.ts'
import { copiedProperties, type ReferringColumn, referringColumns, selfCopiesOf, writableSourcesOf } from '../model/copies.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import type { FaultOf } from './guardRefusals.ts'
import { conflict, type Idempotency, type Written } from './idempotency.ts'
import { Refusals, type RefusedRows, type RefusedUpdate, type RefusedWrite } from './refusals.ts'
import { accessFor, type ResourceParts, type ResourceRequest, requireRight } from './resourceRequest.ts'
import type { ExpectedVersion, RowReads } from './rowReads.ts'

/** Maximum attempts at a write. A refused write is repeated if the cause is gone when it is looked up. */
const ATTEMPTS_MAX = 3
const NOTHING: Assignments = new Map()

/** Runs statements that write: the database, or the queue of long writes. */
export type Writer = Pick<Database, 'write'>

export class RowWrites {
  readonly refusals: Refusals
  /** Columns, in all entities, that refer to rows of this entity. */
  readonly referring: readonly ReferringColumn[]
  /** Columns of `referring` along which rows also copy a value of the row to which they refer. */
  readonly copying: readonly ReferringColumn[]
  /** Columns whose values other rows copy, as they are or within a computed text. */
  private readonly copiedColumns: ReadonlySet<string>
  private readonly ownCopies: ReturnType<typeof selfCopiesOf>

  constructor(
    private readonly entity: Entity,
    entities: readonly Entity[],
    readonly reads: RowReads,
    private readonly idempotency: Idempotency,
    private readonly parts: ResourceParts,
  ) {
    this.referring = referringColumns(entity, entities)
    this.copying = this.referring.filter(({ isCopying }) => isCopying)
    const copied = copiedProperties(entity, entities)
    this.copiedColumns = new Set(copied.flatMap((property) => writableSourcesOf(entity, property)))
    this.ownCopies = selfCopiesOf(entity)
    this.refusals = new Refusals(entity, this.referring, reads, parts.database)
  }

  /** Creates a row by a right. Returns the row and the transaction that wrote it. @throws ApiError */
  create(call: ResourceRequest, values: Assignments, { guard }: CreateRight, claim: IdempotencyClaim | null): Promise<Written> {
    const { body } = accessFor(call, 'create')
    const plan: WritePlan = { id: '', values, versions: null, claim, keyId: call.key, guard }
    return this.write(compileCreate(this.entity, plan), { verb: 'create', plan, seen: body })
  }

  /**
   * Creates all rows by a right, or none. `arrays`: the columns of `rows` as array literals, for `compileCreateRows`.
   * @throws ApiError
   */
  createRows(
    call: ResourceRequest,
    rows: readonly Assignments[],
    arrays: readonly string[],
    right: CreateRight,
    claim: IdempotencyClaim | null,
    faultOf: FaultOf,
  ): Promise<Written> {
    const refused = refusedRows(call, rows, right, faultOf)
    const guard = checkedGuard(this.entity, refused.guard, rows)
    return this.write(compileCreateRows(this.entity, arrays, claim, call.key, guard), refused)
  }

  /** Checks rows without creating them. @throws ApiError Forbidden, ReferenceNotFound, AlreadyExists */
  async checkRows(call: ResourceRequest, rows: readonly Assignments[], right: CreateRight, faultOf: FaultOf): Promise<void> {
    const refusal = await this.refusals.explainRefusal(refusedRows(call, rows, right, faultOf), null)
    if (refusal !== null) throw refusal
  }

  /** Updates a row. Returns the row and the transaction that wrote it. @throws ApiError */
  async update(call: ResourceRequest, id: string, values: Assignments, claim: IdempotencyClaim | null): Promise<Written> {
    const replayed = await this.replayedBeforeConditions(call, claim)
    if (replayed !== null) return replayed
    const access = accessFor(call, 'update')
    // For an update that sets nothing, `guardOf` returns the guard of all rights.
    const reach = access.guardOf([])
    const expected = await this.expectedVersion(call, id, reach)
    const guard = access.guardOf(values.keys())
    const plan: WritePlan = { id, values, versions: expected?.versions ?? null, claim, keyId: call.key, guard }
    const refused: RefusedUpdate = { verb: 'update', plan, expected, reach, seen: access.body }
    if (values.size === 0) return this.readUnchanged(refused)
    return this.isRename(values) ? this.rename(call, refused) : this.write(compileUpdate(this.entity, plan), refused)
  }

  /** Deletes a row; returns it as it was before. @throws ApiError NotFound, StillReferenced, PreconditionFailed */
  async remove(call: ResourceRequest, id: string, claim: IdempotencyClaim | null): Promise<Written> {
    const replayed = await this.replayedBeforeConditions(call, claim)
    if (replayed !== null) return replayed
    const { guard } = accessFor(call, 'delete')
    const expected = await this.expectedVersion(call, id, guard)
    const plan: WritePlan = { id, values: NOTHING, versions: expected?.versions ?? null, claim, keyId: call.key, guard }
    return this.write(compileRemove(this.entity, plan, this.referring), {
      verb: 'delete',
      plan,
      expected,
      rights: call.rights,
      seen: call.access?.read ?? null,
    })
  }

  /**
   * Returns the version that the request expects the row to have; null: the row may have any version. The statement of the write
   * checks `If-Match`. This function checks `If-None-Match`: if the condition holds now, it still holds when the row is written,
   * because a row never has the same version twice. @throws ApiError InvalidHeader, NotFound, PreconditionFailed
   */
  private async expectedVersion({ request }: ResourceRequest, id: string, guard: Guard | null): Promise<ExpectedVersion | null> {
    const expected = this.reads.expectedVersion(request.headers)
    if (expected !== null && expected.conditions.ifNoneMatch !== null)
      this.reads.requireExpected(await this.find(id, guard), id, expected)
    return expected
  }

  /** Returns a row that the write may reach or the key may read, and its version. @throws ApiError NotFound */
  private find(id: string, guard: Guard | null): Promise<Row> {
    return guard === null ? this.reads.find(id) : this.refusals.guards.find(id, guard, NOTHING)
  }

  /**
   * Fills in copied properties of a row that refers to itself. PostgreSQL sets these only after the statement has returned the
   * row, so the returned row does not have their new values.
   */
  withOwnCopies(row: Row): Row {
    let whole = row
    for (const { reference, copy, source } of this.ownCopies)
      if (row[reference] === row[0]) whole = whole.with(copy, row[source] as string | null)
    return whole
  }

  /**
   * Fills in copied properties of rows that refer to each other or to themselves. PostgreSQL sets these only after the statement
   * has returned the rows, so the returned rows do not have their new values.
   */
  withCopiesAmong(rows: readonly Row[]): readonly Row[] {
    if (this.ownCopies.length === 0) return rows
    const byId = new Map(rows.map((row) => [row[0], row]))
    return rows.map((row) => {
      let whole = row
      for (const { reference, copy, source } of this.ownCopies) {
        const referred = byId.get(row[reference] ?? null)
        if (referred) whole = whole.with(copy, referred[source] as string | null)
      }
      return whole
    })
  }

  /**
   * Returns the view by which the answer shows each row; null: the answer shows only the row's id. `view`: the key's present
   * view; null: the key may not read rows. Only the views of a repeated request come later, in a promise.
   */
  viewsOf(written: Written, view: View | null): readonly (View | null)[] | Promise<readonly (View | null)[]> {
    const { rows, isReplayed } = written
    if (view === null || view.filters.length === 0) return rows.map(() => view)
    if (isReplayed) return this.viewsOfReplayed(written, view)
    const isReadable = readableTest(view)
    return rows.map((row) => (isReadable(row) ? view : null))
  }

  /**
   * Returns the views of a repeated request. A stored answer has each row as it was. So a row is shown if the key may read it
   * now, and could have read it then.
   */
  private async viewsOfReplayed({ rows }: Written, view: View): Promise<(View | null)[]> {
    const found = await this.parts.database.read(compileReadable(view, rows))
    const readable = new Set(found.map(([number]) => Number(number)))
    return rows.map((_, index) => (readable.has(index + 1) ? view : null))
  }

  /** Runs a write, and retries it if the cause of its refusal is gone. @throws ApiError with the cause */
  private async write(
    statement: BatchableStatement,
    refused: RefusedWrite,
    writer: Writer = this.parts.database,
  ): Promise<Written> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const written = await this.attempt(statement, refused, writer)
      if (written !== null) return written
    }
    throw await this.idempotency.refusalWithoutCause(statement.claim ?? null)
  }

  /** Runs a write once. Returns null if the write was refused and the cause is gone. @throws ApiError with the cause */
  private async attempt(statement: BatchableStatement, refused: RefusedWrite, writer: Writer): Promise<Written | null> {
    const { rows, violation } = await runStatement(statement, writer)
    if (rows.length > 0) return { rows, isReplayed: false }
    const refusal = await this.refusals.explainRefusal(refused, violation)
    // The stored answer is read after the search for a cause. A write with the same Idempotency-Key may have ended in the
    // meantime, and may be the cause.
    const stored = await this.idempotency.findStoredAfterWrite(statement.claim ?? null)
    if (stored !== null) return { rows: stored, isReplayed: true }
    if (refusal !== null) throw refusal
    if (violation !== null) throw conflict(violation)
    return null
  }

  /** Returns whether a write of these values may change rows that copy from the written row. */
  isRename(values: Assignments): boolean {
    return this.renaming([...values.keys()]).length > 0
  }

  /** Returns the given properties whose values other rows copy. */
  renaming(properties: readonly Property[]): readonly Property[] {
    return properties.filter(({ column }) => this.copiedColumns.has(column))
  }

  /**
   * Updates a row and all its copies. If at most `COPIES_MAX` rows copy from it by each referring column, this is an ordinary
   * write, otherwise a long write.
   */
  private async rename(call: ResourceRequest, refused: RefusedUpdate): Promise<Written> {
    const { database } = this.parts
    const { plan } = refused
    if (this.parts.longWrites === null) return this.write(compileUpdate(this.entity, plan, []), refused)
    const written = await this.attempt(compileUpdate(this.entity, plan, this.copying), refused, database)
    if (written !== null) return written
    return this.write(compileUpdate(this.entity, plan), refused, this.longWriter(call))
  }

  /** Returns a writer that runs statements as long writes of a request, and keeps the client's connection open meanwhile. */
  longWriter(call: ResourceRequest): Writer {
    const { database, longWrites } = this.parts
    if (longWrites === null) return database
    call.server?.timeout(call.request, LONG_WRITE_MS_MAX / 1_000)
    const requireAllowed = () => this.requireSameRights(call)
    return { write: (statement) => longWrites.write(statement, requireAllowed) }
  }

  /** Checks that the key still has the rights by which the write was planned. @throws ApiError */
  private async requireSameRights({ request, rights }: ResourceRequest): Promise<void> {
    const { keysInUse } = this.parts
    // Requests of APP_FILE carry no key.
    if (!keysInUse || !request.headers.has('authorization')) return
    const present = await keysInUse.rightsOf(request)
    requireRight(present, this.entity, 'update')
    if (present.signedText === rights?.signedText) return
    throw new ApiError('Forbidden', 'Your rights were changed while the write waited; nothing was written.')
  }

  /** Answers a body without properties: writes nothing, and stores no answer. @throws ApiError if the row is not within reach */
  private async readUnchanged(refused: RefusedUpdate): Promise<Written> {
    const { plan, expected, verb, seen } = refused
    const { id, claim, guard } = plan
    const stored = await this.idempotency.findStored(claim)
    if (stored !== null) return { rows: stored, isReplayed: true }
    const row = await this.find(id, guard)
    this.reads.requireExpected(row, id, expected)
    const refusal = guard && this.refusals.guards.refusalOfReach(row, guard, seen, verb)
    if (refusal) throw refusal
    return { rows: [row], isReplayed: false }
  }

  /**
   * Finds the stored answer before conditions are checked, because `If-None-Match` may name the version that the first request
   * made.
   */
  private async replayedBeforeConditions({ request }: ResourceRequest, claim: IdempotencyClaim | null): Promise<Written | null> {
    if (!request.headers.has('if-none-match')) return null
    const stored = await this.idempotency.findStored(claim)
    return stored === null ? null : { rows: stored, isReplayed: true }
  }
}

function refusedRows(call: ResourceRequest, rows: readonly Assignments[], { guard }: CreateRight, faultOf: FaultOf): RefusedRows {
  const { body } = accessFor(call, 'create')
  return { verb: 'createRows', rows, guard, seen: body, faultOf }
}

/**
 * Runs a statement that writes. Returns no rows if the statement was refused, and the violation if a constraint refused it.
 * @throws ApiError 503
 */
export function runStatement(
  statement: BatchableStatement,
  writer: Writer,
): Promise<{ readonly rows: readonly Row[]; readonly violation: ConstraintViolation | null }> {
  return writer.write(statement).then(
    (rows) => ({ rows, violation: null }),
    (error) => {
      if (!(error instanceof ConstraintViolation)) throw error
      // Another request with the same Idempotency-Key has inserted its claim in the meantime, so this statement was rolled back.
      return { rows: [], violation: error.constraint === CLAIM_CONSTRAINT ? null : error }
    },
  )
}
