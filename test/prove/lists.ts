import { until } from '../support/process.ts'
import { Random } from '../support/random.ts'
import { MarkedRows } from './lists/bounds.ts'
import { checkCursors, checkExactly, checkSanity, Findings, inParallel } from './lists/check.ts'
import { Cluster } from './lists/cluster.ts'
import { type Fault, faults } from './lists/faults.ts'
import { lagOf } from './lists/lag.ts'
import { type List, randomList } from './lists/randomList.ts'
import { faultsAtAnyMoment } from './lists/states/faultsAtAnyMoment.ts'
import { fillMany, proveStates } from './lists/states/phase.ts'
import { fill, type Ids, readIds, writeOnce, writeOutside } from './lists/writes.ts'

interface Options {
  readonly seed: number
  /** Of the server, beside what the proof needs. */
  readonly environment?: Record<string, string>
  /** Rounds in which one thing happens after another. */
  readonly alone: number
  /** Rounds of a second in which many clients write and list. */
  readonly together: number
  /** Writes from elsewhere whose showing is timed. */
  readonly outside: number
  /** Names of faults, or how many are drawn. */
  readonly faults: number | readonly string[]
  /** Times in which one writes and many read, so that it is known what each answer has to be. */
  readonly states: number
  readonly statesForMs: number
  /** More of these, until so many lists were asked for after a write that changed them. Default: 0. */
  readonly freshMin?: number
  /** The same of those under which one writes and many read. */
  readonly faultsAtAnyMoment: number | readonly string[]
}

export interface Proof {
  readonly counts: Record<string, number>
  /** Each in a line; none is what has to be. */
  readonly differences: readonly string[]
  /** Milliseconds after a commit elsewhere at which the last list was asked for that did not show it, in order. */
  readonly lagsMs: readonly number[]
  /** Of the lists that are asked for again, the share that is answered while no server can read the tables. */
  readonly remembered: number
}

/** So many lists are asked for in turns, and now and then one of them is exchanged for another. */
const LISTS = 40
const TOGETHER_MS = 1_000
const MOVED_MIN = 10
/** After this everything that was committed has arrived. */
const QUIET_MS = 150
/** Before a fault, and behind it, while clients go on. */
const AROUND_MS = 300
const LAG_MS_MAX = 250
/** So often each, that hardly ever a worker is left out. */
const ASKED = 6
const LOCKED_MS = 1_000

/** Writes and lists at random on a server of two workers, and judges every answer. */
export async function proveLists(options: Options): Promise<Proof> {
  const cluster = await Cluster.open(options.environment)
  try {
    await fill(cluster)
    const prover = new Prover(cluster, options.seed)
    for (let round = 0; round < options.alone; round++) await prover.alone(round)
    for (let round = 0; round < options.together; round++) await prover.together(`together ${round}`)
    for (let write = 0; write < options.outside; write++) await prover.outside(write)
    for (const fault of prover.chosen(faults, options.faults)) await prover.together(fault.name, fault)
    const remembered = await prover.remembered()
    await fillMany(cluster)
    const { states, statesForMs, freshMin = 0 } = options
    for (let round = 0; round < states || (prover.findings.counts.fresh ?? 0) < freshMin; round++)
      await prover.states(`states ${round}`, statesForMs)
    for (const fault of prover.chosen(faultsAtAnyMoment, options.faultsAtAnyMoment))
      await prover.states(fault.name, 0, fault)
    const { counts, differences } = prover.findings
    return { counts, differences, remembered, lagsMs: prover.lagsMs.toSorted((one, other) => one - other) }
  } finally {
    await cluster.close()
  }
}

class Prover {
  readonly findings = new Findings()
  readonly lagsMs: number[] = []
  private readonly random: Random
  private readonly lists: List[]
  /** What makes servers forget all they know of a table; without it they must go on exactly. */
  private conditions = { renames: false, others: false }

  constructor(
    private readonly cluster: Cluster,
    private readonly seed: number,
  ) {
    this.random = new Random(seed)
    this.lists = Array.from({ length: LISTS }, () => randomList(this.random))
  }

  /** As many of all, or those of these names. */
  chosen(all: readonly Fault[], wanted: number | readonly string[]): Fault[] {
    if (typeof wanted === 'number') return Array.from({ length: wanted }, () => this.random.pick(all))
    return wanted.map((name) => {
      const found = all.find((fault) => fault.name === name)
      if (!found) throw new Error(`there is no fault of the name ${name}`)
      return found
    })
  }

