import type { Row } from '../../src/model/sql.ts'

/** A write of one row: null where the row was not there before, or is not any more. */
export interface ModelWrite {
  readonly transaction: number
  readonly id: number
  readonly before: Row | null
  readonly after: Row | null
  isCommitted: boolean
}

export interface ModelSnapshot {
  /** As PostgreSQL prints it. */
  readonly text: string
  readonly rows: readonly Row[]
}

/** One table of a database: transactions that write one row each, and what is seen between their beginnings and ends. */
export class ModelDatabase {
  private readonly rows = new Map<number, Row>()
  private readonly running = new Map<number, ModelWrite>()
  private next = 900

  /** Begins to write what `make` says of the row that is there. Null: another transaction is writing that row. */
  begin(id: number, make: (before: Row | null) => Row | null): ModelWrite | null {
    if ([...this.running.values()].some((write) => write.id === id)) return null
    const before = this.rows.get(id) ?? null
    const after = make(before)
    if (before === null && after === null) return null
    const write = { transaction: this.next++, id, before, after, isCommitted: false }
    this.running.set(write.transaction, write)
    return write
  }

  commit(write: ModelWrite): void {
    this.running.delete(write.transaction)
    write.isCommitted = true
    if (write.after) this.rows.set(write.id, write.after)
    else this.rows.delete(write.id)
  }

  snapshot(): ModelSnapshot {
    const running = [...this.running.keys()].sort((one, other) => one - other)
    return { text: `${running[0] ?? this.next}:${this.next}:${running}`, rows: [...this.rows.values()] }
  }
}
