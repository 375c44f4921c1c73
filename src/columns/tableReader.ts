import type postgres from 'postgres'
import { Snapshot } from '../changes/snapshot.ts'
import { connectTo } from '../execute/connect.ts'
import type { Entity } from '../model/entity.ts'
import type { Statement } from '../model/sql.ts'
import { type TakeLine, takePieces } from './copyPieces.ts'
import * as statements from './statements.ts'

/** Which commits were seen, in which run of the server, and with which collations. */
export interface Moment {
  readonly snapshot: Snapshot
  /** Another one after a failover, a recovery, a start: commits may be undone; and where texts have another order. */
  readonly run: string
}

/** What a table is as PostgreSQL's planner knows it. */
export interface TableSize {
  /** Null: it was never analyzed. */
  readonly rows: number | null
  readonly bytes: number
}

/** A table of many millions of rows takes minutes, during which its old row versions stay. */
const READ_MS_MAX = 300_000
/** Rows that are read at once: the driver takes some milliseconds for them. */
const PIECE_ROWS = 8_000

/** A connection that reads nothing for so long is closed. */
const IDLE_S_MAX = 10
/** So many transactions later, ages do not tell any more what has changed. */
const AGE_MAX = 1_000_000_000

/**
 * Reads tables whole, or what has changed in them, one after the other over a connection of its own: what takes seconds
 * holds up no other statement. An error ends the connection, over which the driver's COPY may hang (porsager/postgres#917).
 */
export class TableReader {
  private connection: postgres.Sql | null = null
  private isEnded = false

  constructor(private readonly url: string) {}

  async size(entity: Entity): Promise<TableSize> {
    const { text, values } = statements.compileSize(entity)
    const [row] = await this.connected((connection) => connection.unsafe(text, values as string[]).values())
    const [rows = '-1', bytes = '0'] = (row ?? []) as string[]
    return { rows: Number(rows) < 0 ? null : Number(rows), bytes: Number(bytes) }
  }

  /** All rows by their ids, as of one moment, which is returned. */
  all(entity: Entity, take: TakeLine): Promise<Moment> {
    return this.atOneMoment(entity, async (transaction, moment) => {
      await takePieces(transaction, (last) => statements.compileRowsBehind(entity, last, PIECE_ROWS), take)
      return moment
    })
  }

  /**
   * The rows that an earlier moment may not have seen as they are now, and how many the table has in all, as of one
   * moment. Null: they cannot be distinguished from the others, since commits may have been undone, or too many came since.
   */
  since(entity: Entity, earlier: Moment, take: TakeLine): Promise<{ moment: Moment; rows: number } | null> {
    return this.atOneMoment(entity, async (transaction, moment) => {
      const { oldest } = earlier.snapshot
      if (moment.run !== earlier.run || moment.snapshot.next - oldest > AGE_MAX) return null
      const pieces = await firstValues(transaction, statements.compileIdsSince(entity, oldest, PIECE_ROWS))
      const following = () => {
        const ids = pieces.pop()
        return ids === undefined ? null : statements.compileRowsOf(entity, ids)
      }
      await takePieces(transaction, following, take)
      const [rows] = await firstValues(transaction, statements.compileCount(entity))
      return { moment, rows: Number(rows) }
    })
  }

  /** Ends what is being read; it fails. */
  async end(): Promise<void> {
    this.isEnded = true
    await this.connection?.end({ timeout: 0 })
  }

  private atOneMoment<T>(
    entity: Entity,
    work: (transaction: postgres.TransactionSql, moment: Moment) => Promise<T>,
  ): Promise<T> {
    // After an error in the midst of COPY the driver's own one, at its rollback, would take its place.
    let fault: { readonly error: unknown } | null = null
    const begun = async (transaction: postgres.TransactionSql) => {
      try {
        const { text, values } = statements.compileMoment(entity)
        const [row] = await transaction.unsafe(text, values as string[]).values()
        const [snapshot, run] = row as unknown as [string, string]
        return await work(transaction, { snapshot: new Snapshot(snapshot), run })
      } catch (error) {
        fault = { error }
        throw error
      }
    }
    const read = (connection: postgres.Sql) => connection.begin('isolation level repeatable read read only', begun)
    return this.connected(read as (connection: postgres.Sql) => Promise<T>).catch((error) => {
      throw fault === null ? error : fault.error
    })
  }

  private async connected<T>(work: (connection: postgres.Sql) => Promise<T>): Promise<T> {
    if (this.isEnded) throw new Error('the worker ends')
    const connection = (this.connection ??= this.connect())
    try {
      return await work(connection)
    } catch (error) {
      if (this.connection === connection) this.connection = null
      await connection.end({ timeout: 0 })
      throw error
    }
  }

  private connect(): postgres.Sql {
    // Each piece of a table is found by the index of its ids, whatever the planner knows of the table.
    const settings = {
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      jit: 'off',
      enable_sort: 'off',
      statement_timeout: READ_MS_MAX,
    }
    const connection = { application_name: 'roster/columns', ...settings }
    return connectTo(this.url, { max: 1, prepare: false, idle_timeout: IDLE_S_MAX, connection })
  }
}

/** Of each row. */
async function firstValues(transaction: postgres.TransactionSql, { text, values }: Statement): Promise<string[]> {
  const rows = await transaction.unsafe(text, values as string[]).values()
  return rows.map(([first]) => first as string)
}
