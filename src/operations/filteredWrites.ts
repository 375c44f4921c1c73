// Updates or deletes all rows that match filters, up to 1,000, all or none, and charges by their number. A dry run only counts
// the rows. D113
import { FILTERED_ROWS_MAX, type FilteredState, type FilteredWrite, filteredResult } from '../compile/filteredRows.ts'
import { compileRemoveFiltered } from '../compile/removeFiltered.ts'
import { compileUpdateFiltered } from '../compile/updateFiltered.ts'
import { ApiError, faultsError } from '../errors.ts'
import { QUERY_MS_MAX, STATEMENT_MS_MAX, WAIT_PAUSE_FACTOR_MAX, WAIT_PAUSE_MS } from '../execute/limits.ts'
import { wasEnded } from '../execute/listReads.ts'
import { busyWithWrites, type ConstraintViolation } from '../execute/outcomes.ts'
import type { BatchableStatement, IdempotencyClaim } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments, Filter } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import type { View } from '../model/view.ts'
import { parseFilteredWrite, type WrittenRows } from '../parse/filteredWrite.ts'
import { writeWritten } from '../respond/json.ts'
import { type Reply, respondJson, type StreamSlot } from '../respond/reply.ts'
import { withFewIds } from './fewIds.ts'
import { FilteredRefusals } from './filteredRefusals.ts'
import { type Idempotency, type Written, withReplayed } from './idempotency.ts'
import { accessFor, type ResourceParts, type ResourceRequest, requireRight, viewFor } from './resourceRequest.ts'
import type { ExpectedVersion } from './rowReads.ts'
import { type RowWrites, runStatement, type Writer } from './rowWrites.ts'
import { respondWrittenRows } from './writtenRows.ts'

/** Number of rows that count as one request, as in a bulk create. */
const ROWS_OF_REQUEST = 100

/**
 * Maximum number of attempts that constraints refuse. Usually a concurrent write is the cause, and the next attempt finds which
 * row is refused and why.
 */
const VIOLATIONS_MAX = 3

/** A write by filters, with functions that compile its statement and explain its refusals. */
interface Plan {
  readonly call: ResourceRequest
  readonly verb: 'update' | 'delete'
  readonly rows: WrittenRows
  readonly expected: ExpectedVersion | null
  readonly claim: IdempotencyClaim | null
  /** Compiles the statement. `isBounded`: the statement is refused if it would change many copies. */
  compile(write: FilteredWrite, isBounded: boolean): BatchableStatement
  /** Returns why the write of a row was refused; null if the cause is gone. */
  explain(state: FilteredState, violation: ConstraintViolation | null): Promise<ApiError | null>
}

/**
 * Rows that were written; in a dry run, an empty row for each row that would be written. Null: an earlier request with the same
 * Idempotency-Key did the write.
 */
type Done = readonly Row[] | null

export class FilteredWrites {
  private readonly refusals: FilteredRefusals

  constructor(
    private readonly entity: Entity,
    private readonly idempotency: Idempotency,
    private readonly writes: RowWrites,
    private readonly parts: ResourceParts,
  ) {
    this.refusals = new FilteredRefusals(entity, writes.refusals)
  }

  /** Updates all rows that match: answers with them, or in a dry run with their number. @throws ApiError */
  async update(call: ResourceRequest, rows: WrittenRows, values: Assignments): Promise<Reply> {
    const plan = this.updatePlan(call, rows, values)
    const { claim } = plan
    using _inProgress = this.idempotency.begin(claim)
    const done = await this.run(plan)
    if (rows.isDry) return respondCount(done)
    const written = done ?? (await this.idempotency.findStoredRows(claim)) ?? []
    return this.updated(call, { rows: this.writes.withCopiesAmong(written), isReplayed: done === null })
  }

  /** Deletes all rows that match: answers with their ids, or in a dry run with their number. @throws ApiError */
  async remove(call: ResourceRequest, rows: WrittenRows): Promise<Reply> {
    const plan = this.removalPlan(call, rows)
    const { claim } = plan
    using _inProgress = this.idempotency.begin(claim)
    const done = await this.run(plan)
    if (rows.isDry) return respondCount(done)
    const ids = done?.map(([id]) => id as string) ?? (await this.idempotency.findStoredIds(claim)) ?? []
    const reply = respondJson(200, `{"rows":${ids.length},"ids":[${ids.join()}]}`)
    return withReplayed({ rows: [], isReplayed: done === null }, reply)
  }

