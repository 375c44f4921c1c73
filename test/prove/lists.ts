import { Random } from '../support/random.ts'
import { type Asked, hasPaths, isSummary, randomAsked } from './lists/asked.ts'
import { checkCursors, checkExactly, checkSanity, Findings, inParallel } from './lists/check.ts'
import { Cluster, type Name } from './lists/cluster.ts'
import { type Fault, faults } from './lists/faults.ts'
import type { List } from './lists/randomList.ts'
import { proveStates } from './lists/states.ts'
import { fill, type Ids, readIds, writeOnce, writeOutside } from './lists/writes.ts'

interface Options {
  readonly seed: number
  /** Number of absences, most of which no client writes. From some 10,000 on, pages are found by indexes. */
  readonly rows: number
  /** Number of rounds with one write, or several at once, before lists are checked. */
  readonly alone: number
  /** Number of rounds, of a second each, in which many clients write and list. */
  readonly together: number
  /** Names of faults, or number of faults to draw. */
  readonly faults: number | readonly FaultName[]
  /** Number of periods with one writer and many readers, in which all possible answers are known. */
  readonly states: number
  readonly statesForMs: number
  /**
   * Minimum number of lists to check in such periods; for summaries, a tenth of it. Periods are added until both are reached.
   * Default: 0.
   */
  readonly listsMin?: number
  /** True if memory answers lists with paths, too, and not only the database. */
  readonly arePathsInMemory?: boolean
}

export interface Proof {
  readonly counts: Record<string, number>
  /** Differences, one per line; there must be none. */
  readonly differences: readonly string[]
  /** Share of repeated lists that are answered while no server can read the tables. */
  readonly remembered: number
  /** Shares of lists and of summaries that memory answered during writes, after it had loaded the tables, and before faults. */
  readonly fromMemory: { readonly lists: number; readonly summaries: number }
}

type FaultName = keyof typeof faults

/** Number of lists in rotation; sometimes one is replaced. */
const LISTS = 40
const TOGETHER_MS = 1_000
/** Pause in ms before another request to a server that was unreachable. */
const GONE_MS = 20
/** Number of requests for each list, so that nearly always every worker gets one. */
const ASKED = 6
const LOCKED_MS = 1_000

/** Sends random writes and lists to a server of two workers, and checks every answer. */
export async function proveLists(options: Options): Promise<Proof> {
  const cluster = await Cluster.open()
  try {
    await fill(cluster, options.rows)
    const prover = new Prover(cluster, new Random(options.seed))
    const { findings } = prover
    for (let round = 0; round < options.alone; round++) await prover.alone(round)
    for (let round = 0; round < options.together; round++) await prover.together(`together ${round}`)
    const { states, statesForMs, listsMin = 0, arePathsInMemory = false } = options
    const remembered = await prover.remembered(arePathsInMemory)
    const before = await cluster.origins()
    const isEnough = () => {
      const { states: lists = 0, 'states of summaries': summaries = 0 } = findings.counts
      return lists >= listsMin && summaries >= listsMin / 10
    }
    for (let round = 0; round < states || !isEnough(); round++) await prover.states(`states ${round}`, statesForMs)
    const fromMemory = sharesOf(before, await cluster.origins())
    for (const name of prover.chosen(options.faults)) await prover.together(name, faults[name])
    return {
      counts: { ...findings.counts, ...(await cluster.origins()) },
      differences: findings.differences,
      remembered,
      fromMemory,
    }
  } finally {
    await cluster.close()
  }
}

/**
 * Returns the shares that memory answered between two results of `origins`. Summaries do not count if memory lacks their values:
 * the sums of some decimals of the proof do not fit into 64 bits.
 */
function sharesOf(before: Record<string, number>, after: Record<string, number>): Proof['fromMemory'] {
  const added = (name: string) => (after[name] ?? 0) - (before[name] ?? 0)
  const share = (what: 'lists' | 'summaries') => {
    const answered = added(`${what}, kept`) + added(`${what}, memory`)
    const others = added(`${what}, database`) - (what === 'summaries' ? added('summaries, database: values') : 0)
    return answered / Math.max(answered + others, 1)
  }
  return { lists: share('lists'), summaries: share('summaries') }
}

/** Servers that clients write to and read from. */
const SERVERS = ['cached', 'elsewhere'] as const
/** Time in ms for which clients go on before a fault, and at most after it. */
const AROUND_MS = 300

class Prover {
  readonly findings = new Findings()
  private readonly lists: Asked[]
  constructor(
    private readonly cluster: Cluster,
    private readonly random: Random,
  ) {
    this.lists = Array.from({ length: LISTS }, () => randomAsked(this.random))
  }

