import type { Region } from '../os/region.ts'
import { addUnknownOutcome, bumpEpoch, clearWriter, settleUnknownOutcome } from './log.ts'

/** Writes of which nobody knows whether they were done, or will be. */
export interface UnknownOutcome {
  /** What sent them: connections of this name, or, of a process that has ended, all whose names begin so. */
  readonly connections: string
  /** Whose word in the log says so. */
  readonly writer: number
}

interface Holder {
  readonly process: number
  readonly connections: string
}

/** The log's own ring, which belongs to no process; its word of unknownOutcomes stands for those that have ended. */
const OWN = 0

/**
 * Which process has which ring of the log, and what is in outcome of its writes.
 *
 * While anything is, nobody tells anything from memory: the words that say so are in the log itself. A process that gives
 * up a write has raised its own before anybody hears of it from there; for one that has ended the log's own is raised
 * here. A outcome is settled when no connection is left that could still do something: then all forget what they knew, and
 * only then the word goes down. So nothing that is told afterwards was asked for before the write was done, or undone for
 * good.
 *
 * The ring of a process that has ended is free at once, however many unknownOutcomes are open: it writes there no more, its marks
 * are of no use while lists come from the database, and what is in outcome of it is in the log's own word before its own
 * is cleared. So those that die while PostgreSQL is away do not use the rings up. A process that gets none all the same
 * writes what this log is not told of, and is heard of only some time after its clients are answered: while it lives, the
 * log's own word is up too.
 */
export class WriterSlots {
  private readonly holders = new Map<number, Holder>()
  /** Processes without a ring. */
  private readonly others = new Set<number>()
  private open: UnknownOutcome[] = []

  /** Rings from 1 to `last` are given away. */
  constructor(
    private readonly region: Region,
    private readonly last: number,
  ) {}

  /** Null: none is free, and lists come from the database until the process ends. */
  take(process: number, connections: string): number | null {
    for (let ring = OWN + 1; ring <= this.last; ring++) {
      if (this.holders.has(ring)) continue
      this.holders.set(ring, { process, connections })
      return ring
    }
    this.others.add(process)
    addUnknownOutcome(this.region, OWN)
    return null
  }

  /** The process has ended, and who it was is all that is known. */
  end(process: number): void {
    if (this.others.delete(process)) this.lower(OWN)
    const [ring, holder] = this.find((candidate) => candidate.process === process)
    if (!holder) return
    addUnknownOutcome(this.region, OWN)
    clearWriter(this.region, ring)
    this.holders.delete(ring)
    // All it has ever sent is in outcome.
    this.open = this.open.filter((outcome) => outcome.writer !== ring)
    this.note(OWN, holder.connections)
  }

  /** A process has raised its word for writes over connections of this name, and sends no more over them. */
  disown(connections: string): void {
    const [ring, holder] = this.find((candidate) => connections.startsWith(`${candidate.connections}/`))
    if (holder) this.note(ring, connections)
  }

  get unknownOutcomes(): readonly UnknownOutcome[] {
    return this.open
  }

  /** Whether a process runs without a ring. */
  get areTooFew(): boolean {
    return this.others.size > 0
  }

  /** There was no such connection any more, after the outcome had come up. */
  settle(outcome: UnknownOutcome): void {
    if (!this.open.includes(outcome)) return
    this.open = this.open.filter((other) => other !== outcome)
    this.lower(outcome.writer)
  }

  private lower(writer: number) {
    bumpEpoch(this.region)
    settleUnknownOutcome(this.region, writer)
  }

  private note(writer: number, connections: string) {
    this.open = [...this.open, { writer, connections }]
  }

  private find(isSought: (holder: Holder) => boolean): [ring: number, holder: Holder | null] {
    for (const [ring, holder] of this.holders) if (isSought(holder)) return [ring, holder]
    return [OWN, null]
  }
}
