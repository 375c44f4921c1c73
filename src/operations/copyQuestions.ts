// Answers questions about rows from copies in memory, to decide the rights that depend on these rows.
import type { ColumnTable } from '../columns/columnTable.ts'
import type { FoundPage } from '../columns/listSearch.ts'
import type { TableCopies } from '../memory/tableCopies.ts'
import type { TableCopy } from '../memory/tableCopy.ts'
import type { Entity } from '../model/entity.ts'
import type { Caller } from '../model/key.ts'
import { type Filter, type ListQuery, otherEntities } from '../model/query.ts'
import type { RowQuestions } from '../model/rowQuestions.ts'
import type { Row } from '../model/sql.ts'
import { tablesIn, waitForCopies } from './neededCopies.ts'

/** Number of rows to find: a second row shows that the first is not the only one. */
const ROWS = 2

export interface CopyQuestionsParts {
  readonly memory: TableCopies
  readonly caller: Caller
  /** Answers the questions that memory cannot answer. */
  readonly database: RowQuestions
}

/**
 * Answers questions without a promise if the copies `current` can answer. These are of one snapshot, taken after the request
 * arrived. Otherwise returns a promise, for which the copies of the needed tables are refreshed and searched. If the refreshed
 * copies cannot answer either, the database is asked.
 */
export class CopyQuestions implements RowQuestions {
  constructor(
    private readonly current: readonly TableCopy[],
    private readonly parts: CopyQuestionsParts,
  ) {}

  only(entity: Entity, filters: readonly Filter[]): Row | null | Promise<Row | null> {
    const found = this.findNow(entity, filters)
    if (found !== null) return onlyRowOf(entity, found)
    const { database } = this.parts
    return this.find(entity, filters).then((page) => (page ? onlyRowOf(entity, page) : database.only(entity, filters)))
  }

  some(entity: Entity, filters: readonly Filter[]): boolean | Promise<boolean> {
    const found = this.findNow(entity, filters)
    if (found !== null) return found.total > 0
    const { database } = this.parts
    return this.find(entity, filters).then((page) => (page ? page.total > 0 : database.some(entity, filters)))
  }

  /** Finds rows in the copies `current`, without a promise. Returns null if these copies cannot answer. */
  private findNow(entity: Entity, filters: readonly Filter[]): FoundPage | null {
    const { memory } = this.parts
    const tables = tablesOf(entity, filters)
    const copies = tables.flatMap(({ table }) => this.current.find((copy) => copy.entity.table === table) ?? [])
    if (copies.length < tables.length || memory.versionOf(this.current) === null) return null
    const query = queryOf(filters)
    return this.prepare(copies, query) === null ? findIn(copies, query) : null
  }

  /** Refreshes the copies, then finds the rows in them. Returns null if only the database can find the rows. @throws ApiError */
  private async find(entity: Entity, filters: readonly Filter[]): Promise<FoundPage | null> {
    const { memory } = this.parts
    const tables = tablesOf(entity, filters)
    const copies = memory.allOf(tables)
    if (copies === null) {
      for (const table of tables) memory.load(table)
      return null
    }
    await memory.refresh(copies)
    const query = queryOf(filters)
    const wait = (attempt: number) => waitForCopies(memory, copies, () => this.prepare(copies, query), attempt)
    for (let attempt = 1, waiting = wait(attempt); waiting; waiting = wait(++attempt)) await waiting
    return memory.versionOf(copies) === null ? null : findIn(copies, query)
  }

  private prepare(copies: readonly TableCopy[], query: ListQuery): Promise<void> | null {
    return tableOf(copies).prepare(query, this.parts.caller, tablesIn(copies))
  }
}

function tablesOf(entity: Entity, filters: readonly Filter[]): readonly Entity[] {
  return [entity, ...otherEntities(filters, []).filter(({ table }) => table !== entity.table)]
}

function queryOf(filters: readonly Filter[]): ListQuery {
  return { filters, sorts: [], may: null, pageSize: ROWS, page: 1, seek: null, queryWithoutPaging: '', choice: null }
}

function tableOf([first]: readonly TableCopy[]): ColumnTable {
  return (first as TableCopy).columns
}

function findIn(copies: readonly TableCopy[], query: ListQuery): FoundPage | null {
  const found = tableOf(copies).lists.find(query, tablesIn(copies))
  return typeof found === 'string' ? null : found
}

function onlyRowOf({ properties }: Entity, { total, rows }: FoundPage): Row | null {
  return total === 1 ? properties.map((_, column) => rows.print(0, column)) : null
}
