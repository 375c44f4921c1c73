// Idempotency: runs a write under an Idempotency-Key once, and replays its stored response to repeated requests. D43
import { compileRows } from '../compile/changes.ts'
import { compileGet } from '../compile/entity.ts'
import { compileIsFree, compileLook, PROPERTIES_SIGN, propertiesSignOf } from '../compile/once.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { ConstraintViolation, outcomeUnknown } from '../execute/outcomes.ts'
import { type Batchable, ONCE_CONSTRAINT, type Once } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { takeTurns } from '../os/time.ts'
import { parseIdempotencyKey } from '../parse/headers.ts'
import type { Reply } from '../respond/reply.ts'
import type { ResourceRequest } from './resourceRequest.ts'

/** A request with the name of its key: after a rotation the client still repeats its own writes. */
type Asked = Pick<ResourceRequest, 'request' | 'keyName'>

/**
 * Explains why certain rows were not written, by a constraint where others have written in the meantime. Resolves if nothing
 * speaks against the write any more. @throws ApiError
 */
export type Explain = (violation?: ConstraintViolation) => Promise<void>

/** Maximum attempts: the cause of a refusal may be gone when it is looked for. */
const ATTEMPTS_MAX = 3

/** Thrown to leave a write with the stored response: the row (empty if it was deleted), or the rows. It is no error. */
class AnsweredBefore {
  constructor(readonly written: Row | readonly Row[]) {}
}

