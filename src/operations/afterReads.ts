import type { Inclusion } from '../changes/inclusion.ts'
import { ApiError } from '../errors.ts'
import type { Positions, Standing } from '../execute/positions.ts'
import type { Position } from '../model/position.ts'
import { monotonicMs } from '../os/clock.ts'
import { withDeadline } from '../os/deadline.ts'
import { parseAfter } from '../parse/after.ts'
import type { Reply } from '../respond/reply.ts'

const HEADER = 'X-Roster-After'
/** So long a read waits for writes of others. */
const WAIT_MS_MAX = 1_000
/** A write of another server is published here within some milliseconds, as a rule: sooner than the database is asked. */
const NEWS_MS_MAX = 20
const LOOK_MS = 2
const ASK_MS = 20

/** Where a list that includes certain writes is to be found; 'database': memory does not have them. */
type Found = 'memory' | 'database'

/** Reads that include what their clients have written before, by whichever server. D54 */
export class AfterReads {
  /** `inclusion`: null where there is no list cache. */
  constructor(
    private readonly positions: Positions,
    private readonly inclusion: Inclusion | null,
  ) {}

  /** Puts the position of a write into its answer. `row`: its transaction stands behind `width` columns. */
  async mark(reply: Reply, headers: Headers, transaction: string): Promise<Reply> {
    const position = await this.positions.of(transaction, this.notIncluded(headers))
    if (position !== null) reply.headers['X-Roster-Position'] = position
    return reply
  }

  /** Where the list is to be found. @throws ApiError InvalidHeader, NotYetThere */
  async list(positions: readonly Position[]): Promise<Found> {
    let found: Found = 'memory'
    const startMs = monotonicMs()
    for (const [position, transaction] of await this.asked(positions))
      if (!(await this.inMemory(position, transaction, startMs))) found = 'database'
    return found
  }

  /** Resolves when the database shows them. @throws ApiError InvalidHeader, NotYetThere */
  async row(positions: readonly Position[]): Promise<void> {
    const startMs = monotonicMs()
    for (const [position, transaction] of await this.asked(positions))
      if (!this.isIncluded(transaction) && !this.positions.shows(transaction))
        await this.shown(position, transaction, startMs)
  }

  /** Of what a write's client has seen written, the transactions that are not known to be here: its position stands for them, too. */
  private notIncluded(headers: Headers): readonly number[] {
    if (!headers.has(HEADER)) return NONE
    try {
      const positions = parseAfter(headers) ?? []
      return positions.flatMap(({ transactions }) => transactions.filter((one) => !this.isIncluded(one)))
    } catch {
      return NONE
    }
  }

  private isIncluded(transaction: number): boolean {
    return this.inclusion === null ? this.positions.shows(transaction) : this.inclusion.has(transaction)
  }

  private async asked(positions: readonly Position[]): Promise<(readonly [Position, number])[]> {
    for (const position of positions) if (!(await this.positions.isOwn(position))) refuse('is of another database')
    return positions.flatMap((position) => position.transactions.map((one) => [position, one] as const))
  }

  /** Whether lists from memory include it; else the database shows it. @throws ApiError InvalidHeader, NotYetThere */
  private async inMemory(position: Position, transaction: number, startMs: number): Promise<boolean> {
    const { inclusion } = this
    if (inclusion === null) {
      if (!this.positions.shows(transaction)) await this.shown(position, transaction, startMs)
      return false
    }
    while (!inclusion.has(transaction)) {
      if (inclusion.isLive && monotonicMs() - startMs < NEWS_MS_MAX) await Bun.sleep(LOOK_MS)
      else return this.learn(inclusion, position, transaction, startMs)
    }
    return true
  }

  private async learn(inclusion: Inclusion, position: Position, transaction: number, startMs: number) {
    const generation = inclusion.now
    const { oldest, logEnd, askedMs } = await this.shown(position, transaction, startMs)
    if (logEnd === null || !(await inclusion.reaches(logEnd, askedMs))) return false
    inclusion.learn(transaction, oldest, generation)
    return true
  }

  /** Asks the database until it shows the write. @throws ApiError InvalidHeader, NotYetThere */
  private async shown(position: Position, transaction: number, startMs: number) {
    const untilMs = startMs + WAIT_MS_MAX
    for (;;) {
      const askedMs = monotonicMs()
      const standing = await withDeadline(this.positions.look(transaction), Math.max(untilMs - askedMs, 1), () => null)
      if (standing?.status === 'committed') return { ...standing, askedMs }
      if (standing !== null && isLost(standing, position)) refuse('names a write that a failover has lost')
      if (monotonicMs() + ASK_MS > untilMs) throw notYetThere()
      await Bun.sleep(ASK_MS)
    }
  }
}

const NONE: readonly number[] = []

/** Whether the write, which was answered, will never be there. What a standby lacks may still come. */
function isLost({ status, isStandby, timeline }: Standing, position: Position): boolean {
  if (isStandby || timeline <= position.timeline) return false
  return status === 'aborted' || status === 'to come'
}

function refuse(problem: string): never {
  const message = `${HEADER} ${problem}; leave it out, or send positions of later answers.`
  throw new ApiError('InvalidHeader', message, { target: HEADER })
}

function notYetThere(): ApiError {
  const message = `The write that ${HEADER} names is not here yet; retry after the seconds in Retry-After.`
  return new ApiError('NotYetThere', message, { target: HEADER, headers: { 'Retry-After': '1' } })
}
