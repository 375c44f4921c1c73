// Bulk creates: several rows of one entity, all or none, charged by rows and bytes; dry runs, which only check. D59
import { compileCreateRows, writableOf } from '../compile/createRows.ts'
import { compileRowRefusals } from '../compile/refusals.ts'
import { FAULTS_MAX, type Fault, faultsError } from '../errors.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import { arrayText, type Row } from '../model/sql.ts'
import { takeTurns } from '../os/time.ts'
import type { RowsText } from '../parse/body.ts'
import { formOf, parseIdempotencyKey } from '../parse/headers.ts'
import { faultOfRow, findRows, parseRows } from '../parse/rows.ts'
import { writeWritten } from '../respond/json.ts'
import { NDJSON_TYPE, type Reply, respondJson } from '../respond/reply.ts'
import { requireList } from './lists.ts'
import type { Repeats } from './repeats.ts'
import type { ResourceParts, ResourceRequest } from './resourceRequest.ts'
import { missingReference, takenValue } from './rowWrites.ts'

/** Rows or bytes begun that count as a request; bytes, since a body that is refused for its first row was read whole. */
const ROWS_OF_REQUEST = 100
const BYTES_OF_REQUEST = 200 * 1024
/** Rows that are made a value of the statement between two looks at the time. */
const STEP_ROWS = 50

/** Names the row of a fault by its index, or not, if one object was sent. */
type FaultOf = (index: number, fault: Fault) => Fault

export class RowsCreates {
  private readonly written: readonly Property[]
  /** Properties that a write of others may make invalid: references and unique values. */
  private readonly refusable: readonly Property[]

  constructor(
    private readonly entity: Entity,
    private readonly repeats: Repeats,
    private readonly parts: ResourceParts,
  ) {
    this.written = writableOf(entity)
    this.refusable = this.written.filter(({ reference, unique }) => reference !== null || unique !== null)
  }

  create(call: ResourceRequest, body: RowsText, isDry: boolean): Promise<Reply> {
    const place = this.parts.bodyPlaces.take(call.key)
    return this.createAll(call, body, isDry).finally(() => place.release())
  }

  private async createAll(call: ResourceRequest, body: RowsText, isDry: boolean): Promise<Reply> {
    const { entity, repeats } = this
    const { keysInUse } = this.parts
    const found = findRows(body)
    const { length } = await found.catch(() => [])
    const requests = Math.ceil(Math.max(Buffer.byteLength(body.text) / BYTES_OF_REQUEST, length / ROWS_OF_REQUEST))
    if (requests > 1 && call.charged) await keysInUse?.chargeMore(call.charged, requests - 1)
    const rows = await parseRows(entity, await found)
    requireDistinct(entity, rows)
    requireList(call.request.headers)
    if (isDry) return this.check(call, rows, faultOfRow)
    const once = await repeats.beginRows(call, rows)
    const statement = compileCreateRows(entity, await this.arraysOf(rows), once, call.key)
    const create = () => repeats.write(statement, () => this.refuse(rows))
    return repeats.answer(once, create, (written) => this.created(written, call))
  }

  /** Answers how many rows would be created. The key must be valid, though no answer is stored. @throws ApiError as `refuse` */
  async check({ request }: ResourceRequest, rows: readonly Assignments[], faultOf: FaultOf): Promise<Reply> {
    parseIdempotencyKey(request)
    await this.refuse(rows, faultOf)
    return respondJson(200, `{"rows":${rows.length}}`)
  }

  /** @throws ApiError that names each reference to no row, and each unique value that another row has, if there is one */
  private async refuse(rows: readonly Assignments[], faultOf: FaultOf = faultOfRow): Promise<void> {
    const { entity } = this
    const values = this.refusable.map((property) => arrayOf(rows, property))
    const statement = compileRowRefusals(entity, this.refusable, values, FAULTS_MAX)
    if (statement === null) return
    const faults = (await this.parts.database.read(statement)).map(([number, cause]): Fault => {
      const index = Number(number) - 1
      const taken = takenValue(entity, cause as string)
      return faultOf(index, taken ?? missingReference(cause as string, rows[index] as Assignments))
    })
    if (faults.length > 0) throw faultsError(faults as [Fault, ...Fault[]])
  }

  private async arraysOf(rows: readonly Assignments[]): Promise<string[]> {
    const turn = takeTurns()
    const arrays: string[] = []
    for (const property of this.written) {
      const pieces: string[] = []
      for (let at = 0; at < rows.length; at += STEP_ROWS) {
        pieces.push(arrayOf(rows.slice(at, at + STEP_ROWS), property).slice(1, -1))
        const others = turn()
        if (others !== null) await others
      }
      arrays.push(`{${pieces.join(',')}}`)
    }
    return arrays
  }

  /** The rows, or their ids alone, as an array or, where the client asks for them, as lines. */
  private async created(rows: readonly Row[], { request, mayRead }: ResourceRequest): Promise<Reply> {
    const turn = takeTurns()
    const isLines = formOf(request.headers.get('accept')) === 'ndjson'
    let text = ''
    for (const row of rows) {
      text += `${text === '' || isLines ? '' : ','}${writeWritten(this.entity, row, mayRead)}${isLines ? '\n' : ''}`
      const others = turn()
      if (others !== null) await others
    }
    return isLines ? respondJson(201, text, { 'Content-Type': NDJSON_TYPE }) : respondJson(201, `[${text}]`)
  }
}

/** The property's values in all rows, as PostgreSQL writes an array. */
function arrayOf(rows: readonly Assignments[], property: Property): string {
  return arrayText(rows.map((row) => row.get(property) ?? null))
}

/** @throws ApiError that names each unique value that an earlier row of the body has, too. D65 */
function requireDistinct({ properties }: Entity, rows: readonly Assignments[]): void {
  const faults: Fault[] = []
  for (const property of properties.filter(({ unique }) => unique !== null)) {
    const firsts = new Map<string, number>()
    rows.forEach((row, index) => {
      const value = row.get(property) ?? null
      const first = value === null ? index : firsts.getOrInsert(value, index)
      if (first === index) return
      const message = `${property.name} is not free: [${first}] has this value.`
      faults.push(faultOfRow(index, { code: 'AlreadyExists', target: property.name, message }))
    })
  }
  if (faults.length > 0) throw faultsError(faults.slice(0, FAULTS_MAX) as [Fault, ...Fault[]])
}