  /** Returns the named faults, or a number of random faults. */
  chosen(wanted: number | readonly FaultName[]): readonly FaultName[] {
    const names = Object.keys(faults) as FaultName[]
    return typeof wanted === 'number' ? Array.from({ length: wanted }, () => this.random.pick(names)) : wanted
  }

  /** Runs one writer and many readers, so that the possible answers are known. */
  states(moment: string, forMs: number): Promise<void> {
    return proveStates(this.cluster, this.random, this.findings, { moment, forMs })
  }

  /** Sends a write, or several at once. When they are answered, lists of every worker must show them. */
  async alone(round: number): Promise<void> {
    const ids = await readIds(this.cluster)
    const writes = this.random.chance(60) ? 1 : 2 + this.random.below(20)
    await Promise.all(Array.from({ length: writes }, () => this.write(ids)))
    await this.check(`round ${round}, ${writes} writes`, 4 + this.random.below(6))
  }

  /**
   * Runs writes of clients and of other programs at the same time as lists. Then waits until all writes have ended, and checks
   * lists.
   */
  async together(moment: string, fault?: Fault): Promise<void> {
    const { cluster, random, findings } = this
    const ids = await readIds(cluster)
    findings.count('together')
    let isOver = false
    const untilOver = async (work: () => Promise<void>) => {
      while (!isOver) await work()
    }
    const ended = Promise.all([
      ...[...SERVERS, ...SERVERS].map((server) => untilOver(() => this.write(ids, server))),
      ...[...SERVERS, ...SERVERS].map((server) => untilOver(() => this.sampleLists(server))),
      untilOver(() => writeOutside(cluster, random, findings)),
    ])
    await Bun.sleep(fault ? AROUND_MS : TOGETHER_MS)
    await fault?.(cluster, random)
    if (fault) await Bun.sleep(random.below(AROUND_MS))
    isOver = true
    await cluster.settled(ended)
    // No earlier request is still in flight.
    if (fault) await cluster.untilAnswered()
    // The driver can reject the first statement over a new connection with the end of the old connection.
    await cluster.settled(Promise.allSettled(Array.from({ length: 20 }, () => cluster.sql`select 1`)))
    await cluster.untilQuiet()
    await this.check(`after ${moment}`, LISTS)
  }

  /** Returns the share of repeated lists that are answered while the tables are locked. */
  async remembered(arePathsInMemory: boolean): Promise<number> {
    const { cluster } = this
    const lists = this.lists.filter((asked) => arePathsInMemory || !hasPaths(asked))
    const asks = (times: number) => lists.flatMap(({ path }) => Array.from({ length: times }, () => path))
    await inParallel(asks(ASKED), 8, async (path) => void (await cluster.ask(path)))
    let answered = 0
    await cluster.sql.begin(async (transaction) => {
      await transaction`lock table company, employee, absence in access exclusive mode`
      const ask = (path: string) => cluster.ask(path).then(({ status }) => void (answered += Number(status === 200)))
      let isOver = false
      const all = Promise.all(asks(2).map(ask)).then(() => (isOver = true))
      // Waits until no more lists are answered: lists that need the lock wait, and others take time on a busy machine.
      for (let before = -1; !isOver && before < answered; ) {
        before = answered
        await Promise.race([all, Bun.sleep(LOCKED_MS)])
      }
    })
    return answered / (2 * lists.length)
  }

  private async write(ids: Ids, server?: Name) {
    const status = await writeOnce(this.cluster, this.random, ids, this.findings, this.random.chance(50), server)
    if (status === 0) await Bun.sleep(GONE_MS)
  }

  private async sampleLists(server: Name) {
    const list = this.random.pick(this.lists)
    const answer = await this.cluster.ask(list.path, 'GET', undefined, server)
    this.findings.count(`list ${answer.status}`)
    if (answer.status === 0) await Bun.sleep(GONE_MS)
    if (answer.status === 200) checkSanity(list, answer, this.findings)
  }

  private async check(moment: string, count: number) {
    const { cluster, random, lists, findings } = this
    if (random.chance(50)) lists[random.below(LISTS)] = randomAsked(random)
    const checked = count >= LISTS ? lists : Array.from({ length: count }, () => random.pick(lists))
    await checkExactly(cluster, SERVERS, checked, findings, moment)
    const list = random.pick(lists.filter((asked): asked is List => !isSummary(asked)))
    if (random.chance(20)) await checkCursors(cluster, random, list, findings, moment)
  }
}
