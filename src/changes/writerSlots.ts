import type { Region } from '../os/region.ts'
import { addUnknownOutcome, bumpEpoch, clearWriter, settleUnknownOutcome } from './log.ts'

/** Writes that may have been done, or will be: their connection was lost, or their process has ended. */
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

/** The log's own slot, which belongs to no process; its counter of unknown outcomes stands for processes that have ended. */
const OWN = 0

/**
 * Gives each process its slot in the change log, and fences those whose writes have an unknown outcome.
 *
 * While an outcome is unknown the cache is off on the whole machine. The order: 1. the writer's counter goes up, by the
 * process that gives the write up, or here, in the log's own slot, for a process that has ended; 2. none of its connections
 * is in pg_stat_activity any more; 3. the epoch goes up, so every cache is dropped; 4. the counter goes down. So what is
 * kept afterwards was asked for after the write was done, or undone for good.
 *
 * The slot of a process that has ended is free at once, however many outcomes are unknown: it writes there no more, its
 * flags are of no use while the cache is off, and its unknown outcomes are counted in the log's own slot before its own
 * counter is cleared. So processes that die while PostgreSQL is away do not use the slots up. A process that gets none all
 * the same publishes nothing, and its writes come by NOTIFY only after its clients are answered: while it lives, the log's
 * own counter is up too.
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

  /** Null: none is free, and the cache is off until the process ends. */
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

  /** The process has ended: all its writes have an unknown outcome until its connections are gone. */
  end(process: number): void {
    if (this.others.delete(process)) this.lower(OWN)
    const [ring, holder] = this.find((candidate) => candidate.process === process)
    if (!holder) return
    addUnknownOutcome(this.region, OWN)
    clearWriter(this.region, ring)
    this.holders.delete(ring)
    // All that it has sent has an unknown outcome.
    this.open = this.open.filter((outcome) => outcome.writer !== ring)
    this.note(OWN, holder.connections)
  }

  /** A process has raised its counter for writes over connections of this name, and sends no more over them. */
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

  /** No such connection was left after the outcome had become unknown. */
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
