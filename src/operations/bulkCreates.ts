// Bulk creates add several rows of one entity, all or none, and are charged by rows and bytes. A dry run only checks the rows.
// D59
import { writableOf } from '../compile/createRows.ts'
import { FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { CreateRight } from '../model/access.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { arrayText } from '../model/sql.ts'
import { yieldEvery } from '../os/time.ts'
import type { UnparsedRows } from '../parse/body.ts'
import { parseIdempotencyKey } from '../parse/headers.ts'
import { faultOfRow, findRows, parseRows } from '../parse/rows.ts'
import { writeWritten } from '../respond/json.ts'
import { type Reply, respondJson } from '../respond/reply.ts'
import { asSeen, type FaultOf, type Seen } from './guardRefusals.ts'
import type { Idempotency, Written } from './idempotency.ts'
import { requireList } from './lists.ts'
import { accessFor, type ResourceParts, type ResourceRequest } from './resourceRequest.ts'
import type { RowWrites } from './rowWrites.ts'
import { respondWrittenRows } from './writtenRows.ts'

/** Maximum rows of a body that counts as one request. */
const ROWS_OF_REQUEST = 100
/**
 * Maximum bytes of a body that counts as one request. Bytes count too, because a body is read whole even if its first row is
 * refused.
 */
const BYTES_OF_REQUEST = 200 * 1024
/** Number of rows to convert at a time. After each step, other requests may run. */
const STEP_ROWS = 50

export class BulkCreates {
  constructor(
    private readonly entity: Entity,
    private readonly idempotency: Idempotency,
    private readonly writes: RowWrites,
    private readonly parts: ResourceParts,
  ) {}

  create(call: ResourceRequest, body: UnparsedRows, isDry: boolean): Promise<Reply> {
    const slot = this.parts.bodyLimit.take(call.key)
    return this.createAll(call, body, isDry).finally(() => slot.release())
  }

  private async createAll(call: ResourceRequest, body: UnparsedRows, isDry: boolean): Promise<Reply> {
    const { entity, idempotency } = this
    const texts = await chargedRows(call, body, this.parts)
    const access = accessFor(call, 'create')
    const { rows: parsed, right } = await parseRows(entity, access, texts)
    const rows = parsed.map(({ values }) => values)
    requireDistinct(entity, rows, access.body)
    requireList(call.request.headers)
    if (isDry) return this.check(call, rows, right, faultOfRow)
    const claim = await idempotency.claimRows(
      call,
      parsed.map(({ sent }) => sent),
    )
    const arrays = await arraysOf(rows, writableOf(entity))
    using _inProgress = idempotency.begin(claim)
    const written = await this.writes.createRows(call, rows, arrays, right, claim, faultOfRow)
    return this.created(written, call)
  }

  /**
   * Dry run: answers how many rows would be created. It stores no answer, but checks the form of the Idempotency-Key. @throws
   * ApiError
   */
  async check(call: ResourceRequest, rows: readonly Assignments[], right: CreateRight, faultOf: FaultOf): Promise<Reply> {
    parseIdempotencyKey(call.request)
    await this.writes.checkRows(call, rows, right, faultOf)
    return respondJson(200, `{"rows":${rows.length}}`)
  }

  /** Makes the answer: an array or NDJSON. A row that the key may not read is shown only by its id. */
  private async created(written: Written, { request, access }: ResourceRequest): Promise<Reply> {
    const views = await this.writes.viewsOf(written, access?.read ?? null)
    return respondWrittenRows(201, request, written, (row, index) => writeWritten(views[index] ?? null, row))
  }
}

/**
 * Charges for the rows of a body before any row is parsed, and returns the rows' texts. @throws ApiError of `findRows` and
 * `chargeMore`
 */
export async function chargedRows(
  { charged }: ResourceRequest,
  body: UnparsedRows,
  { keysInUse }: ResourceParts,
): Promise<readonly string[]> {
  const found = findRows(body)
  const { length } = await found.catch(() => [])
  const requests = Math.ceil(Math.max(Buffer.byteLength(body.text) / BYTES_OF_REQUEST, length / ROWS_OF_REQUEST))
  if (requests > 1 && charged) await keysInUse?.chargeMore(charged, requests - 1)
  return found
}

/** Returns an array literal of PostgreSQL for each property, with the property's values in all rows. */
export async function arraysOf(rows: readonly Assignments[], properties: readonly Property[]): Promise<string[]> {
  const yieldIfDue = yieldEvery()
  const arrays: string[] = []
  for (const property of properties) {
    const pieces: string[] = []
    for (let at = 0; at < rows.length; at += STEP_ROWS) {
      pieces.push(arrayOf(rows.slice(at, at + STEP_ROWS), property).slice(1, -1))
      const yielded = yieldIfDue()
      if (yielded !== null) await yielded
    }
    arrays.push(`{${pieces.join(',')}}`)
  }
  return arrays
}

/** Returns the values of one property in all rows, as an array literal of PostgreSQL. */
function arrayOf(rows: readonly Assignments[], property: Property): string {
  return arrayText(rows.map((row) => row.get(property) ?? null))
}

/**
 * Requires that no two rows of the body have the same unique value. @throws ApiError with a fault for each repeated value. D65
 */
function requireDistinct({ properties }: Entity, rows: readonly Assignments[], seen: Seen): void {
  const faults: Fault[] = []
  for (const property of properties.filter(({ unique }) => unique !== null)) {
    const firsts = new Map<string, number>()
    rows.forEach((row, index) => {
      const value = row.get(property) ?? null
      const first = value === null ? index : firsts.getOrInsert(value, index)
      if (first === index) return
      const message = `${property.name} is not free: [${first}] has this value.`
      faults.push(faultOfRow(index, asSeen({ code: 'AlreadyExists', target: property.name, message }, seen)))
    })
  }
  if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX))
}
