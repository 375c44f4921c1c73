// Answers of writes: which of the written rows the key may read.
import { readableTest } from '../compile/checkedGuard.ts'
import { compileReadable } from '../compile/comparisons.ts'
import type { Database } from '../execute/database.ts'
import type { Entity } from '../model/entity.ts'
import type { View } from '../model/view.ts'
import type { Written } from './idempotency.ts'

/** Finds the view of each row that a write has written. */
export class WrittenRows {
  constructor(
    private readonly entity: Entity,
    private readonly database: Database,
  ) {}

  /**
   * Returns how the answer shows each row; null: by its id alone. `view`: the present view of the key; null: it reads nothing.
   */
  async viewsOf(written: Written, view: View | null): Promise<(View | null)[]> {
    const { rows, isReplayed } = written
    if (view === null || view.filters.length === 0) return rows.map(() => view)
    if (isReplayed) return this.viewsOfReplayed(written, view)
    const isReadable = readableTest(view)
    return rows.map((row) => (isReadable(row) ? view : null))
  }

  /** A stored answer has the row as it was: it is shown if the key may read the row now, and could have read it then. */
  private async viewsOfReplayed({ rows }: Written, view: View): Promise<(View | null)[]> {
    const found = await this.database.read(compileReadable(this.entity, view.filters, rows))
    const readable = new Set(found.map(([number]) => Number(number)))
    return rows.map((_, index) => (readable.has(index + 1) ? view : null))
  }
}
