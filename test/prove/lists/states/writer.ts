import { type Collection, collections, type Row } from '../../../support/model.ts'
import type { Random } from '../../../support/random.ts'
import type { Findings } from '../check.ts'
import type { Cluster } from '../cluster.ts'
import { idIn, writeElsewhere } from './elsewhere.ts'
import type { Page } from './pages.ts'
import { changeOf, type Plan, randomPlan, removal, rename } from './plans.ts'
import { printed } from './printed.ts'
import type { Conditions, Reader } from './reader.ts'
import { RowsModel } from './rowsModel.ts'
import { RowWatch } from './rowWatch.ts'
import type { Timeline } from './timeline.ts'

/** Of the page on which a row stands that is written next: so often it is asked for before, and after. */
const ASKED_BEFORE = 3
const ASKED_AFTER = 5
const ASKED_MEANWHILE = 4
const MEANWHILE_MS = 5
/** Which pages a write of others changes is unknown. */
const PAGES_ELSEWHERE = 4
/** A worker that stands still must not keep the writer from writing. */
const PATIENCE_MS = 400
/** So often in a row nothing must be on its way, until what came of a lost write is looked up. */
const QUIET_LOOKS = 3
const LOOK_MS = 60
const QUIET_MS_MAX = 30_000

/** The one who writes: one write after the other, so that the states are known that the tables go through. */
export class Writer {
  /** The outcome of the last write is unknown: others must not write, so that it can be found. */
  isLost = false

  constructor(
    private readonly cluster: Cluster,
    private readonly timeline: Timeline,
    private readonly reader: Reader,
    private readonly random: Random,
    private readonly findings: Findings,
    private readonly conditions: Conditions,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    const { random, conditions, timeline } = this
    while (!isOver()) {
      if (random.chance(conditions.othersPercent)) await this.probeElsewhere()
      else if (random.chance(conditions.isFaulty ? 80 : 30)) await this.probe()
      else await this.write(randomPlan(timeline.model, random, conditions.renames, conditions.backgroundWriters === 0))
    }
  }

  /** What the tables hold is what the writes have come to. */
  async compare(moment: string): Promise<void> {
    const differences = this.timeline.model.changesTo(await RowsModel.read(this.cluster), this.judged)
    if (differences.length > 0)
      this.findings.differs('not the rows that were written', { moment, first: differences.slice(0, 3) })
  }

  /** A page that all workers may know by now, or none, a write that changes it, and at once the same page again. */
  private async probe() {
    const { random, timeline, reader } = this
    const list = random.pick(timeline.lists)
    const place = random.below(list.now.length)
    const row = list.now[place]
    if (!row) return
    const page = reader.pageWith(list, place)
    if (random.chance(60)) await this.ask([page], ASKED_BEFORE)
    const meanwhile = this.askMeanwhile(page)
    await this.write(this.planFor(list.selected.collection, row))
    await this.ask([page], ASKED_AFTER)
    await meanwhile
  }

  /** Answers that are on their way when the write is done. */
  private async askMeanwhile(page: Page) {
    for (let asked = 0; asked < ASKED_MEANWHILE; asked++) {
      this.reader.read(page)
      await Bun.sleep(this.random.below(MEANWHILE_MS))
    }
  }

  /** Changes, renames or removes what the page shows of the row. */
  private planFor(collection: Collection, row: Row): Plan {
    const { random, conditions } = this
    const { model } = this.timeline
    const [from, id] =
      collection === 'Absences' ? (['Employees', row.EmployeeId] as const) : (['Companies', row.CompanyId] as const)
    if (conditions.renames && id && random.chance(40) && this.judged.includes(from))
      return rename(model, random, from, Number(id))
    const isRemoved = random.chance(25) && !model.isReferredTo(collection, Number(row.Id))
    if (isRemoved) return removal(model, collection, Number(row.Id))
    return changeOf(model, random, collection, Number(row.Id), conditions.renames)
  }

  private async ask(pages: readonly Page[], times: number) {
    const asks = pages.flatMap((page) => Array.from({ length: times }, () => this.reader.read(page)))
    await Promise.race([Promise.all(asks), Bun.sleep(PATIENCE_MS)])
  }

  private async write(plan: Plan): Promise<void> {
    const { timeline, findings } = this
    const { method, collection, path, body, status } = plan
    timeline.send()
    const watch = this.random.chance(50) ? new RowWatch(this.cluster, timeline, this.findings, plan) : null
    const answer = await this.cluster.ask(path, method, body)
    watch?.end()
    findings.count(`${method} ${answer.status}`)
    if (answer.status !== status) {
      if (answer.status > 0 && answer.status < 500) findings.differs('a write answered otherwise', { ...plan, answer })
      return this.recover()
    }
    const changes = plan.changes(idIn(answer.text))
    const after = changes[0]?.after
    if (after && answer.text !== printed(collection, after))
      findings.differs('a write answered with another row', { ...plan, answer, after: printed(collection, after) })
    timeline.settle(changes)
    timeline.show()
  }

  /** Pages that all workers may know by now, a write of another client, and the same pages when it must show. */
  private async probeElsewhere() {
    const { timeline, findings, reader, random } = this
    const pages = Array.from({ length: PAGES_ELSEWHERE }, () => reader.choose(random.pick(timeline.lists)))
    await this.ask(pages, ASKED_BEFORE)
    timeline.send(true)
    try {
      timeline.settle(await writeElsewhere(this.cluster, timeline.model, this.random))
      findings.count('elsewhere')
      await this.untilHeard()
      await this.ask(pages, ASKED_AFTER)
    } catch (error) {
      if (!this.conditions.isFaulty) findings.differs('a write elsewhere', { error: String(error) })
      await this.recover()
    }
  }

  /** The outcome of the last write has not arrived: the database is asked once it can come to nothing more. */
  private async recover() {
    this.isLost = true
    await this.untilQuiet()
    const changes = this.timeline.model.changesTo(await RowsModel.read(this.cluster), this.judged)
    this.findings.count(changes.length > 0 ? 'lost, but done' : 'lost')
    this.timeline.settle(changes)
    this.isLost = false
    await this.untilHeard()
  }

  private async untilHeard() {
    await Bun.sleep(this.conditions.lateMs)
    this.timeline.show()
  }

  private async untilQuiet() {
    const untilMs = performance.now() + QUIET_MS_MAX
    for (let looks = 0; looks < QUIET_LOOKS || (this.conditions.holds && this.conditions.isFaulty); ) {
      looks = (await this.countWriting()) === 0 ? looks + 1 : 0
      await Bun.sleep(LOOK_MS)
      if (performance.now() > untilMs) throw new Error('the outcome of a write cannot be found')
    }
  }

  /** Backends that are about to write; one, while the database is away. */
  private async countWriting(): Promise<number> {
    const rows = await this.cluster.sql`
      select count(*)::int from pg_locks
      where relation in ('absence'::regclass, 'employee'::regclass, 'company'::regclass) and mode = 'RowExclusiveLock'`.catch(
      () => null,
    )
    return rows?.[0]?.count ?? 1
  }

  private get judged(): readonly Collection[] {
    return this.conditions.backgroundWriters > 0 ? ['Employees', 'Absences'] : collections
  }
}
