import type postgres from 'postgres'
import { LruCache } from '../model/lruCache.ts'
import { connectTo } from './connect.ts'
import { STATEMENT_MS_MAX } from './deadlines.ts'

/** What the connections of a pool are like. */
export interface PoolOptions {
  url: string
  /** Connections. */
  poolSize: number
  /** False behind a pooler in transaction mode, where a prepared statement may be on another connection. */
  prepare: boolean
  /** A pooler is between: its connections take no settings of ours, and have no name that is ours alone. Default: not `prepare`. */
  isPooled?: boolean
  /** The change log to which this process publishes its writes; default: none, and the database's triggers notify. */
  changes?: PublishingConnections | null
  /** What the names of its connections begin with, so that those can be ended which have a write that was given up. */
  name?: string
  /** For how long PostgreSQL itself lets a statement run; default: 3 s. */
  statementMsMax?: number
  /** For how long a statement may wait for a lock; default, and behind a pooler: as long as it may run. */
  lockMsMax?: number
}

interface PublishingConnections {
  /** Their setting `roster.machine`. */
  readonly machine: string
  /** What their application_name begins with. */
  readonly connections: string
}

/** Values go in and out as text: our writers and parsers know the types, and no date or decimal becomes a float. */
const AS_TEXT = { serialize: (text: string) => text, parse: (text: string) => text }
const TYPES = {
  boolean: { to: 16, from: [16], ...AS_TEXT },
  date: { to: 1082, from: [1082], ...AS_TEXT },
  instant: { to: 1184, from: [1184], ...AS_TEXT },
  integer: { to: 20, from: [20], ...AS_TEXT },
  numeric: { to: 1700, from: [1700], ...AS_TEXT },
}

/**
 * For statements that may wait for a lock: the driver sends nothing behind them over their connection, only over others.
 * (`onexecute` is the driver's own hook: what it returns says whether the connection takes more.)
 */
export const HOLDING = { simple: false, onexecute: () => false }

/** Connections that are opened as they are needed, and replaced together. */
export interface Pool {
  readonly sql: postgres.Sql
  /** The application_name of its connections. */
  readonly connections: string
  /** Resolves when nothing can be sent over its connections any more. */
  readonly closed: Promise<void>
  readonly resolveClosed: () => void
  /** Queries that have neither ended nor missed their deadline. */
  running: number
  isRetired: boolean
}

export function openPool(options: PoolOptions, number: number): Pool {
  const name = options.changes?.connections ?? options.name
  const connections = name === undefined ? 'roster' : `${name}/${number}`
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>()
  return { sql: connect(options, connections), connections, closed, resolveClosed, running: 0, isRetired: false }
}

/** Closes at once: queries that still run there were given up. */
export function closePool({ sql, resolveClosed }: Pool) {
  sql.end({ timeout: 0 }).then(resolveClosed, resolveClosed)
}

function connect(
  { url, poolSize, prepare, isPooled = !prepare, changes, statementMsMax, lockMsMax }: PoolOptions,
  name: string,
): postgres.Sql {
  return connectTo(url, {
    max: poolSize,
    // No pipelining: PgBouncer releases its connection to the database at the end of a statement, and a Parse that was pipelined
    // behind that statement is never answered.
    ...(isPooled ? { max_pipeline: 0 } : {}),
    prepare,
    types: TYPES as never,
    connection: {
      application_name: name,
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      statement_timeout: statementMsMax ?? STATEMENT_MS_MAX,
      // A pooler would refuse it, unless an operator lets it through to no effect.
      ...(lockMsMax === undefined || isPooled ? {} : { lock_timeout: lockMsMax }),
      // Compiling a plan costs more than any of our statements.
      jit: 'off',
      // In this isolation the trigger sees which machines listen; in others it notifies always. Writes through a pooler name
      // the machine themselves: `Marks`.
      ...(changes && !isPooled
        ? { 'roster.machine': changes.machine, default_transaction_isolation: 'read committed' }
        : {}),
    },
  })
}

/** Where a write asks which machine sends it. */
const MACHINE = "current_setting('roster.machine', true)"
const TEXTS_BYTES_MAX = 8 * 2 ** 20

/**
 * Names the machine in each write itself, for connections that are not ours alone: behind a pooler in transaction mode a setting
 * of the session would be that of any other program, too. The triggers of the change log run at the end of the statement,
 * and so see what it has set, until its transaction ends.
 */
export class Marks {
  private readonly texts = new LruCache<string>(TEXTS_BYTES_MAX, (text) => 4 * text.length)
  private readonly marked: string

  /** @throws RangeError for a name that cannot stand in a statement */
  constructor(machine: string) {
    if (!/^[\w-]+$/.test(machine)) throw new RangeError('a machine is named by letters, digits and hyphens')
    this.marked = `set_config('roster.machine', '${machine}', true)`
  }

  /** The text of a write, with the mark. One that does not ask has none. */
  of(text: string): string {
    let marked = this.texts.get(text)
    if (marked === undefined) this.texts.set(text, (marked = text.replaceAll(MACHINE, this.marked)))
    return marked
  }
}
