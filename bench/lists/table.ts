// The table in memory that is measured. How it is made and searched is written here alone.
import { ColumnTable } from '../../src/columns/columnTable.ts'
import type { FoundPage } from '../../src/columns/foundPage.ts'
import { Kernel } from '../../src/columns/kernel.ts'
import { ListSearch } from '../../src/columns/listSearch.ts'
import { Slices } from '../../src/columns/slices.ts'
import type { Entity } from '../../src/model/entity.ts'
import type { ListQuery } from '../../src/model/query.ts'
import type { Row } from '../../src/model/sql.ts'

export interface MeasuredTable {
  readonly bytes: number
  /** Finds the total and the page; null if codes cannot decide, so that PostgreSQL would find the list. */
  find(query: ListQuery): FoundPage | null
  /** Adds or replaces a row. */
  put(row: Row): void
}

/** Takes a row as a line of COPY: `bytes[from, to)`. */
export type AddLine = (bytes: Uint8Array, from: number, to: number) => void

/** Loads about so many rows into a table with so much memory. `addAll` hands over each of them. */
export function loadTable(entity: Entity, rows: number, bytesMax: number, addAll: (add: AddLine) => void): MeasuredTable {
  const table = new ColumnTable(entity, new Kernel(bytesMax))
  table.prepare(rows, [])
  addAll((bytes, from, to) => table.addLine(bytes, from, to))
  const search = new ListSearch(entity, table, { database: { read: noDatabase }, slices: new Slices() })
  return {
    get bytes() {
      return table.bytes + search.bytes
    },
    find: (query) => search.find(query),
    put: (row) => table.put(row),
  }
}

async function noDatabase(): Promise<never> {
  throw new Error('the lists that are measured need no order of texts')
}