  /**
   * Returns the versions that rows must have, and the claim. The claim is null for a dry run, or without an Idempotency-Key.
   * @throws ApiError
   */
  private preconditions(call: ResourceRequest, rows: WrittenRows, values: Assignments | null) {
    const expected = this.writes.reads.expectedVersion(call.request.headers)
    requireNoOther(expected)
    const claim = this.idempotency.claimFiltered(call, rows, values, expected?.versions ?? null)
    return { expected, claim: rows.isDry ? null : claim }
  }

  private updatePlan(call: ResourceRequest, rows: WrittenRows, values: Assignments): Plan {
    const preconditions = this.preconditions(call, rows, values)
    const { expected } = preconditions
    const { entity, writes } = this
    const access = accessFor(call, 'update')
    const guard = access.guardOf(values.keys())
    const reach = access.guardOf([])
    const isRename = writes.isRename(values)
    const copyingOf = (isBounded: boolean) => (isRename && isBounded ? writes.copying : null)
    return {
      call,
      verb: 'update',
      rows,
      ...preconditions,
      compile: (write, isBounded) => compileUpdateFiltered(entity, { ...write, guard }, values, copyingOf(isBounded)),
      explain: (state, violation) =>
        this.refusals.ofUpdate({ state, guard, expected, reach, values, seen: access.body, keyId: call.key }, violation),
    }
  }

  private removalPlan(call: ResourceRequest, rows: WrittenRows): Plan {
    const preconditions = this.preconditions(call, rows, null)
    const { expected } = preconditions
    const { entity, writes } = this
    const { guard } = accessFor(call, 'delete')
    return {
      call,
      verb: 'delete',
      rows,
      ...preconditions,
      compile: (write) => compileRemoveFiltered(entity, { ...write, guard }, writes.referring),
      explain: (state, violation) =>
        this.refusals.ofDeletion(
          { state, guard, expected, rights: call.rights, seen: viewFor(call), keyId: call.key },
          violation,
        ),
    }
  }

  /** Makes the answer: an array or NDJSON. A row that the key may not read is shown only by its id. */
  private async updated({ request, access }: ResourceRequest, written: Written): Promise<Reply> {
    const views = written.rows.length === 0 ? [] : await this.writes.viewsOf(written, access?.read ?? null)
    return respondWrittenRows(200, request, written, (row, index) => writeWritten(views[index] ?? null, row))
  }

  /** Sends the statement until it has written all rows that match, or is refused for good. */
  private async run(plan: Plan): Promise<Done> {
    const { call, expected, claim, verb, rows } = plan
    const versions = expected?.versions ?? null
    const untilMs = performance.now() + QUERY_MS_MAX
    using slot = new Slot(this.parts, call)
    const filters = await this.sized(rows.filters)
    let writer: Writer | null = null
    let violations = 0
    // Number of rows that are paid for so far. At first, it is the number that one request pays for.
    let rowsMax = ROWS_OF_REQUEST
    for (;;) {
      const write = { filters, rowsMax, versions, isDry: rows.isDry, claim, keyId: call.key, guard: null }
      const sent = await this.send(plan, write, writer)
      const { state } = sent
      if (state?.isFirst === false) return this.replayed(claim)
      if (state) {
        if (state.found > rowsMax) {
          slot.take()
          rowsMax = await this.charge(plan, state.found, rowsMax)
          continue
        }
        if (state.isDone) return rows.isDry ? Array<Row>(state.found).fill([]) : sent.rows
        if (!state.hasFewCopies && writer === null) {
          writer = this.writes.longWriter(call)
          continue
        }
      }
      const refusal = state ? state.refusedId !== null && (await plan.explain(state, null)) : null
      if (refusal) throw refusal
      if (sent.violation) violations++
      if (violations === VIOLATIONS_MAX || performance.now() >= untilMs)
        throw sent.violation ? this.refusals.ofViolation(verb, sent.violation) : busyWithWrites()
      await Bun.sleep(WAIT_PAUSE_MS * (WAIT_PAUSE_FACTOR_MAX - Math.random()))
    }
  }

  private async sized(filters: readonly Filter[]): Promise<readonly Filter[]> {
    return (await withFewIds({ filters }, this.entity, this.parts.database)).filters
  }

