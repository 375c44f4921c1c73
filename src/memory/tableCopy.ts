// The copy of one table: asks PostgreSQL which rows have changed, and moves to newer snapshots. `questionQueue.ts` says when.
import type { Reader } from '../columns/collation.ts'
import type { ColumnTable } from '../columns/columnTable.ts'
import { ApiError } from '../errors.ts'
import { wasEnded } from '../execute/listReads.ts'
import { count, seriesOf } from '../metrics/counts.ts'
import type { Entity } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'
import { yieldEvery } from '../os/time.ts'
import { CHANGES_MAX, compileChangedRows, compileQuestion, Snapshot } from './statements.ts'
import type { LoadedState } from './tableReader.ts'

export interface CopyParts {
  /** Connection for questions about the changed rows of one table. */
  readonly questions: Reader
  /** Called when the copy can no longer be kept current. */
  onLost(error: unknown): void
}

/** Interval between checks of the table's definition. */
const DEFINITION_MS = 500
/** Number of columns of `compileChangedRows` before the columns of the entity. */
const HEADER_COLUMNS = 5
const QUESTIONS = seriesOf('questions')
/** Maximum number of changed rows that a copy applies at once while no list uses it: during its load, or when it is behind. */
const CHANGES_IDLE_MAX = 50_000
/** Time in ms for which changed rows are applied in one turn of the event loop. */
export const APPLY_MS = 5
/** Maximum attempts to catch up with writes. */
const CATCH_UP_MAX = 10
let versions = 0
let copies = 0

/** Thrown when a copy can no longer be kept current. */
export class CopyLost extends Error {}

/** Thrown when more rows have changed than a copy applies at once. */
class TooManyChanges extends CopyLost {}

/** A copy of a table: exactly the rows that one snapshot of PostgreSQL sees, no matter who wrote them. docs/memory.md */
export class TableCopy {
  /** Number of this copy, unique in this process. */
  readonly number = ++copies
  /** Version of the rows: after each change of a row, a new number that no copy has ever had. */
  version = ++versions
  private isLost = false
  /** True if more rows have changed than lists can wait for. PostgreSQL answers lists until the copy has caught up. */
  private isBehind = false
  /** Time of the last check of the definition. The first question checks it, because the load may have taken minutes. */
  private definitionMs = Number.NEGATIVE_INFINITY
  /** Resolves when the changed rows are applied; null while no rows are being applied. */
  private applying: PromiseWithResolvers<void> | null = null

  /** `columns`: the rows in the snapshot of `loaded`. */
  constructor(
    readonly entity: Entity,
    readonly columns: ColumnTable,
    private loaded: LoadedState,
    private readonly parts: CopyParts,
  ) {}

  /** The rows of the copy; null if the copy is lost or behind. They are of one snapshot while `changesApplied` returns null. */
  get table(): ColumnTable | null {
    return this.unusable === null ? this.columns : null
  }

  /** Reason why `table` is null; null if there is a table. */
  get unusable(): 'noCopy' | 'behind' | null {
    if (this.isLost) return 'noCopy'
    return this.isBehind ? 'behind' : null
  }

  /**
   * Returns null while all rows are of one snapshot. While changed rows are being applied, returns a promise that resolves when
   * all are applied. The caller must check this in the same turn of the event loop in which it finds a list, or begins a summary.
   */
  changesApplied(): Promise<void> | null {
    return this.applying?.promise ?? null
  }

  /** The snapshot of the copy, and the state of the table in this snapshot. */
  get moment(): LoadedState {
    return this.loaded
  }

  /**
   * Brings the copy to a newer snapshot, or ends it. If too many rows have changed, the copy falls behind, and the next call
   * catches up. Call this again only after the last call has ended. @throws ApiError
   */
  async ask(): Promise<void> {
    if (this.isLost) return
    count(QUESTIONS)
    try {
      if (this.isBehind) await this.catchUpAfterLoad()
      else await this.catchUp(CHANGES_MAX)
      this.isBehind = false
    } catch (error) {
      const isTooLong = error instanceof ApiError && wasEnded(error)
      if (error instanceof ApiError && !isTooLong) throw error
      if ((isTooLong || error instanceof TooManyChanges) && !this.isBehind) this.isBehind = true
      else this.lose(isTooLong ? new CopyLost('PostgreSQL takes too long to find what has changed') : error)
    }
  }

  /** Catches up with many writes while no list uses the copy. @throws CopyLost, ApiError, KernelFull */
  async catchUpAfterLoad(): Promise<void> {
    for (let left = CATCH_UP_MAX; (await this.catchUp(CHANGES_IDLE_MAX)) > CHANGES_MAX / 2; left--)
      if (left === 0) throw new CopyLost('rows change faster than they can be read')
  }

