// Creates or changes rows by the value of one property, `POST /Employees?match=EmployeeNumber`: all or none. D115
import { isUpsertOutcome, type UpsertOutcome } from '../compile/upsert.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { yieldEvery } from '../os/time.ts'
import { type JsonObject, parseOrThrow, UnparsedRows } from '../parse/body.ts'
import { parseIdempotencyKey } from '../parse/headers.ts'
import { faultOfRow } from '../parse/rows.ts'
import { findMatched, type MatchedRow, parseMatch, parseUpsert } from '../parse/upsert.ts'
import { writeWritten } from '../respond/json.ts'
import { type Reply, respondJson } from '../respond/reply.ts'
import { chargedRows } from './bulkCreates.ts'
import type { FaultOf } from './guardRefusals.ts'
import { type Idempotency, type Written, withReplayed } from './idempotency.ts'
import { requireList } from './lists.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import type { RowWrites } from './rowWrites.ts'
import type { Upsert, UpsertWrites } from './upsertWrites.ts'
import { respondWrittenRows } from './writtenRows.ts'

/** Maximum attempts. An attempt fails if another request writes one of the rows in the meantime. */
const ATTEMPTS_MAX = 10

/** An upsert request whose body has been read as rows, before their properties are parsed. */
interface Read {
  readonly matched: Property
  readonly rows: readonly MatchedRow[]
  readonly isSingle: boolean
  readonly isDry: boolean
  readonly faultOf: FaultOf
}

export class Upserts {
  constructor(
    private readonly entity: Entity,
    private readonly idempotency: Idempotency,
    private readonly writes: RowWrites,
    private readonly upserts: UpsertWrites,
    private readonly parts: ResourceParts,
  ) {}

  /** Answers a body of one row, or of several. `match`: name of the property by which stored rows are found. @throws ApiError */
  async write(call: ResourceRequest, body: JsonObject | UnparsedRows, match: string, isDry: boolean): Promise<Reply> {
    const matched = parseMatch(this.entity, call.access?.read ?? null, match)
    if (!(body instanceof UnparsedRows)) {
      const faultOf: FaultOf = (_, fault) => fault
      return this.writeAll(call, { matched, rows: findMatched(matched, [body], faultOf), isSingle: true, isDry, faultOf })
    }
    const slot = this.parts.bodyLimit.take(call.key)
    try {
      const texts = await chargedRows(call, body, this.parts)
      const values: unknown[] = []
      const turn = yieldEvery()
      for (const [index, text] of texts.entries()) {
        values.push(parseOrThrow(text, `[${index}]`))
        const others = turn()
        if (others !== null) await others
      }
      const rows = findMatched(matched, values, faultOfRow)
      return await this.writeAll(call, { matched, rows, isSingle: false, isDry, faultOf: faultOfRow })
    } finally {
      slot.release()
    }
  }

  private async writeAll(call: ResourceRequest, read: Read): Promise<Reply> {
    requireList(call.request.headers)
    const { matched, rows, isDry } = read
    if (isDry) return this.check(call, read)
    const claim = await this.idempotency.claimUpsert(call, matched, rows)
    using _inProgress = this.idempotency.begin(claim)
    // The stored answer is looked up first. The rows that the first request created are stored now, so the body would be divided
    // differently.
    const stored = await this.idempotency.findStored(claim)
    if (stored !== null) return this.answer(call, read, { rows: stored, isReplayed: true })
    let isLong = false
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const upsert = { ...(await this.parse(call, read)), claim }
      const written = await this.upserts.attempt(call, upsert, isLong, () => this.divide(call, read))
      if (written !== null) return this.answer(call, read, written)
      // The write may have been refused because it would change more copies than an ordinary statement can within its deadline.
      // The next attempt is then a long write.
      isLong ||= this.upserts.mayRename(upsert)
    }
    throw await this.idempotency.refusalWithoutCause(claim)
  }

  private divide(call: ResourceRequest, { matched, rows, faultOf }: Read) {
    return this.upserts.divide(call, matched, rows, faultOf)
  }

  private async parse(call: ResourceRequest, read: Read): Promise<Omit<Upsert, 'claim'>> {
    const { matched, rows, faultOf } = read
    const division = await this.divide(call, read)
    const { create = null, update = null } = call.access ?? {}
    const parsed = await parseUpsert(this.entity, { create, update }, matched, rows, division.ids, faultOf)
    return { matched, rows: parsed, division, faultOf }
  }

  /** Dry run: answers how many rows would be created, updated and left as they are. @throws ApiError */
  private async check(call: ResourceRequest, read: Read): Promise<Reply> {
    parseIdempotencyKey(call.request)
    const upsert = await this.parse(call, read)
    const { differing, equal } = await this.upserts.check(call, { ...upsert, claim: null })
    const created = upsert.rows.creates.length
    return respondJson(200, JSON.stringify({ rows: read.rows.length, created, updated: differing, unchanged: equal }))
  }

  /** Makes the answer: for each row its outcome, and the row as the key reads it, in the order of the body. */
  private async answer(call: ResourceRequest, { isSingle }: Read, written: Written): Promise<Reply> {
    const rows = this.writes.withCopiesAmong(written.rows)
    const views = await this.writes.viewsOf({ ...written, rows }, call.access?.read ?? null)
    const textOf = (row: Row, index: number) => `{"result":"${outcomeOf(row)}","row":${writeWritten(views[index] ?? null, row)}}`
    const [only] = rows
    if (isSingle && only) return withReplayed(written, respondJson(200, textOf(only, 0)))
    return respondWrittenRows(200, call.request, { ...written, rows }, textOf)
  }
}

/** Returns the outcome of a row: its last column, or in a stored answer the column before the last. */
function outcomeOf(row: Row): UpsertOutcome {
  const outcome = row.slice(-2).find(isUpsertOutcome)
  if (outcome === undefined) throw new Error('a row of an upsert has no outcome')
  return outcome
}
