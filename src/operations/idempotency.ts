// Idempotency: claims of an Idempotency-Key, and the stored answers that repeated requests get. D43
import { compileRows } from '../compile/changes.ts'
import { compileFindStored, compileIsFree, propertiesFingerprint } from '../compile/idempotency.ts'
import { compileGet } from '../compile/row.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { outcomeUnknown } from '../execute/outcomes.ts'
import type { IdempotencyClaim } from '../model/batch.ts'
import type { Entity, Property } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { yieldEvery } from '../os/time.ts'
import { parseBody, wholeBody } from '../parse/assignments.ts'
import type { JsonObject } from '../parse/body.ts'
import type { WrittenRows } from '../parse/filteredWrite.ts'
import { parseIdempotencyKey } from '../parse/headers.ts'
import type { MatchedRow } from '../parse/upsert.ts'
import type { Reply } from '../respond/reply.ts'
import type { ResourceRequest } from './resourceRequest.ts'

/**
 * A request with the name of its API key. The name stays the same after a rotation, so retries are recognized even if the client
 * sends them with its new key.
 */
type KeyedRequest = Pick<ResourceRequest, 'request' | 'keyName'>

/** Rows that a write has written, or that the first request with the same Idempotency-Key wrote. */
export interface Written {
  readonly rows: readonly Row[]
  readonly isReplayed: boolean
}

/** Result of `begin` for a write without an Idempotency-Key. Such a write blocks no other write. */
const NO_KEY: Disposable = { [Symbol.dispose]: () => undefined }

/** Adds the header that marks the answer to a repeated request. */
export function withReplayed({ isReplayed }: Written, reply: Reply): Reply {
  return isReplayed ? { ...reply, headers: { ...reply.headers, 'Idempotency-Replayed': 'true' } } : reply
}

