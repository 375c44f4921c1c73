// The internals of postgres.js that this program uses although the driver's types do not promise them. `checkDriver` checks them
// when a pool opens.
import { Readable } from 'node:stream'
import type postgres from 'postgres'
import type { KindName } from '../model/kinds.ts'
import { LruCache } from '../model/lruCache.ts'
import type { Row, Statement } from '../model/sql.ts'

/** A statement of the driver. It is sent when its rows are awaited. */
export interface DriverQuery extends PromiseLike<Row[]> {
  /** Null until a connection has taken the statement. */
  readonly state: { readonly pid: number | null } | null
  /** Rejects the statement at once if no connection has taken it. Then it is never sent. */
  cancel(): void
}

/** Values go in and out as text: our writers and parsers know the types, and no date or decimal becomes a float. */
const AS_TEXT = { serialize: (text: string) => text, parse: (text: string) => text }
/**
 * Numbers of the column types in `pg_type`, by kind. Null: the driver handles values of this type as texts even without an entry.
 */
const TYPE_NUMBERS: Readonly<Record<KindName, number | null>> = {
  text: null,
  oneOf: null,
  uuid: null,
  boolean: 16,
  integer: 20,
  decimal: 1700,
  date: 1082,
  instant: 1184,
  // Without an entry, the driver would encode a JSON text as JSON once more.
  json: 3802,
}
/**
 * The option `types` of a client whose values are texts. The cast is needed because the driver's types know only its own parsers.
 */
export const TEXT_TYPES = Object.fromEntries(
  Object.entries(TYPE_NUMBERS).flatMap(([name, to]) => (to === null ? [] : [[name, { to, from: [to], ...AS_TEXT }]])),
) as never

interface SendOptions {
  readonly prepare: boolean
  /** True for a statement that may wait for a lock: nothing is sent over its connection until it has ended. */
  readonly isExclusive: boolean
}

/** Option with a hook that answers false, which keeps the driver from pipelining statements after this one. */
const EXCLUSIVE = { onexecute: () => false }

/**
 * Returns the values of a statement with the type that the driver asks for: a mutable array, which the driver does not change.
 */
export function parametersOf({ values }: Statement): (string | null)[] {
  return values as (string | null)[]
}

/** Returns the driver's query for a statement. The query is sent when its rows are awaited. */
export function queryOf(client: postgres.Sql, statement: Statement, { prepare, isExclusive }: SendOptions): DriverQuery {
  // Without `simple: false`, a statement that has no parameters would never be prepared.
  const options = { simple: false, prepare, ...(isExclusive ? EXCLUSIVE : {}) }
  return client.unsafe(statement.text, parametersOf(statement), options).values() as unknown as DriverQuery
}

/** Maximum number of prepared statements: each takes memory on both sides of every connection, and is never dropped. */
const PREPARED_MAX = 200
/** Maximum number of texts whose uses are counted. */
const CANDIDATES_MAX = 2_000
/** Number of uses from which a text is prepared: a rare text is not worth a prepared statement on every connection. */
const USES_MIN = 3

/** Decides which statements are prepared. Their number is limited, because the driver never drops a prepared statement. */
export class PreparePolicy {
  private readonly prepared = new Set<string>()
  /** Number of uses of each text that is not prepared. */
  private readonly candidates = new LruCache<number>(CANDIDATES_MAX, () => 1)

  constructor(private readonly enabled: boolean) {}

  /** Counts a use of `text`, and returns whether the statement is to be prepared. */
  shouldPrepare(text: string): boolean {
    if (!this.enabled) return false
    if (this.prepared.has(text)) return true
    const uses = (this.candidates.get(text) ?? 0) + 1
    if (uses >= USES_MIN) this.prepared.add(text)
    else this.candidates.set(text, uses)
    return uses >= USES_MIN
  }

  /** True if the connections have the maximum number of prepared statements, so that they must be replaced. */
  get isFull(): boolean {
    return this.prepared.size >= PREPARED_MAX
  }
}

/**
 * Removes empty entries at the start of an answer. After a query that failed halfway through its rows, the driver leaves one
 * entry for each of those rows in the next answer.
 */
export function withoutHoles(rows: Row[]): Row[] {
  return rows.length > 0 && rows[0] === undefined ? rows.filter(Boolean) : rows
}

/**
 * Begins a COPY to this program, and returns its stream. The driver may destroy the stream in the turn of the event loop in which
 * it resolves the query. A caller would listen for the stream's error too late, so this function listens for it. @throws the
 * error of the stream
 */
export async function openCopy(transaction: postgres.TransactionSql, text: string): Promise<Readable> {
  const query = transaction.unsafe(text)
  const { resolve } = query as unknown as { resolve(result: unknown): void }
  const listen = (result: unknown) => resolve(result instanceof Readable ? result.on('error', () => undefined) : result)
  Object.assign(query, { resolve: listen })
  const stream: Readable = await query.readable()
  if (stream.errored) throw stream.errored
  return stream
}

/**
 * Lets the driver read its socket again after a COPY has ended. When a stream is full, the driver pauses the socket until the
 * stream is read. A stream that has ended is not read any more, so this function reads it once.
 */
export function resumeAfterCopy(stream: Readable): void {
  stream._read(0)
}

/** Checks that a query has the members that this file uses. @throws Error for a version of the driver that lacks one */
export function checkDriver(client: postgres.Sql): void {
  const query = client.unsafe('') as unknown as Record<string, unknown>
  const isKnown = query.state === null && typeof query.cancel === 'function' && typeof query.resolve === 'function'
  if (!isKnown) throw new Error('this version of postgres.js is not the one that src/execute/driver.ts was written for')
}
