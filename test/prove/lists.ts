import { Random } from '../support/random.ts'
import { checkCursors, checkExactly, checkSanity, Findings, inParallel } from './lists/check.ts'
import { Cluster, type Name } from './lists/cluster.ts'
import { type Fault, faults } from './lists/faults.ts'
import { type List, randomList } from './lists/randomList.ts'
import { proveStates } from './lists/states.ts'
import { fill, type Ids, readIds, writeOnce, writeOutside } from './lists/writes.ts'

interface Options {
  readonly seed: number
  /** Rounds in which one thing happens after another. */
  readonly alone: number
  /** Rounds of a second in which many clients write and list. */
  readonly together: number
  /** Names of faults, or how many are drawn. */
  readonly faults: number | readonly FaultName[]
  /** Times in which one writes and many read, so that it is known what each answer has to be. */
  readonly states: number
  readonly statesForMs: number
  /** More of these, until so many lists were judged. Default: 0. */
  readonly listsMin?: number
}

export interface Proof {
  readonly counts: Record<string, number>
  /** Each in a line; none is what has to be. */
  readonly differences: readonly string[]
  /** Of the lists that are asked for again, the share that is answered while no server can read the tables. */
  readonly remembered: number
}

type FaultName = keyof typeof faults

/** So many lists are asked for in turns, and now and then one of them is exchanged for another. */
const LISTS = 40
const TOGETHER_MS = 1_000
/** After which a server that was not there is asked again. */
const GONE_MS = 20
/** So often each, that hardly ever a worker is left out. */
const ASKED = 6
const LOCKED_MS = 1_000

/** Writes and lists at random on a server of two workers, and judges every answer. */
export async function proveLists(options: Options): Promise<Proof> {
  const cluster = await Cluster.open()
  try {
    await fill(cluster)
    const prover = new Prover(cluster, new Random(options.seed))
    const { findings } = prover
    for (let round = 0; round < options.alone; round++) await prover.alone(round)
    for (let round = 0; round < options.together; round++) await prover.together(`together ${round}`)
    const remembered = await prover.remembered()
    const { states, statesForMs, listsMin = 0 } = options
    for (let round = 0; round < states || (findings.counts.states ?? 0) < listsMin; round++)
      await prover.states(`states ${round}`, statesForMs)
    for (const name of prover.chosen(options.faults)) await prover.together(name, faults[name])
    return { counts: findings.counts, differences: findings.differences, remembered }
  } finally {
    await cluster.close()
  }
}

/** Those that clients write to, and ask. */
const SERVERS = ['cached', 'elsewhere'] as const
/** Before a fault, and at most behind it, while clients go on. */
const AROUND_MS = 300

class Prover {
  readonly findings = new Findings()
  private readonly lists: List[]
  constructor(
    private readonly cluster: Cluster,
    private readonly random: Random,
  ) {
    this.lists = Array.from({ length: LISTS }, () => randomList(this.random))
  }

  /** As many of all, or these. */
  chosen(wanted: number | readonly FaultName[]): readonly FaultName[] {
    const names = Object.keys(faults) as FaultName[]
    return typeof wanted === 'number' ? Array.from({ length: wanted }, () => this.random.pick(names)) : wanted
  }

  /** One writes and many read: it is known what each answer has to be. */
  states(moment: string, forMs: number): Promise<void> {
    return proveStates(this.cluster, this.random, this.findings, { moment, forMs })
  }

  /** A write, or several at once; when it is answered, lists must show it on every worker. */
  async alone(round: number): Promise<void> {
    const ids = await readIds(this.cluster)
    const writes = this.random.chance(60) ? 1 : 2 + this.random.below(20)
    await Promise.all(Array.from({ length: writes }, () => this.write(ids)))
    await this.check(`round ${round}, ${writes} writes`, 4 + this.random.below(6))
  }

  /** Clients and others write at once, and lists are read at once; then no one writes. */
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
    await ended
    // Nothing that was sent before is still on its way.
    if (fault) await cluster.untilAnswered()
    // The driver answers the first statement over a new connection with the end of the one before.
    await Promise.allSettled(Array.from({ length: 20 }, () => cluster.sql`select 1`))
    await cluster.untilQuiet()
    await this.check(`after ${moment}`, LISTS)
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
    if (random.chance(50)) lists[random.below(LISTS)] = randomList(random)
    const checked = count >= LISTS ? lists : Array.from({ length: count }, () => random.pick(lists))
    await checkExactly(cluster, SERVERS, checked, findings, moment)
    if (random.chance(20)) await checkCursors(cluster, random.pick(lists), findings, moment)
  }
}
