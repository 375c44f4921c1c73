import type { Random } from '../../support/random.ts'
import type { Findings } from './check.ts'
import type { Answer, Cluster } from './cluster.ts'
import { pathOf } from './randomList.ts'

/** Of rows with one mark: how many there must be at least, and may be at most, by what was asked and answered. */
class Bounds {
  addedAsked = 0
  addedDone = 0
  removedAsked = 0
  removedDone = 0

  constructor(readonly mark: string) {}

  /** To be called before a list is asked for; the result, after it was answered. */
  watch(): () => [least: number, most: number] {
    const { addedDone, removedDone } = this
    return () => [addedDone - this.removedAsked, this.addedAsked - removedDone]
  }
}

const type = { name: 'Type', kind: 'text' } as const
const id = { name: 'Id', kind: 'integer' } as const

/** Clients that add, move and remove marked rows on all workers, and lists that must show what was answered. */
export class MarkedRows {
  private readonly allBounds: Bounds[]
  private readonly rows: { id: number; bounds: Bounds }[] = []
  private newest = 1
  isOver = false
  /** How many were moved. */
  moved = 0

  /** `name`: another for each run, since the outcome of statements of earlier ones may be unknown. */
  constructor(
    private readonly cluster: Cluster,
    private readonly random: Random,
    private readonly findings: Findings,
    readonly name: string,
    /** Others also write such rows, and must show after so long; null: no others do. */
    private readonly outsideMs: number | null,
  ) {
    this.allBounds = [0, 1, 2].map((index) => new Bounds(`${name}.${index}`))
  }

  async run(writers: number, readers: number): Promise<void> {
    const work = [
      ...Array.from({ length: writers }, () => this.write()),
      ...Array.from({ length: readers }, () => this.read()),
    ]
    await Promise.all(this.outsideMs === null ? work : [...work, this.writeOutside(this.outsideMs)])
  }

  private async write() {
    while (!this.isOver) {
      const row = this.random.chance(45) ? this.takeRow() : null
      if (row === null) await this.add(this.random.pick(this.allBounds))
      else if (this.random.chance(50)) await this.remove(row)
      else await this.move(row)
    }
  }

  private takeRow() {
    const [row] = this.rows.splice(this.random.below(this.rows.length), 1)
    return row ?? null
  }

  private async add(bounds: Bounds) {
    bounds.addedAsked++
    const { status, text } = await this.cluster.ask('/Absences', 'POST', { Type: bounds.mark })
    this.findings.count(`marked ${status}`)
    if (status !== 201) return
    bounds.addedDone++
    this.rows.push({ id: JSON.parse(text).id, bounds })
  }

  private async remove({ id, bounds }: { id: number; bounds: Bounds }) {
    bounds.removedAsked++
    const { status } = await this.cluster.ask(`/Absences/${id}`, 'DELETE')
    this.findings.count(`marked ${status}`)
    if (status === 204) bounds.removedDone++
  }

  private async move({ id, bounds }: { id: number; bounds: Bounds }) {
    const to = this.random.pick(this.allBounds)
    if (to !== bounds) {
      bounds.removedAsked++
      to.addedAsked++
    }
    const { status } = await this.cluster.ask(`/Absences/${id}`, 'PATCH', { Type: to.mark, Reason: 'moved' })
    this.findings.count(`marked ${status}`)
    if (status !== 200) return
    this.moved++
    this.rows.push({ id, bounds: to })
    if (to === bounds) return
    bounds.removedDone++
    to.addedDone++
  }

  /** Its rows are then the clients' as all others are, which change them at once. */
  private async writeOutside(showsMs: number) {
    while (!this.isOver) {
      const bounds = this.random.pick(this.allBounds)
      bounds.addedAsked++
      const rows = await this.cluster.sql`insert into absence (type) values (${bounds.mark}) returning id::int`.catch(
        () => [],
      )
      if (rows[0]) {
        this.rows.push({ id: rows[0].id, bounds })
        setTimeout(() => bounds.addedDone++, showsMs)
      }
      await Bun.sleep(this.random.below(20))
    }
  }

  private async read() {
    while (!this.isOver) {
      const bounds = this.random.pick(this.allBounds)
      const path = this.pathOf(bounds)
      const range = bounds.watch()
      this.check(path, await this.cluster.ask(path), range())
    }
  }

  /** All rows of the mark, by a filter that is new now and then: it is counted while rows are written, and kept. */
  private pathOf({ mark }: Bounds): string {
    if (this.random.chance(15)) this.newest++
    const least = { field: id, operator: '>', operand: `${-this.newest - this.random.below(4)}` } as const
    return pathOf(
      'Absences',
      [{ field: type, operator: '=', operand: mark }, least],
      [],
      this.random.chance(80) ? 1 : 2,
      50,
    )
  }

  private check(path: string, answer: Answer, [least, most]: [number, number]) {
    this.findings.count(`marked list ${answer.status}`)
    if (answer.status !== 200) return
    const { total, text } = answer
    if (!(total >= 0)) this.findings.differs('a total below 0', { path, total })
    if (!(total >= least && total <= most)) this.findings.differs('a total out of bounds', { path, total, least, most })
    const shown = JSON.parse(text).length
    if (path.includes('&page=')) return
    if (shown < Math.min(50, least) || shown > most)
      this.findings.differs('a page out of bounds', { path, shown, least, most })
  }
}