  /** Moves the copy to a newer snapshot. Returns the number of rows that PostgreSQL has sent; 0 if nothing has changed. */
  private async catchUp(changesMax: number): Promise<number> {
    const { relation, snapshot } = this.loaded
    const nowMs = performance.now()
    const asksDefinition = this.isDefinitionDue(nowMs)
    const { questions } = this.parts
    const [answer] = await questions.read(compileQuestion(this.entity, relation, snapshot, asksDefinition))
    const [text, state, keptFrom, isChanged, definition] = answer as Row
    this.requireSame(state, keptFrom)
    if (asksDefinition) this.requireDefinition(definition, nowMs)
    // If the snapshots are equal, no transaction was committed between them, so no row has changed.
    if (text === snapshot.text) return 0
    if (isChanged === '0') {
      this.moveTo(text as string)
      return 0
    }
    const rows = await questions.read(compileChangedRows(this.entity, relation, snapshot, changesMax))
    await this.apply(rows)
    return rows.length
  }

  /**
   * Applies changed rows, a few in each turn of the event loop. If a row cannot be applied, the copy has rows of several
   * snapshots: lists wait until `release` ends the copy. @throws KernelFull, TextsCollide
   */
  private async apply(rows: readonly Row[]) {
    const [[text, state, keptFrom, isWhole] = []] = rows
    this.requireSame(state, keptFrom)
    if (isWhole === '1') throw new TooManyChanges('too many rows have changed')
    this.beginApplying()
    const turn = yieldEvery(APPLY_MS)
    for (const row of rows) {
      const id = row[HEADER_COLUMNS - 1] as string | null
      if (id === null) continue
      this.applyRow(id, row.slice(HEADER_COLUMNS))
      const pause = turn()
      if (pause !== null) await pause
    }
    this.endApplying(text as string)
  }

  /** Begins to apply changed rows. From now on rows are of several snapshots, until `endApplying` or the end of the copy. */
  beginApplying(): void {
    this.applying = Promise.withResolvers()
  }

  /**
   * Applies a changed row. `values`: values of its columns; the first is null if the row was deleted. @throws KernelFull,
   * TextsCollide
   */
  applyRow(id: string, values: Row): void {
    this.version = ++versions
    if (values[0] === null) this.columns.remove(id)
    else this.columns.put(values)
  }

  /** Notes that all changed rows are applied, so that the copy is of this snapshot. */
  endApplying(snapshot: string): void {
    this.moveTo(snapshot)
    this.columns.texts.placeNew()
    this.stopApplying()
  }

  /** Notes that the rows are also those of this newer snapshot. */
  moveTo(snapshot: string): void {
    this.loaded = { ...this.loaded, snapshot: new Snapshot(snapshot) }
  }

  private stopApplying() {
    this.applying?.resolve()
    this.applying = null
  }

  /** Returns whether the next question must also check the table's definition. */
  isDefinitionDue(nowMs: number): boolean {
    return nowMs - this.definitionMs >= DEFINITION_MS
  }

  /** Makes the next question also check the table's definition. */
  checkDefinition(): void {
    this.definitionMs = Number.NEGATIVE_INFINITY
  }

  /** Requires that the definition is the same as during the load. `nowMs`: when PostgreSQL was asked. @throws CopyLost */
  requireDefinition(definition: string | null | undefined, nowMs: number): void {
    if (definition !== this.loaded.definition) throw new CopyLost('the table was defined anew')
    this.definitionMs = nowMs
  }

  /**
   * Requires that the run of change lines, the table's file and the rights are the same as during the load, and that no change
   * line was deleted before the copy has seen it. @throws CopyLost
   */
  requireSame(state: string | null | undefined, keptFrom: string | null | undefined): void {
    const { loaded } = this
    if (state !== loaded.state || keptFrom == null || Number(keptFrom) > loaded.snapshot.oldest)
      throw new CopyLost('the table, the database or a right is another, or changes were deleted that the copy has not seen')
  }

  /** Ends the copy, because it can no longer be kept current, and calls `onLost`. */
  lose(error: unknown): void {
    if (this.isLost) return
    this.release()
    this.parts.onLost(error)
  }

  /** Ends the copy; `table` is null from now on. The garbage collector frees its memory. */
  release(): void {
    this.isLost = true
    this.version = ++versions
    this.columns.end()
    this.stopApplying()
  }
}