/** Runs the writes of one entity, with or without a key. */
export class Repeats {
  /** Keys of writes in progress here: repeated requests are refused without a look into the database. */
  private readonly underWay = new Set<string>()

  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
  ) {}

  /** Idempotency of a request; null: it has no key. `values`: null for a deletion. @throws ApiError 400 */
  begin({ request, keyName: asker }: Asked, id: string, values: Assignments | null): Once | null {
    const key = parseIdempotencyKey(request)
    if (key === null) return null
    // By the values that are written, so that the same body in another notation is the same.
    const parts: (string | null)[] = [request.method, this.entity.plural, id]
    for (const property of values === null ? [] : this.entity.properties) {
      const value = values?.get(property)
      if (value !== undefined) parts.push(property.column, value)
    }
    return { key: digest([asker, key]), request: digest(parts) }
  }

  /** Begins a creation of several rows under a key. Each row sets all that clients write. @throws ApiError 400 */
  async beginRows({ request, keyName: asker }: Asked, rows: readonly Assignments[]): Promise<Once | null> {
    const key = parseIdempotencyKey(request)
    if (key === null) return null
    const hash = new Bun.CryptoHasher('sha256')
    const [turn, columns] = [takeTurns(), [...(rows[0] as Assignments).keys()].map(({ column }) => column)]
    hash.update(JSON.stringify([request.method, this.entity.plural, rows.length, ...columns]))
    for (const row of rows) {
      hash.update(JSON.stringify([...row.values()]))
      const others = turn()
      if (others !== null) await others
    }
    return { key: digest([asker, key]), request: halfOf(hash) }
  }

  /** Answers what `write` returns, or returned for the first request with this key. @throws ApiError, such as InProgress */
  async answer<Written extends Row | readonly Row[]>(
    once: Once | null,
    write: () => Promise<Written>,
    reply: (written: Written) => Promise<Reply> | Reply,
  ): Promise<Reply> {
    if (once === null) return reply(await write())
    if (this.underWay.has(once.key)) throw inProgress()
    this.underWay.add(once.key)
    try {
      return await reply(await write())
    } catch (error) {
      if (!(error instanceof AnsweredBefore)) throw error
      const answered = await reply(error.written as Written)
      answered.headers['Idempotency-Replayed'] = 'true'
      return answered
    } finally {
      this.underWay.delete(once.key)
    }
  }

  /** Runs a write; again if it was refused for something that others have changed since. @throws as `attempt`, `refuse` */
  async write(statement: Batchable, explain: Explain, writes: Pick<Database, 'write'> = this.database): Promise<Row[]> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const rows = await this.attempt(statement, explain, writes)
      if (rows.length > 0) return rows
      await this.refuse(explain, statement.once)
    }
    const { once } = statement
    throw once && !(await this.isFree(once)) ? inProgress() : conflict()
  }

  /** Runs a write once; no rows if it was refused. What only a constraint has seen is explained. @throws ApiError; as `look` */
  async attempt(statement: Batchable, explain: Explain, writes: Pick<Database, 'write'> = this.database): Promise<Row[]> {
    const { once } = statement
    let violation: ConstraintViolation | null = null
    try {
      const rows = await writes.write(statement)
      if (rows.length > 0) return rows
    } catch (error) {
      if (!(error instanceof ConstraintViolation)) throw error
      violation = error
    }
    // Another request under the key may have begun after this one had looked, and ended before it, which undid this one.
    if (once) await this.lookAfter(once)
    if (violation === null || violation.constraint === ONCE_CONSTRAINT) return []
    await explain(violation)
    throw conflict(violation)
  }

  /** @throws ApiError that says why a write was refused, if that still holds; as `look` */
  async refuse(explain: Explain, once: Once | null | undefined): Promise<void> {
    try {
      await explain()
    } catch (error) {
      // A write under the same key may have ended a moment ago, and be the reason.
      if (once) await this.lookAfter(once)
      throw error
    }
  }

  /** Looks for a write with this key. @throws ApiError IdempotencyMismatch; AnsweredBefore */
  async look(once: Once): Promise<void> {
    const [found] = await this.database.read(compileLook(once))
    if (!found) return
    if (found[0] === 't') throw new AnsweredBefore(await this.readable(JSON.parse(found[1] ?? '[]')))
    const message = 'Idempotency-Key was used for another request: its method, its path or its body was another one.'
    throw new ApiError('IdempotencyMismatch', message, { target: 'Idempotency-Key' })
  }

  /** Looks behind a write, which may have been done before its answer was lost. @throws as `look`; ApiError OutcomeUnknown */
  private lookAfter(once: Once): Promise<void> {
    return this.look(once).catch((error) => {
      throw error instanceof ApiError && error.code === 'ServiceUnavailable' ? outcomeUnknown(error.cause, true) : error
    })
  }

  /** Returns whether no write has, or is about to have, this key. */
  private async isFree(once: Once): Promise<boolean> {
    const [found] = await this.database.read(compileIsFree(once))
    return found?.[0] === 't'
  }

  /** The stored row or rows; as they are now if a server whose entity has other properties has stored them. @throws ApiError */
  private async readable(stored: Row | readonly Row[]): Promise<Row | readonly Row[]> {
    const { entity, database } = this
    const isSeveral = Array.isArray(stored[0])
    const rows = (isSeveral ? stored : [stored]) as readonly Row[]
    const shape = rows[0]?.at(-1)
    // Former versions ended rows with the transaction.
    if (!shape?.startsWith(PROPERTIES_SIGN) || shape === propertiesSignOf(entity)) return stored
    const ids = rows.map(([id]) => id as string)
    const found = isSeveral
      ? (await database.read(compileRows([[entity, ids]]))).map((row) => row.slice(1))
      : await database.read(compileGet(entity, ids[0] as string))
    if (found.length < rows.length)
      throw new ApiError('NotFound', 'The write was done, by another version of the server, and a row of it was deleted since.')
    return isSeveral ? found.toSorted(([one], [other]) => Number(one) - Number(other)) : (found[0] as Row)
  }
}

function digest(parts: readonly (string | null)[]): string {
  return halfOf(new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)))
}

function halfOf(hash: Bun.CryptoHasher): string {
  return hash.digest('hex').slice(0, 32)
}

/** Error for a write while another one with its key is in progress. */
function inProgress(): ApiError {
  const message = 'Another request with this Idempotency-Key is under way; retry after the seconds in Retry-After.'
  return new ApiError('InProgress', message, { target: 'Idempotency-Key', headers: { 'Retry-After': '1' } })
}

/** Error for a write while others keep changing the rows that it depends on. */
function conflict(cause?: ConstraintViolation): ApiError {
  return new ApiError('Conflict', 'The write does not agree with what is stored; nothing was written.', { cause })
}