  /** Sends the statement once. The state is null if a constraint refused the statement. @throws ApiError 503, TooCostly */
  private async send({ compile }: Plan, write: FilteredWrite, writer: Writer | null) {
    const { database } = this.parts
    const statement = compile(write, writer === null)
    try {
      if (write.isDry) return { ...filteredResult(await database.read(statement)), violation: null }
      const { rows, violation } = await runStatement(statement, writer ?? database)
      if (rows.length > 0) return { ...filteredResult(rows), violation: null }
      // If there is neither a row nor a violation, another write used the same Idempotency-Key at the same time, so this write
      // was undone.
      return { state: violation === null ? USED : null, rows, violation }
    } catch (error) {
      if (writer !== null || !wasEnded(error)) throw error
      const message = `To find and write the rows took longer than ${STATEMENT_MS_MAX / 1_000} seconds; nothing was written: filter so that fewer rows match, or are compared.`
      throw new ApiError('TooCostly', message, { cause: error.cause })
    }
  }

  /**
   * Charges for the rows among `found` that are not paid for. Returns the number of rows that are paid for now. @throws ApiError
   * 429, TooManyRows
   */
  private async charge({ call, verb }: Plan, found: number, rowsMax: number): Promise<number> {
    const { plural } = this.entity
    const done = verb === 'update' ? 'changes' : 'deletes'
    if (found > FILTERED_ROWS_MAX) {
      const message = `More than 1,000 ${plural} match, and one request ${done} up to 1,000: add a filter, such as Id=<=<id>.`
      throw new ApiError('TooManyRows', message)
    }
    const requests = Math.ceil(found / ROWS_OF_REQUEST)
    const more = requests - rowsMax / ROWS_OF_REQUEST
    const neverAllowed = (limit: number, period: string) => {
      const message = `${found} ${plural} match, which count as ${requests} requests, and you may send ${limit} per ${period}: add a filter, up to 100 rows for each request.`
      return new ApiError('TooManyRows', message)
    }
    if (call.charged) await this.parts.keysInUse?.chargeMore(call.charged, more, neverAllowed)
    return requests * ROWS_OF_REQUEST
  }

  /**
   * Returns null if an earlier request with this claim did the write. @throws ApiError InProgress, IdempotencyMismatch; Conflict
   * if the Idempotency-Key is free again
   */
  private async replayed(claim: IdempotencyClaim | null): Promise<null> {
    if (await this.idempotency.isStored(claim)) return null
    throw await this.idempotency.refusalWithoutCause(claim)
  }
}

/** A slot of `bodyLimit`, for a write that costs more than one request. */
class Slot implements Disposable {
  private taken: StreamSlot | null = null

  constructor(
    private readonly parts: ResourceParts,
    private readonly call: ResourceRequest,
  ) {}

  /** @throws ApiError ServiceUnavailable */
  take(): void {
    this.taken ??= this.parts.bodyLimit.take(this.call.key)
  }

  [Symbol.dispose](): void {
    this.taken?.release()
  }
}

/** State of a statement that was undone because another write used the same Idempotency-Key. */
const USED: FilteredState = {
  isFirst: false,
  found: 0,
  locked: 0,
  refused: 0,
  refusedId: null,
  hasFewCopies: true,
  isDone: false,
}

/**
 * Parses which rows a request writes. Filters may name only properties that the key may read. @throws ApiError, also Forbidden if
 * the key may read no rows
 */
export function parseWhere(entity: Entity, { rights, query }: ResourceRequest, verb: 'update' | 'delete'): WrittenRows {
  if (rights === null) throw new Error('a request writes without rights')
  const access = requireRight(rights, entity, 'read')
  return parseFilteredWrite(access.read as View, access, verb, query)
}

/** Refuses a body that would change nothing: it names no property, or only read-only ones. @throws ApiError InvalidValue */
export function requireValues(values: Assignments): void {
  if (values.size > 0) return
  const message = 'The body must set a property: it names none, or only such as are read-only.'
  throw faultsError([{ code: 'InvalidValue', target: 'Body', message }])
}

/** Refuses `If-None-Match`: filters can say which rows not to write. @throws ApiError PreconditionFailed */
function requireNoOther(expected: ExpectedVersion | null): void {
  if (expected === null || expected.conditions.ifNoneMatch === null) return
  const message = 'If-None-Match cannot be for several rows: leave it out, or write them one by one.'
  throw new ApiError('PreconditionFailed', message, { target: 'If-None-Match' })
}

function respondCount(done: Done): Reply {
  return respondJson(200, `{"rows":${done?.length ?? 0}}`)
}
