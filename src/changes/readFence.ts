import { compileSnapshot } from '../compile/list.ts'
import type { Database } from '../execute/database.ts'
import type { Inclusion } from './inclusion.ts'
import { type InFlightWrites, type Seen, seenBy, versionOf } from './settling.ts'
import { Snapshot } from './snapshot.ts'

/** What was seen was written before `transaction`; all before `ended`, which is none earlier, had ended by then. */
export interface SeenBefore {
  readonly transaction: number
  readonly ended: number
}

/**
 * Holds an answer of the database back until the writes that it may show are published, so that no list from memory, of
 * any process, is without them afterwards: one client's reads never go back. Waits at most as long as `InFlightWrites` does.
 */
export class ReadFence {
  constructor(
    private readonly database: Database,
    private readonly inFlight: InFlightWrites,
    private readonly inclusion: Inclusion,
  ) {}

  /**
   * For one row. `xmin`: the transaction that wrote it, modulo 2^32; `copied`: the tableMask that it copies from, whose
   * renames it may show though another transaction wrote it. True: at once.
   */
  row(tableMask: number, copied: number, xmin: string): Promise<unknown> | true {
    if (this.inFlight.isEmpty(tableMask)) return true
    if (copied !== 0 && this.inFlight.areTogether(tableMask, copied)) return this.rows(tableMask, null)
    return this.inFlight.settled(tableMask, versionOf(xmin))
  }

  /** For rows that were read under the snapshot of this text; null: under an earlier one than that of now. */
  async rows(tableMask: number, text: string | null): Promise<void> {
    if (this.inFlight.isEmpty(tableMask)) return
    await this.inFlight.settled(tableMask, text === null ? await this.now() : seenBy(new Snapshot(text)))
  }

  /** For all that was written to these tables, by other servers and programs too; where `seen` says so, for no more than it says. */
  async all(tableMask: number, seen: SeenBefore | null): Promise<void> {
    const { inclusion } = this
    const known = seen === null ? inclusion.settled() : inclusion.settledBefore(seen.transaction, seen.ended)
    await Promise.all([this.rows(tableMask, null), known])
  }

  private async now(): Promise<Seen> {
    const [row] = await this.database.read(compileSnapshot())
    return seenBy(new Snapshot(row?.[0] as string))
  }
}