  /** One writes and many read: it is known what each answer has to be. */
  async states(moment: string, forMs: number, fault: Fault | null = null): Promise<void> {
    const startedMs = performance.now()
    await proveStates(this.cluster, this.random, this.findings, { moment, forMs, fault })
    this.findings.count('states, ms', Math.round(performance.now() - startedMs))
  }

  /** A write, or several at once; when it is answered, lists must show it on every worker. */
  async alone(round: number): Promise<void> {
    const ids = await readIds(this.cluster)
    this.vary(50)
    const writes = this.random.chance(60) ? 1 : 2 + this.random.below(20)
    await Promise.all(Array.from({ length: writes }, () => this.write(ids)))
    await this.check(`round ${round}, ${writes} writes`, 4 + this.random.below(6))
  }

  /** Clients and others write at once, and lists are read at once; then no client writes. */
  async together(moment: string, fault?: Fault): Promise<void> {
    const { cluster, random, findings } = this
    const ids = await readIds(cluster)
    this.vary(fault ? 25 : 50)
    const name = `${moment} ${this.seed}.${findings.counts.together ?? 0}`
    const outsideMs = this.conditions.others ? LAG_MS_MAX + (fault?.deafMs ?? 0) : null
    const marked = new MarkedRows(cluster, random, findings, name, outsideMs)
    findings.count('together')
    const ended = Promise.all([
      marked.run(3, 3),
      this.untilOver(marked, () => this.write(ids)),
      this.untilOver(marked, () => this.write(ids)),
      this.untilOver(marked, () => this.sampleLists()),
      this.untilOver(marked, () => this.sampleLists()),
      this.conditions.others ? this.untilOver(marked, () => writeOutside(cluster, random, findings)) : null,
    ])
    if (fault) {
      await Bun.sleep(AROUND_MS)
      await fault.run(cluster, random)
      await Bun.sleep(random.below(AROUND_MS))
    } else {
      await Bun.sleep(TOGETHER_MS)
      // A busy machine does little in that time.
      await until(() => marked.moved >= MOVED_MIN)
    }
    marked.isOver = true
    await ended
    // Nothing that was sent before is still on its way.
    if (fault) await cluster.untilAnswered()
    await Bun.sleep((fault ? 2 : 1) * QUIET_MS)
    await this.check(`after ${moment}`, LISTS)
  }

  /** A commit by a plain connection, or by another machine's server, and how long lists go on without it. */
  async outside(write: number): Promise<void> {
    const mark = `outside ${this.seed} ${write}`
    const lagMs = await lagOf(this.cluster, mark, write % 2 === 0 ? 'sql' : 'server')
    this.lagsMs.push(lagMs)
    if (lagMs > LAG_MS_MAX) this.findings.differs('a write from elsewhere shows late', { mark, lagMs })
  }

  async remembered(): Promise<number> {
    const { cluster, lists } = this
    const asks = (times: number) => lists.flatMap(({ path }) => Array.from({ length: times }, () => path))
    await inParallel(asks(ASKED), 8, async (path) => void (await cluster.ask(path)))
    let answered = 0
    await cluster.sql.begin(async (transaction) => {
      await transaction`lock table company, employee, absence in access exclusive mode`
      const ask = (path: string) => cluster.ask(path).then(({ status }) => void (answered += Number(status === 200)))
      let isOver = false
      const all = Promise.all(asks(2).map(ask)).then(() => (isOver = true))
      // What waits for the lock is not answered; a busy machine takes its time for what does not.
      for (let before = -1; !isOver && before < answered; ) {
        before = answered
        await Promise.race([all, Bun.sleep(LOCKED_MS)])
      }
    })
    return answered / (2 * lists.length)
  }

  private async write(ids: Ids) {
    await writeOnce(this.cluster, this.random, ids, this.findings, this.conditions.renames)
  }

  /** What makes all be forgotten would also hide that too little is. */
  private vary(percent: number) {
    this.conditions = { renames: this.random.chance(percent), others: this.random.chance(percent) }
  }

  private async sampleLists() {
    const list = this.random.pick(this.lists)
    const answer = await this.cluster.ask(list.path)
    this.findings.count(`list ${answer.status}`)
    if (answer.status === 200) checkSanity(list, answer, this.findings)
  }

  private async untilOver(marked: MarkedRows, work: () => Promise<void>) {
    while (!marked.isOver) await work()
  }

  private async check(moment: string, count: number) {
    const { cluster, random, lists, findings } = this
    if (random.chance(50)) lists[random.below(LISTS)] = randomList(random)
    const checked = count >= LISTS ? lists : Array.from({ length: count }, () => random.pick(lists))
    await checkExactly(cluster, checked, findings, moment)
    if (random.chance(20)) await checkCursors(cluster, random.pick(lists), findings, moment)
  }
}
