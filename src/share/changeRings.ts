import { addDoubt, bumpEpoch, clearWriter, settleDoubt } from './changeLog.ts'
import type { Region } from './region.ts'

/** Writes of which nobody knows whether they were done, or will be. */
export interface Doubt {
  /** What sent them: connections of this name, or, of a process that has ended, all whose names begin so. */
  readonly connections: string
  readonly ring: number
}

interface Holder {
  readonly process: number
  readonly connections: string
  hasEnded: boolean
}

/**
 * Which process has which ring of the log, and what is in doubt of its writes.
 *
 * While anything is, nobody tells anything from memory: the words that say so are in the log itself. A process that gives
 * up a write has raised its own before anybody hears of it from there; for one that has ended it is raised here. A doubt
 * is settled when no connection is left that could still do something: then all forget what they knew, and only then the
 * word goes down. So nothing that is told afterwards was asked for before the write was done, or undone for good. A ring
 * has a new owner only when there is no doubt about the old one.
 */
export class ChangeRings {
  private readonly holders = new Map<number, Holder>()
  private open: Doubt[] = []

  /** Rings from 1 to `last` are given away. */
  constructor(
    private readonly region: Region,
    private readonly last: number,
  ) {}

  /** Null: none is free. */
  take(process: number, connections: string): number | null {
    for (let ring = 1; ring <= this.last; ring++) {
      if (this.holders.has(ring)) continue
      this.holders.set(ring, { process, connections, hasEnded: false })
      return ring
    }
    return null
  }

  /** The process has ended, and who it was is all that is known. */
  end(process: number): void {
    const [ring, holder] = this.find((candidate) => candidate.process === process)
    if (!holder) return
    holder.hasEnded = true
    addDoubt(this.region, ring)
    this.open = this.open.filter((doubt) => doubt.ring !== ring)
    this.note(ring, holder.connections)
  }

  /** A process has raised its word for writes over connections of this name, and sends no more over them. */
  disown(connections: string): void {
    const [ring, holder] = this.find((candidate) => connections.startsWith(`${candidate.connections}/`))
    // Once it has ended, all it has ever sent is in doubt.
    if (holder && !holder.hasEnded) this.note(ring, connections)
  }

  get doubts(): readonly Doubt[] {
    return this.open
  }

  /** There was no such connection any more, after the doubt had come up. */
  settle(doubt: Doubt): void {
    if (!this.open.includes(doubt)) return
    this.open = this.open.filter((other) => other !== doubt)
    bumpEpoch(this.region)
    if (this.holders.get(doubt.ring)?.hasEnded) {
      clearWriter(this.region, doubt.ring)
      this.holders.delete(doubt.ring)
    } else settleDoubt(this.region, doubt.ring)
  }

  private note(ring: number, connections: string) {
    this.open = [...this.open, { ring, connections }]
  }

  private find(isSought: (holder: Holder) => boolean): [ring: number, holder: Holder | null] {
    for (const [ring, holder] of this.holders) if (isSought(holder)) return [ring, holder]
    return [0, null]
  }
}
