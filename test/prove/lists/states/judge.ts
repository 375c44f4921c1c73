import type { Findings } from '../check.ts'
import type { Answer } from '../cluster.ts'
import type { Version } from './ordered.ts'
import { type Page, type Shown, shownBy, shownIn } from './pages.ts'
import type { Timeline } from './timeline.ts'

/** Of a difference, so much of what was answered and of what was allowed. */
const TEXT_MAX = 300
const PARTS = ['total', 'links', 'text'] as const

/** Judges answers: total, links and rows of each must be, together, those of one state that was allowed. */
export class Judge {
  constructor(
    private readonly timeline: Timeline,
    private readonly findings: Findings,
    private readonly moment: string,
  ) {}

  /** `first`, `last`: the states between which the list may have been read. The version that was shown; null: none. */
  judge(page: Page, answer: Answer, first: number, last: number): Version | null {
    const { findings } = this
    const shown = shownBy(answer, page)
    const allowed = page.list.versions(first, last)
    findings.count(page.beside ? 'pages by cursor' : page.number > 1 ? 'pages by number' : 'first pages')
    if (this.isChangedAt(page, first)) findings.count('fresh')
    const version = allowed.find((candidate) => isEqual(shown, shownIn(candidate, page)))
    if (version) return version
    // Rows show others' writes at once, totals and places when they are heard of: in between they do not fit together.
    if (this.timeline.isOthers(first, last)) {
      findings.count('while others wrote')
      return null
    }
    findings.differs(this.fault(page, shown, allowed, first), {
      moment: this.moment,
      path: page.path,
      states: [first, last],
      shown: cut(shown),
      allowed: allowed.slice(0, 3).map((candidate) => cut(shownIn(candidate, page))),
    })
    return null
  }

  /** Whether the last write that was answered has changed the page: an answer from before it would be another. */
  private isChangedAt(page: Page, state: number): boolean {
    const [now, before] = page.list.versions(state - 1, state)
    return now !== undefined && before !== undefined && !isEqual(shownIn(now, page), shownIn(before, page))
  }

  private fault(page: Page, shown: Shown, allowed: readonly Version[], first: number): string {
    const all = page.list.versions(0, this.timeline.sent)
    const whole = all.find((version) => isEqual(shown, shownIn(version, page)))
    if (whole) return whole.state < first ? 'a page of before the last write' : 'a page of later'
    const known = (part: keyof Shown, versions: readonly Version[]) =>
      versions.some((version) => shownIn(version, page)[part] === shown[part])
    const wrong = PARTS.filter((part) => !known(part, allowed))
    if (wrong.length === 0) return 'a page of several moments'
    const isOld = wrong.every((part) => known(part, all))
    return `${isOld ? 'of another moment' : 'wrong'}: ${wrong.join(', ')}`
  }
}

function isEqual(one: Shown, other: Shown): boolean {
  return PARTS.every((part) => one[part] === other[part])
}

function cut(shown: Shown): Shown {
  return { ...shown, text: shown.text.slice(0, TEXT_MAX) }
}