/** Claims of one entity's writes. The statement of a write inserts the claim with the answer. */
export class Idempotency {
  /**
   * Hashes of the Idempotency-Keys whose writes are in progress in this process. A request that repeats one of these keys is
   * refused without asking the database.
   */
  private readonly keysInProgress = new Set<string>()

  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
  ) {}

  /** Returns the claim of a request; null if it has no Idempotency-Key. `values`: null for a deletion. @throws ApiError 400 */
  claim({ request, keyName }: KeyedRequest, id: string, values: Assignments | null): IdempotencyClaim | null {
    const key = parseIdempotencyKey(request)
    if (key === null) return null
    // Hashes the parsed values, so that the same values in another notation are the same request.
    const parts: (string | null)[] = [request.method, this.entity.plural, id]
    for (const property of values === null ? [] : this.entity.properties) {
      const value = values?.get(property)
      if (value !== undefined) parts.push(property.column, value)
    }
    return { key: digest([keyName, key]), request: digest(parts) }
  }

  /**
   * Returns the claim of a write of all rows that match filters. The order of the filters does not matter. `values`: null for a
   * deletion. `versions`: versions that rows may have; null: any version. @throws ApiError 400
   */
  claimFiltered(
    { request, keyName }: KeyedRequest,
    { asked, may }: Pick<WrittenRows, 'asked' | 'may'>,
    values: Assignments | null,
    versions: string | null,
  ): IdempotencyClaim | null {
    const key = parseIdempotencyKey(request)
    if (key === null) return null
    const filters = asked.map(({ property, operator, value }) => JSON.stringify([property.name, operator.sign, value])).sort()
    const write = may && [may.write.verb, ...may.write.properties.map(({ column }) => column).sort()]
    const set = values && [...values].map(([{ column }, value]) => [column, value]).sort()
    const parts = [request.method, this.entity.plural, 'filters', filters, write, set, ...(versions === null ? [] : [versions])]
    return { key: digest([keyName, key]), request: digest([JSON.stringify(parts)]) }
  }

  /** Returns the claim of a bulk create. @throws ApiError 400 */
  async claimRows({ request, keyName }: KeyedRequest, rows: readonly Assignments[]): Promise<IdempotencyClaim | null> {
    const key = parseIdempotencyKey(request)
    if (key === null) return null
    const hash = new Bun.CryptoHasher('sha256')
    const columns = [...(rows[0] as Assignments).keys()].map(({ column }) => column)
    hash.update(JSON.stringify([request.method, this.entity.plural, rows.length, ...columns]))
    const yieldIfDue = yieldEvery()
    for (const row of rows) {
      hash.update(JSON.stringify([...row.values()]))
      const yielded = yieldIfDue()
      if (yielded !== null) await yielded
    }
    return { key: digest([keyName, key]), request: halfOf(hash) }
  }

  /**
   * Returns the claim of an upsert. The claim does not depend on the stored rows, because the first request changes them before a
   * repeated request arrives. @throws ApiError 400
   */
  async claimUpsert(
    { request, keyName }: KeyedRequest,
    matched: Property,
    rows: readonly MatchedRow[],
  ): Promise<IdempotencyClaim | null> {
    const key = parseIdempotencyKey(request)
    if (key === null) return null
    const hash = new Bun.CryptoHasher('sha256')
    hash.update(JSON.stringify([request.method, this.entity.plural, 'match', matched.column, rows.length]))
    const yieldIfDue = yieldEvery()
    for (const { value, body } of rows) {
      const given = givenIn(this.entity, body ?? {})
      const values = this.entity.properties.flatMap((one) => (given.has(one) ? [one.column, given.get(one)] : []))
      hash.update(JSON.stringify([value, ...values]))
      const yielded = yieldIfDue()
      if (yielded !== null) await yielded
    }
    return { key: digest([keyName, key]), request: halfOf(hash) }
  }

  /**
   * Begins a write, which is in progress until the block of its `using` ends. @throws ApiError InProgress if another write with
   * the same Idempotency-Key is in progress
   */
  begin(claim: IdempotencyClaim | null): Disposable {
    if (claim === null) return NO_KEY
    const { key } = claim
    if (this.keysInProgress.has(key)) throw inProgress()
    this.keysInProgress.add(key)
    return { [Symbol.dispose]: () => void this.keysInProgress.delete(key) }
  }

  /** Returns the stored rows of a finished write with this claim; null if there are none. @throws ApiError IdempotencyMismatch */
  async findStored(claim: IdempotencyClaim | null): Promise<Row[] | null> {
    const answer = await this.findAnswer(claim)
    return answer === undefined ? null : this.asStored(JSON.parse(answer ?? '[]'))
  }

  /** Returns whether a write with this claim was done. @throws ApiError IdempotencyMismatch */
  async isStored(claim: IdempotencyClaim | null): Promise<boolean> {
    return (await this.findAnswer(claim)) !== undefined
  }

  /**
   * Returns the rows that a finished update by filters has changed, perhaps none. Returns null if there was no such update.
   * @throws ApiError
   */
  async findStoredRows(claim: IdempotencyClaim | null): Promise<Row[] | null> {
    const answer = await this.findAnswer(claim)
    if (answer === undefined) return null
    const rows: readonly Row[] = JSON.parse(answer ?? '[]')
    return rows.length === 0 ? [] : this.asStored(rows)
  }

  /**
   * Returns the ids of the rows that a finished deletion by filters has deleted. Returns null if there was no such deletion.
   * @throws ApiError
   */
  async findStoredIds(claim: IdempotencyClaim | null): Promise<string[] | null> {
    const answer = await this.findAnswer(claim)
    return answer === undefined ? null : JSON.parse(answer ?? '[]')
  }

  /**
   * Returns the stored answer of a write as JSON. Null: the write stored no rows. Undefined: no write has this claim. @throws
   * ApiError IdempotencyMismatch
   */
  private async findAnswer(claim: IdempotencyClaim | null): Promise<string | null | undefined> {
    if (claim === null) return undefined
    const [found] = await this.database.read(compileFindStored(claim))
    if (!found) return undefined
    const [isSameRequest, answer] = found
    if (isSameRequest === 't') return answer
    const message = 'Idempotency-Key was used for another request: its method, its path or its body was another one.'
    throw new ApiError('IdempotencyMismatch', message, { target: 'Idempotency-Key' })
  }

  /**
   * Like `findStored`, after a write whose outcome may be unknown. @throws as `findStored`; ApiError OutcomeUnknown if the
   * database fails
   */
  async findStoredAfterWrite(claim: IdempotencyClaim | null): Promise<Row[] | null> {
    try {
      return await this.findStored(claim)
    } catch (error) {
      throw error instanceof ApiError && error.code === 'ServiceUnavailable' ? outcomeUnknown(error.cause, true) : error
    }
  }

  /**
   * Returns the error of a write that was refused without a known cause: InProgress if its Idempotency-Key is in use, else
   * Conflict.
   */
  async refusalWithoutCause(claim: IdempotencyClaim | null): Promise<ApiError> {
    if (claim === null) return conflict()
    const [isFree] = (await this.database.read(compileIsFree(claim)))[0] ?? []
    return isFree === 't' ? conflict() : inProgress()
  }

  /**
   * Returns the stored rows. If the properties of the entity have changed since the rows were stored, reads the current rows
   * instead. @throws ApiError
   */
  private async asStored(stored: Row | readonly Row[]): Promise<Row[]> {
    const { entity, database } = this
    const isSeveral = Array.isArray(stored[0])
    const rows = (isSeveral ? stored : [stored]) as Row[]
    const fingerprint = rows[0]?.at(-1)
    if (fingerprint === undefined || fingerprint === propertiesFingerprint(entity)) return rows
    const ids = rows.map(([id]) => id as string)
    const current = isSeveral
      ? (await database.read(compileRows([[entity, ids]]))).map((row) => row.slice(1))
      : await database.read(compileGet(entity, ids[0] as string))
    if (current.length < rows.length)
      throw new ApiError('NotFound', 'The write was done, by another version of the server, and a row of it was deleted since.')
    const byId = new Map(current.map((row) => [row[0], row]))
    // Keeps the last two values of each stored row: after an upsert, one of them is the outcome of the row.
    return rows.map((row) => [...(byId.get(row[0] ?? null) ?? []), ...row.slice(-2)])
  }
}

/** Returns the values in a body; none if the body has faults that keep it from being parsed. These faults are reported later. */
function givenIn(entity: Entity, body: JsonObject): Assignments {
  try {
    return parseBody(entity, wholeBody(entity), body).given
  } catch (error) {
    if (error instanceof ApiError) return new Map()
    throw error
  }
}

function digest(parts: readonly (string | null)[]): string {
  return halfOf(new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)))
}

function halfOf(hash: Bun.CryptoHasher): string {
  return hash.digest('hex').slice(0, 32)
}

function inProgress(): ApiError {
  const message = 'Another request with this Idempotency-Key is under way; retry after the seconds in Retry-After.'
  return new ApiError('InProgress', message, { target: 'Idempotency-Key', headers: { 'Retry-After': '1' } })
}

/** Returns the error of a write that fails because other writes keep changing the rows that it depends on. */
export function conflict(cause?: Error): ApiError {
  return new ApiError('Conflict', 'The write does not agree with what is stored; nothing was written.', { cause })
}
