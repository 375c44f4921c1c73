import type { Reader } from '../../src/columns/collation.ts'
import { ColumnTable } from '../../src/columns/columnTable.ts'
import { Slices } from '../../src/columns/slices.ts'
import type { Database } from '../../src/execute/database.ts'
import { TableCopy } from '../../src/memory/tableCopy.ts'
import { readTable, readTexts } from '../../src/memory/tableReader.ts'
import type { Entity, Property } from '../../src/model/entity.ts'

interface CopyOptions {
  readonly url: string
  readonly database: Database
  /** Connection that sends the questions of the copy; default: `database`. */
  readonly questions?: Reader
  onLost(error: unknown): void
  /** Writes rows after the copy is read. */
  write?(): Promise<unknown>
}

/** Reads a small table into a copy that no list uses yet. */
export async function readCopy(entity: Entity, options: CopyOptions): Promise<TableCopy> {
  const { url, database, questions = database, onLost } = options
  const readOrder = (property: Property) => (take: (text: string) => void) => readTexts(url, entity, property, take)
  const table = new ColumnTable(entity, 100, { database, slices: new Slices(), readOrder }, { has: () => true })
  const moment = await readTable(url, entity, 1_000, () => (bytes, from, to) => table.addLine(bytes, from, to))
  await options.write?.()
  return new TableCopy(entity, table, moment, { questions, onLost })
}
