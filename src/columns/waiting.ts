import type { Change } from '../changes/change.ts'
import type { Row } from '../model/sql.ts'

/** Changes of one row, of which the first has come at `sinceMs`. */
interface Queue {
  readonly sinceMs: number
  readonly changes: Change[]
}

/** Changes of which the one that they follow has not come yet, by the row's id. */
export class Waiting {
  private readonly queues = new Map<string, Queue>()

  /** Rows of which changes wait. */
  get size(): number {
    return this.queues.size
  }

  /** Of `performance.now()`: since when a row has had changes that wait, of the first of them; null: there are none. */
  get sinceMs(): number | null {
    for (const { sinceMs } of this.queues.values()) return sinceMs
    return null
  }

  /**
   * Takes a change of a row; `follow` puts one into effect, and is false where the row is not as the change found it. Those that
   * wait are tried again after each that was put in.
   */
  take(id: string, change: Change, follow: (id: string, change: Change) => boolean): void {
    const changes = this.queues.get(id)?.changes
    if (!changes) {
      if (!follow(id, change) && !leadsBack([change]))
        this.queues.set(id, { sinceMs: performance.now(), changes: [change] })
      return
    }
    changes.push(change)
    for (let at = 0; at < changes.length; )
      if (follow(id, changes[at] as Change)) {
        changes.splice(at, 1)
        at = 0
      } else at++
    // What leads back to where it began changes nothing, and might wait for ever.
    if (leadsBack(changes)) this.queues.delete(id)
  }

  /** The rows that come by what waits, by 1, and those that go, by -1. */
  *rows(): Generator<[row: Row, by: number]> {
    for (const { changes } of this.queues.values())
      for (const { before, after } of changes) {
        if (before !== null) yield [before, -1]
        if (after !== null) yield [after, 1]
      }
  }

  forget(): void {
    this.queues.clear()
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
