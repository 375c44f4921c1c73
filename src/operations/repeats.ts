import { compileLook } from '../compile/once.ts'
import { ApiError } from '../errors.ts'
import type { Database } from '../execute/database.ts'
import { ConstraintViolation } from '../execute/sqlstate.ts'
import { type Batchable, ONCE_CONSTRAINT, type Once } from '../model/batch.ts'
import type { Entity } from '../model/entity.ts'
import type { Assignments } from '../model/query.ts'
import type { Row } from '../model/sql.ts'
import { takeTurns } from '../os/time.ts'
import { parseIdempotencyKey } from '../parse/headers.ts'
import type { Reply } from '../respond/reply.ts'

/** A write as a client asks for it. */
interface Asked {
  readonly request: Request
  /** The name of its API key: a client whose key was rotated repeats its own writes. */
  readonly keyName: string
}

/** The answer to a write that has returned this row, or these. */
type Answer<Written> = (written: Written) => Promise<Reply> | Reply

/**
 * Thrown to leave a write with the stored answer of the first one under its key: the row as it returned it, empty if it was
 * deleted; or the rows. It is not a fault.
 */
class AnsweredBefore {
  constructor(readonly written: Row | readonly Row[]) {}
}

/** Does writes once under a key of the client's, and answers later ones as the first. D43 */
export class Repeats {
  /** Keys of writes that this process is at: it answers the others without asking the database. */
  private readonly underWay = new Set<string>()

  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
  ) {}

  /** Under what the request is to be done once; null: it names no key. `values`: null for a deletion. @throws ApiError 400 */
  begin({ request, keyName: asker }: Asked, id: string, values: Assignments | null): Once | null {
    const key = parseIdempotencyKey(request)
    return key === null ? null : { key: digest([asker, key]), request: this.digestOf(request.method, id, values) }
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

  /**
   * Answers what `write` returns, or returned for the first request with this key. @throws ApiError IdempotencyMismatch,
   * InProgress
   */
  async answer<Written extends Row | readonly Row[]>(
    once: Once | null,
    write: () => Promise<Written>,
    reply: Answer<Written>,
  ): Promise<Reply> {
    const done = async () => reply(await write())
    if (once === null) return done()
    if (this.underWay.has(once.key)) throw inProgress()
    this.underWay.add(once.key)
    try {
      return await done()
    } catch (error) {
      if (!(error instanceof AnsweredBefore)) throw error
      const { status, headers, body } = await reply(error.written as Written)
      return { status, headers: { ...headers, 'Idempotency-Replayed': 'true' }, body }
    } finally {
      this.underWay.delete(once.key)
    }
  }

  /** Runs a statement; where it has done nothing, looks whether its key was used before. @throws as `write`, `look` */
  run(writes: Pick<Database, 'write'>, statement: Batchable): Promise<Row[]> {
    const written = writes.write(statement)
    return statement.once ? this.orLook(written, statement.once) : written
  }

  private async orLook(written: Promise<Row[]>, once: Once): Promise<Row[]> {
    const rows = await written.catch((error) => {
      // Another has begun after this one had looked, and ended before it: this one was undone.
      if (error instanceof ConstraintViolation && error.constraint === ONCE_CONSTRAINT) return []
      throw error
    })
    if (rows.length === 0) await this.look(once)
    return rows
  }

  /** Ends the write where its key was used before. @throws ApiError IdempotencyMismatch; AnsweredBefore */
  async look(once: Once): Promise<void> {
    const [found] = await this.database.read(compileLook(once))
    if (!found) return
    if (found[0] !== 't') throw mismatch()
    throw new AnsweredBefore(JSON.parse(found[1] ?? '[]'))
  }

  /** Digest of the written values, so that the same body in another notation is the same. */
  private digestOf(method: string, id: string, values: Assignments | null): string {
    const parts: (string | null)[] = [method, this.entity.plural, id]
    for (const property of values === null ? [] : this.entity.properties) {
      const value = values?.get(property)
      if (value !== undefined) parts.push(property.column, value)
    }
    return digest(parts)
  }
}

function digest(parts: readonly (string | null)[]): string {
  return halfOf(new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)))
}

function halfOf(hash: Bun.CryptoHasher): string {
  return hash.digest('hex').slice(0, 32)
}

function mismatch(): ApiError {
  const message = 'Idempotency-Key was used for another request: its method, its path or its body was another one.'
  return new ApiError('IdempotencyMismatch', message, { target: 'Idempotency-Key' })
}

/** Nothing else speaks against the write: the one that has its key has not ended. */
export function inProgress(): ApiError {
  const message = 'Another request with this Idempotency-Key is under way; retry after the seconds in Retry-After.'
  return new ApiError('InProgress', message, { target: 'Idempotency-Key', headers: { 'Retry-After': '1' } })
}
