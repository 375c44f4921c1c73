// The table in memory that is measured. Only this file knows how the table is created and searched.
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Slices } from '../../src/columns/slices.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { ListQuery } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'

export interface MeasuredTable {
  readonly bytes: number
  /** Finds the total and the page. A text is the reason why PostgreSQL would have to find the list. */
  find(query: ListQuery): FoundList | string
  /** Adds or replaces a row. */
  put(row: Row): void
  /** Resolves when all indexes that lists have asked for are built. */
  indexesBuilt(): Promise<void>
}

export interface FoundList {
  readonly total: number
  readonly rows: { readonly length: number; print(index: number, column: number): string | null }
  /** Name of the way in which the list was found, if the table tells it. */
  readonly way?: string
}

/** Receives a row as a line of COPY: `bytes[from, to)`. */
export type AddLine = (bytes: Uint8Array, from: number, to: number) => void

/** Loads `rows` rows into a table of at most `bytesMax` bytes. `addAll` passes each row to its argument. */
export function loadTable(entity: Entity, rows: number, bytesMax: number, addAll: (add: AddLine) => void): MeasuredTable {
  const parts = { database: { read: noDatabase }, slices: new Slices(), readOrder: () => noDatabase }
  const table: ColumnTable = new ColumnTable(entity, rows, parts, { has: (bytes) => table.bytes + bytes <= bytesMax })
  addAll((bytes, from, to) => table.addLine(bytes, from, to))
  return {
    get bytes() {
      return table.bytes
    },
    find: (query) => table.lists.find(query),
    put: (row) => table.put(row),
    indexesBuilt: () => table.indexesBuilt(),
  }
}

async function noDatabase(): Promise<never> {
  throw new Error('the lists that are measured need no order of texts')
}
