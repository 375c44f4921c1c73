// The copy of one table: PostgreSQL is asked which rows have changed, and the copy moves to a newer snapshot.
import type { Reader } from '../columns/collation.ts'
import type { ColumnTable } from '../columns/columnTable.ts'
import { ListSearch, type SearchParts } from '../columns/listSearch.ts'
import { ApiError } from '../errors.ts'
import { Deadlines, QUERY_MS_MAX } from '../execute/deadlines.ts'
import { busyWithLists } from '../execute/listReads.ts'
import { Turns } from '../execute/turns.ts'
import { cellOf, count } from '../metrics/counts.ts'
import type { Entity } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { compileChangedRows, compileQuestion, Snapshot } from './statements.ts'
import type { Moment } from './tableReader.ts'

export interface CopyParts extends SearchParts {
  /** Answers which rows have changed. */
  readonly questions: Reader
  /** Called when the copy cannot be kept current any more. */
  onLost(reason: unknown): void
}

/** The interval between two checks of the table's definition. */
const DEFINITION_MS = 500
/** Columns of an answer in front of the entity's. */
const LEAD = 5
const QUESTIONS = cellOf('questions')
let versions = 0

/** Exactly the rows that one snapshot of PostgreSQL sees, whoever wrote them. docs/memory.md */
export class TableCopy {
  /** Number that differs after each change of a row, and from that of any other copy. */
  version = ++versions
  private isLost = false
  private definitionMs = performance.now()
  private isAsking = false
  /** The lists that wait for the next question. */
  private waiting: PromiseWithResolvers<void> | null = null
  private readonly ownSearch: ListSearch
  private readonly uses = new Turns(1)
  private readonly deadlines = new Deadlines(QUERY_MS_MAX)

  /** `table`: has the rows as of the moment. */
  constructor(
    private readonly entity: Entity,
    private readonly table: ColumnTable,
    private moment: Moment,
    private readonly parts: CopyParts,
  ) {
    this.ownSearch = new ListSearch(entity, table, parts)
  }

  get rows(): number {
    return this.table.rows
  }

  /** Bytes of the kernel's memory and of the program's own. */
  get bytes(): number {
    return this.table.bytes + this.ownSearch.bytes
  }

  /** Finds lists and groups synchronously, as of the copy's snapshot; null: the copy has ended. */
  get search(): ListSearch | null {
    return this.isLost ? null : this.ownSearch
  }

  /**
   * Brings the copy to a snapshot that was taken after this call, or drops it. One question serves all calls that come before
   * it is sent. @throws ApiError as a read of the database does
   */
  refresh(): Promise<void> {
    if (this.waiting === null) {
      this.waiting = Promise.withResolvers()
      // At the end of this turn of the event loop, when all that has arrived is read.
      if (!this.isAsking) setImmediate(this.begin)
    }
    return this.waiting.promise
  }

  private readonly begin = async () => {
    const { resolve, reject } = this.waiting as PromiseWithResolvers<void>
    this.waiting = null
    this.isAsking = true
    const asked = await this.ask().catch((error: ApiError) => error)
    this.isAsking = false
    if (asked === undefined) resolve()
    else reject(asked)
    // Sent once the lists are answered that have waited for this one, so that more of them share a question.
    if (this.waiting !== null) setImmediate(this.begin)
  }

  private async ask() {
    if (this.isLost) return
    count(QUESTIONS)
    try {
      await this.catchUp()
    } catch (error) {
      if (error instanceof ApiError) throw error
      this.lose(error)
    }
  }

  private async catchUp() {
    const { relation, snapshot } = this.moment
    const nowMs = performance.now()
    const asksDefinition = nowMs - this.definitionMs >= DEFINITION_MS
    const { questions } = this.parts
    const [answer] = await questions.read(compileQuestion(relation, snapshot, asksDefinition))
    const [text, state, keptFrom, isChanged, definition] = answer as Row
    if (!this.keepsIfSame(state, keptFrom)) return
    if (asksDefinition && definition !== this.moment.definition) return this.lose('the table was defined anew')
    if (asksDefinition) this.definitionMs = nowMs
    // With an equal snapshot nothing has committed anywhere, whatever lines there are.
    if (text === snapshot.text) return
    if (isChanged === '0') this.moment = { ...this.moment, snapshot: new Snapshot(text as string) }
    else {
      const rows = await questions.read(compileChangedRows(this.entity, relation, snapshot))
      await this.alone('', () => this.take(rows))
    }
  }

  private take(rows: readonly Row[]) {
    const [[text, state, keptFrom, isWhole] = []] = rows
    if (!this.keepsIfSame(state, keptFrom)) return
    if (isWhole === '1') return this.lose('too many rows have changed')
    for (const row of rows) {
      const [id, values] = [row[LEAD - 1] as string | null, row.slice(LEAD)]
      if (id === null) continue
      this.version = ++versions
      if (values[0] === null) this.table.remove(id)
      else this.table.put(values)
    }
    this.moment = { ...this.moment, snapshot: new Snapshot(text as string) }
  }

  /** Drops the copy unless lines of all changes are there still, in the same run of the database and of the same file. */
  private keepsIfSame(state: string | null | undefined, keptFrom: string | null | undefined): boolean {
    const { moment } = this
    const isSame = state === moment.state && keptFrom != null && Number(keptFrom) <= moment.snapshot.oldest
    if (!isSame) this.lose('the table or the database is another, or changes were deleted that the copy has not seen')
    return isSame
  }

  /** Calls `work` when no other work has the copy; until it has ended no row changes. @throws ApiError 503, after 5 seconds */
  async alone<Result>(asker: string, work: () => Promise<Result> | Result): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<() => void>()
    this.uses.take(asker, resolve)
    const release = await this.deadlines.race(promise, busyWithLists).catch((error) => {
      promise.then((release) => release())
      throw error
    })
    try {
      return await work()
    } finally {
      release()
    }
  }

  /** Ends the copy; it finds nothing any more. Its memory is collected with it. */
  release(): void {
    this.isLost = true
    this.version = ++versions
  }

  private lose(reason: unknown) {
    if (this.isLost) return
    this.release()
    this.parts.onLost(reason)
  }
}
