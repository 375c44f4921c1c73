// Finds the rows that values of a file stand for, such as a company by its name. Runs in browsers, too.
import { nearestOf } from '../model/nearest.ts'
import { nearKey } from './nearValues.ts'

/** Ids of the rows of a table by one of their values. */
export class ReferenceValues {
  private readonly ids = new Map<string, string[]>()
  private readonly nearest: { readonly all: readonly string[]; readonly byKey: ReadonlyMap<string, string> } | null

  /** Takes the known rows. `isWhole`: true if these are all rows of the table, so that the nearest value can be named. */
  constructor(rows: readonly { readonly value: string | null; readonly id: string }[], isWhole: boolean) {
    for (const { value, id } of rows) {
      if (value === null) continue
      const ids = this.ids.get(value)
      if (ids === undefined) this.ids.set(value, [id])
      else ids.push(id)
    }
    const all = [...this.ids.keys()]
    this.nearest = isWhole ? { all, byKey: new Map(all.map((value) => [nearKey(value), value])) } : null
  }

  /** Returns the ids of the rows that have the value. */
  idsOf(value: string): readonly string[] {
    return this.ids.get(value) ?? []
  }

  /** Returns the known value that is nearest to a value which no row has; null if no value is near, or not all rows are known. */
  nearestTo(value: string): string | null {
    if (this.nearest === null) return null
    return this.nearest.byKey.get(nearKey(value)) ?? nearestOf(value, this.nearest.all)
  }
}
