import type postgres from 'postgres'
import { connectTo } from './connect.ts'
import { STATEMENT_MS_MAX } from './deadlines.ts'

export interface PoolOptions {
  url: string
  /** Connections. */
  poolSize: number
  /** False behind a pooler in transaction mode, where a prepared statement may be on another connection. */
  prepare: boolean
  /** Where all writes over its connections are told by this process; default: nowhere, so that they notify. */
  changes?: TellingConnections | null
  /** For how long PostgreSQL itself lets a statement run; default: 3 s. */
  statementMsMax?: number
}

interface TellingConnections {
  /** Their setting `roster.machine`. */
  readonly machine: string
  /** What their names begin with. */
  readonly connections: string
}

/** Text in, text out: writers and parsers of ours know the types, and dates or decimals pass no float on the way. */
const AS_TEXT = { serialize: (text: string) => text, parse: (text: string) => text }
const TYPES = {
  boolean: { to: 16, from: [16], ...AS_TEXT },
  instant: { to: 1184, from: [1184], ...AS_TEXT },
  integer: { to: 20, from: [20], ...AS_TEXT },
  numeric: { to: 1700, from: [1700], ...AS_TEXT },
}

/** Connections that are opened as they are needed, and replaced together. */
export interface Pool {
  readonly sql: postgres.Sql
  /** What its connections are called. */
  readonly connections: string
  /** When nothing can be sent over them any more. */
  readonly closed: Promise<void>
  readonly tellClosed: () => void
  /** Queries that have neither ended nor missed their deadline. */
  running: number
  isRetired: boolean
}

export function openPool(options: PoolOptions, number: number): Pool {
  const connections = options.changes ? `${options.changes.connections}/${number}` : 'roster'
  const { promise: closed, resolve: tellClosed } = Promise.withResolvers<void>()
  return { sql: connect(options, connections), connections, closed, tellClosed, running: 0, isRetired: false }
}

/** At once: what still runs there has been given up. */
export function closePool({ sql, tellClosed }: Pool) {
  sql.end({ timeout: 0 }).then(tellClosed, tellClosed)
}

function connect({ url, poolSize, prepare, changes, statementMsMax }: PoolOptions, name: string): postgres.Sql {
  return connectTo(url, {
    max: poolSize,
    prepare,
    types: TYPES as never,
    connection: {
      application_name: name,
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      statement_timeout: statementMsMax ?? STATEMENT_MS_MAX,
      // Compiling a plan costs more than any of our statements.
      jit: 'off',
      // Writes in this isolation see who listens; in others they notify.
      ...(changes ? { 'roster.machine': changes.machine, default_transaction_isolation: 'read committed' } : {}),
    },
  })
}
