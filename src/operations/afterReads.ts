import type { Inclusion } from '../changes/inclusion.ts'
import { ApiError } from '../errors.ts'
import type { Positions, Standing } from '../execute/positions.ts'
import { type Position, TRANSACTIONS_MAX } from '../model/position.ts'
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
/** So long a list waits for news of what the database shows before the database finds it. */
const REACH_MS_MAX = 250
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
    const others = headers.has(HEADER) ? await this.notIncluded(headers).catch(() => null) : NONE
    // Without one the client's own positions stay as they are, and its write is done all the same.
    const position = others && (await this.positions.of(transaction, others))
    if (position !== null) reply.headers['X-Roster-Position'] = position
    return reply
  }

  /** Where the list is to be found. @throws ApiError InvalidHeader, NotYetThere */
  async list(positions: readonly Position[]): Promise<Found> {
    const { inclusion } = this
    await this.requireOwn(positions)
    const startMs = monotonicMs()
    while (inclusion?.isLive) {
      const left = rest(positions, (_, one) => inclusion.has(one))
      if (left.length === 0) return 'memory'
      if (monotonicMs() - startMs >= NEWS_MS_MAX) return this.learn(inclusion, left, startMs)
      await Bun.sleep(LOOK_MS)
    }
    await this.shown(this.notShown(positions), startMs)
    return 'database'
  }

  /** Resolves when the database shows them. @throws ApiError InvalidHeader, NotYetThere */
  async row(positions: readonly Position[]): Promise<void> {
    await this.requireOwn(positions)
    await this.shown(this.notShown(positions), monotonicMs())
  }

  /**
   * Of what a write's client has seen written, that which is not known to be here: its position stands for them, too. Where that would
   * be too many, waits until those are here that the database shows.
   */
  private async notIncluded(headers: Headers): Promise<readonly Position[]> {
    const { inclusion } = this
    const positions = positionsOf(headers)
    const left = rest(positions, (position, one) => inclusion?.has(one) ?? this.positions.shows(position, one))
    if (countOf(left) < TRANSACTIONS_MAX) return left
    const { statuses } = await this.positions.look(transactionsOf(left))
    await inclusion?.settled()
    const shown = new Set(transactionsOf(left).filter((_, index) => statuses[index] === 'committed'))
    return rest(left, (_, one) => shown.has(one))
  }

  /** Without those that are known to be there. */
  private notShown(positions: readonly Position[]): readonly Position[] {
    return rest(positions, (position, one) => this.positions.shows(position, one) || this.inclusion?.has(one) === true)
  }

  private async requireOwn(positions: readonly Position[]) {
    for (const position of positions) if (!(await this.positions.isOwn(position))) refuse('is of another database')
  }

  private async learn(inclusion: Inclusion, left: readonly Position[], startMs: number): Promise<Found> {
    const generation = inclusion.now
    const { oldest, logEnd, sinceMs } = await this.shown(left, startMs)
    const untilMs = Math.min(monotonicMs() + REACH_MS_MAX, startMs + WAIT_MS_MAX)
    if (logEnd === null || !(await inclusion.reaches(logEnd, sinceMs, untilMs))) return 'database'
    inclusion.learn(transactionsOf(left), oldest, generation)
    return 'memory'
  }

  /** Asks the database until it shows the writes. @throws ApiError InvalidHeader, NotYetThere */
  private async shown(positions: readonly Position[], startMs: number): Promise<Shown> {
    if (positions.length === 0) return NOTHING
    const transactions = transactionsOf(positions)
    const untilMs = startMs + WAIT_MS_MAX
    for (;;) {
      const leftMs = Math.max(untilMs - monotonicMs(), 1)
      const standing = await withDeadline(this.positions.look(transactions), leftMs, () => null)
      if (standing?.statuses.every((status) => status === 'committed')) return { ...standing, sinceMs: monotonicMs() }
      if (standing !== null && isLost(standing, positions)) refuse('names a write that a failover has lost')
      if (monotonicMs() + ASK_MS > untilMs) throw notYetThere()
      await Bun.sleep(ASK_MS)
    }
  }
}

/** What was shown, and since when it has been: news that were asked for later have all of it. */
interface Shown extends Pick<Standing, 'oldest' | 'logEnd'> {
  readonly sinceMs: number
}

const NONE: readonly Position[] = []
const NOTHING: Shown = { oldest: 0, logEnd: null, sinceMs: 0 }

/** What a request brings; none where it is wrong: a write is done all the same. */
function positionsOf(headers: Headers): readonly Position[] {
  try {
    return parseAfter(headers) ?? NONE
  } catch {
    return NONE
  }
}

/** The positions without the transactions that are there; without those that have none left. */
function rest(
  positions: readonly Position[],
  isThere: (position: Position, transaction: number) => boolean,
): readonly Position[] {
  return positions
    .map((position) => ({ ...position, transactions: position.transactions.filter((one) => !isThere(position, one)) }))
    .filter(({ transactions }) => transactions.length > 0)
}

function transactionsOf(positions: readonly Position[]): readonly number[] {
  return positions.flatMap(({ transactions }) => transactions)
}

function countOf(positions: readonly Position[]): number {
  return new Set(transactionsOf(positions)).size
}

/** Whether one of the writes, which were answered, will never be there. What a standby lacks may still come. */
function isLost({ statuses, isStandby, timeline }: Standing, positions: readonly Position[]): boolean {
  if (isStandby) return false
  const asked = positions.flatMap((position) => position.transactions.map(() => position))
  return statuses.some(
    (status, index) => (status === 'aborted' || status === 'to come') && (asked[index] as Position).timeline < timeline,
  )
}

function refuse(problem: string): never {
  const message = `${HEADER} ${problem}; leave it out, or send positions of later answers.`
  throw new ApiError('InvalidHeader', message, { target: HEADER })
}

function notYetThere(): ApiError {
  const message = `The write that ${HEADER} names is not here yet; retry after the seconds in Retry-After.`
  return new ApiError('NotYetThere', message, { target: HEADER, headers: { 'Retry-After': '1' } })
}
