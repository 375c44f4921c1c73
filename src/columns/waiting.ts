import type { Change } from '../changes/change.ts'
import type { Row } from '../model/sql.ts'

/** Changes of which the one that they follow has not come yet, by the row's id. */
export class Waiting {
  private readonly changes = new Map<string, Change[]>()

  /** Rows of which changes wait. */
  get size(): number {
    return this.changes.size
  }

  /**
   * Takes a change of a row; `follow` puts one into effect, and is false where the row is not as the change found it. Those that
   * wait are tried again after each that was put in.
   */
  take(id: string, change: Change, follow: (id: string, change: Change) => boolean): void {
    const changes = this.changes.get(id)
    if (!changes) {
      if (!follow(id, change) && !leadsBack([change])) this.changes.set(id, [change])
      return
    }
    changes.push(change)
    for (let at = 0; at < changes.length; )
      if (follow(id, changes[at] as Change)) {
        changes.splice(at, 1)
        at = 0
      } else at++
    // What leads back to where it began changes nothing, and might wait for ever.
    if (leadsBack(changes)) this.changes.delete(id)
  }

  /** The rows that come by what waits, by 1, and those that go, by -1. */
  *rows(): Generator<[row: Row, by: number]> {
    for (const changes of this.changes.values())
      for (const { before, after } of changes) {
        if (before !== null) yield [before, -1]
        if (after !== null) yield [after, 1]
      }
  }

  forget(): void {
    this.changes.clear()
  }
}

/** Whether as many rows of each content come as go. */
function leadsBack(changes: readonly Change[]): boolean {
  const sums = new Map<string, number>()
  for (const { before, after } of changes)
    for (const [row, by] of [
      [before, -1],
      [after, 1],
    ] as const) {
      const content = JSON.stringify(row)
      sums.set(content, (sums.get(content) ?? 0) + by)
    }
  return [...sums.values()].every((sum) => sum === 0)
}
