import type { Random } from '../../../support/random.ts'
import type { Findings } from '../check.ts'
import type { Answer, Cluster } from '../cluster.ts'
import type { Judge } from './judge.ts'
import type { OrderedRows, Version } from './ordered.ts'
import { numberedPage, type Page, pageBeside } from './pages.ts'
import type { Timeline } from './timeline.ts'

/** What a phase goes through. */
export interface Conditions {
  /** Writes rename what other rows copy. */
  readonly renames: boolean
  /** Of the writes, so many are by others, behind the server's back. */
  readonly othersPercent: number
  /** Clients that write companies of which nothing else knows, so that lists of companies cannot be judged. */
  readonly backgroundWriters: number
  /** Something goes on for which requests may be refused. */
  isFaulty: boolean
  /** What was sent may be done only when that is over, though no lock shows that it is on its way. */
  readonly holds: boolean
  /** Others' writes must show after so long. */
  readonly lateMs: number
}

const PAGE_SIZES = [5, 5, 5, 6, 10, 20, 50]
/** Of each list, so many pages are asked for again and again. */
const FAVOURITES = 4
const FOLLOWED_MAX = 4
const PATIENCE_MS = 500
/** Before the next question, where the last one was refused. */
const REFUSED_MS = 20

interface Read {
  readonly answer: Answer
  /** Of the list, that was shown; null: none. It may take long where the outcome of a write is unknown. */
  readonly judged: Promise<Version | null>
}

/** Asks for pages and has each judged. */
export class Reader {
  private readonly favourites = new Map<OrderedRows, Page[]>()
  private readonly judging = new Set<Promise<unknown>>()

  constructor(
    private readonly cluster: Cluster,
    private readonly timeline: Timeline,
    private readonly judge: Judge,
    private readonly random: Random,
    private readonly findings: Findings,
    private readonly conditions: Conditions,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const page = this.choose(this.random.pick(this.timeline.lists))
      const read = await this.read(page)
      if (read.answer.status !== 200) await Bun.sleep(REFUSED_MS)
      if (this.random.chance(15)) await this.follow(page, read, isOver)
    }
  }

  /** Resolves when every answer is judged. */
  async untilJudged(): Promise<void> {
    while (this.judging.size > 0) await Promise.all(this.judging)
  }

  /** Resolves with the answer; it is judged when that is possible. */
  async read(page: Page): Promise<Read> {
    const { timeline, conditions } = this
    const [first, wasFaulty] = [timeline.shown, conditions.isFaulty]
    const answer = await this.cluster.ask(page.path)
    const judged = this.judgeLater(page, answer, first, wasFaulty || conditions.isFaulty)
    this.judging.add(judged)
    judged.finally(() => this.judging.delete(judged))
    return { answer, judged }
  }

  private async judgeLater(page: Page, answer: Answer, first: number, mayBeRefused: boolean) {
    const { timeline, findings } = this
    findings.count(`list ${answer.status}`)
    if (answer.status !== 200) {
      if (!mayBeRefused) findings.differs('refused', { path: page.path, answer })
      return null
    }
    const last = timeline.sent
    await timeline.untilSettled(last)
    if (timeline.knows(first - 1)) return this.judge.judge(page, answer, first, last)
    findings.count('too slow to be judged')
    return null
  }

  /** The links to the neighbours, one after the other. */
  private async follow(from: Page, begin: Read, isOver: () => boolean) {
    let [page, read] = [from, begin]
    for (let followed = 0; followed < FOLLOWED_MAX && !isOver(); followed++) {
      const version = await Promise.race([read.judged, Bun.sleep(PATIENCE_MS)])
      const next = version && pageBeside(read.answer, version, page, this.random.chance(75) ? 'next' : 'prev')
      if (!next) return
      page = next
      read = await this.read(page)
    }
  }

  /** The first, the last, one in between or beyond. */
  choose(list: OrderedRows): Page {
    const known = this.favourites.get(list)
    if (known && this.random.chance(60)) return this.random.pick(known)
    const size = this.random.pick(PAGE_SIZES)
    const last = Math.max(1, Math.ceil(list.now.length / size))
    const number = this.random.pick([1, 1, 2, last, last, last - 1, last + 1, last + 20, 0, 0, 0, 0])
    const page = numberedPage(list, size, number > 0 ? number : 1 + this.random.below(last))
    if (!known || known.length < FAVOURITES) this.favourites.set(list, [...(known ?? []), page])
    return page
  }

  /** Those on which the row at this place of the list stands. */
  pageWith(list: OrderedRows, place: number): Page {
    const size = this.random.pick(PAGE_SIZES)
    return numberedPage(list, size, 1 + Math.floor(place / size))
  }
}
