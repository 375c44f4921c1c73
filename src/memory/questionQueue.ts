// The queue of questions to PostgreSQL, which rows of the copies have changed: each is about the tables that the lists need.
import type { Reader } from '../columns/collation.ts'
import { moveTogether } from './jointMove.ts'
import type { TableCopy } from './tableCopy.ts'

/** Identifies the state of one copy, or of several as of one moment: a cached response is valid while it stays the same. */
export type Version = number | string

/** Copies that lists ask for together. */
interface Group {
  /** Lists that came since the last question was sent; null: none did. */
  waiting: Demand | null
  /** Versions of several copies, in the order of their numbers, when they were of one moment; null: unknown. */
  versions: string | null
  /** Time until which there are no joint questions, because one has failed. */
  pausedUntilMs: number
  /** Time of the last list that did not wait for a question. The answer to a question that was sent earlier is stale for it. */
  givenUpMs: number
}

/** Lists that wait until copies are current. */
interface Demand {
  readonly group: Group
  readonly copies: readonly TableCopy[]
  readonly sinceMs: number
  readonly answer: PromiseWithResolvers<void>
}

/** Demands that one question answers. Its copies are those of the largest demand, which has all copies of the others. */
interface Round {
  readonly copies: readonly TableCopy[]
  readonly demands: Demand[]
}

/** Maximum groups; those in which nobody waits give way. */
const GROUPS_MAX = 200
/** Pause after a joint question that failed. Its lists go to PostgreSQL, and those of single tables do not wait for it. */
const PAUSE_MS = 1_000
/**
 * Time for which lists of a table wait while a joint question waits for another table. Without it, tables that are asked about in
 * turn would hardly ever be free at the same time.
 */
const HELD_MS_MAX = 100
/** Time after which PostgreSQL answers lists of several tables that wait for one of them. */
const QUEUED_MS_MAX = 1_000

/** Sends questions about copies: one for all lists that wait. A copy is in one question at a time. docs/memory.md */
export class QuestionQueue {
  private readonly groups = new Map<Version, Group>()
  /** Demands without a question, in the order in which they came. */
  private demands: Demand[] = []
  /** Copies that are being asked about, and since when. */
  private readonly asked = new Map<TableCopy, number>()
  private isDue = false
  private timer: Timer | null = null

  /** `jointQuestions`: connection for questions about several tables. */
  constructor(private readonly jointQuestions: Reader) {}

  /**
   * Brings copies to snapshots taken after this call, several of them to the same one. `versionOf` says whether that succeeded.
   * @throws ApiError for a single copy, if PostgreSQL does not answer
   */
  refresh(copies: readonly TableCopy[]): Promise<void> {
    const key = keyOf(copies)
    const group = this.groups.get(key) ?? this.addGroup(key)
    if (group.waiting !== null) return group.waiting.answer.promise
    const sinceMs = performance.now()
    if (copies.length > 1 && (copies.some(isUnusable) || sinceMs < group.pausedUntilMs)) {
      forget(group)
      return Promise.resolve()
    }
    group.waiting = { group, copies, sinceMs, answer: Promise.withResolvers() }
    this.demands.push(group.waiting)
    if (!copies.some((copy) => this.asked.has(copy))) this.beginSoon()
    return group.waiting.answer.promise
  }

  /** Returns the version of a `part` of copies that are of one moment; null if they are not, or if one is unusable. */
  versionOf(copies: readonly TableCopy[], part: readonly TableCopy[] = copies): Version | null {
    if (copies.some(isUnusable)) return null
    if (copies.length > 1 && this.groups.get(keyOf(copies))?.versions !== versionsOf(copies)) return null
    return part.length === 1 ? (part[0] as TableCopy).version : versionsOf(part)
  }

  private addGroup(key: Version): Group {
    if (this.groups.size >= GROUPS_MAX)
      for (const [other, { waiting }] of this.groups) if (waiting === null) this.groups.delete(other)
    const group: Group = { waiting: null, versions: null, pausedUntilMs: 0, givenUpMs: Number.NEGATIVE_INFINITY }
    this.groups.set(key, group)
    return group
  }

  /** Begins at the end of this turn of the event loop, so that all requests that have arrived share the questions. */
  private beginSoon() {
    if (this.isDue) return
    this.isDue = true
    setImmediate(this.begin)
  }

  /** Sends the questions about copies that no running question is about. */
  private readonly begin = () => {
    this.isDue = false
    const nowMs = performance.now()
    const rounds: Round[] = []
    const held = new Set<TableCopy>()
    const isBusy = (copy: TableCopy) => this.asked.has(copy) || held.has(copy)
    const demands = inOrder(this.demands)
    this.demands = []
    for (const demand of demands) {
      const { copies, group } = demand
      const larger = rounds.find((round) => copies.every((copy) => round.copies.includes(copy)))
      if (larger === undefined && copies.some(isBusy)) {
        this.postpone(demand, held, nowMs)
        continue
      }
      group.waiting = null
      if (larger === undefined) {
        rounds.push({ copies, demands: [demand] })
        for (const copy of copies) this.asked.set(copy, nowMs)
      } else larger.demands.push(demand)
    }
    for (const { copies, demands } of rounds)
      if (copies.length === 1) this.askAlone(copies[0] as TableCopy, demands)
      else this.askTogether(copies, demands)
    // A joint demand may have to wait long for a running question, so the queue is looked at again.
    if (this.demands.some(({ copies }) => copies.length > 1)) this.timer ??= setTimeout(this.lookAgain, HELD_MS_MAX)
  }

  /**
   * Lets a demand wait for the next turn. If it is for several tables, all are held for it, unless the question about one of them
   * has been running for long.
   */
  private postpone(demand: Demand, held: Set<TableCopy>, nowMs: number) {
    const { copies, sinceMs } = demand
    if (copies.length > 1 && nowMs - sinceMs > QUEUED_MS_MAX) {
      giveUp(demand)
      return
    }
    this.demands.push(demand)
    const isSoonFree = (copy: TableCopy) => !held.has(copy) && nowMs - (this.asked.get(copy) ?? nowMs) < HELD_MS_MAX
    if (copies.length > 1 && copies.every(isSoonFree)) for (const copy of copies) held.add(copy)
  }

  private readonly lookAgain = () => {
    this.timer = null
    this.beginSoon()
  }

  private async askAlone(copy: TableCopy, demands: readonly Demand[]) {
    const wasBehind = isBehind(copy)
    this.asked.set(copy, performance.now())
    const fault = await copy.ask().catch((error: unknown) => error)
    this.asked.delete(copy)
    // Lists that have come since the question was sent do not wait for the catch-up: it begins after them, so none is stale.
    if (!wasBehind && isBehind(copy)) this.catchUp(copy)
    for (const { answer } of demands)
      if (fault === undefined) answer.resolve()
      else answer.reject(fault)
    this.continue()
  }

  private catchUp(copy: TableCopy) {
    const ended = this.demands.filter(({ copies }) => copies.includes(copy))
    this.demands = this.demands.filter((demand) => !ended.includes(demand))
    for (const demand of ended) giveUp(demand)
    // The interval of refreshes asks again if it fails.
    this.refresh([copy]).catch(() => undefined)
  }

  private async askTogether(copies: readonly TableCopy[], demands: readonly Demand[]) {
    const sinceMs = performance.now()
    // If a statement fails, each copy is asked by itself: the one that is at fault ends or falls behind, and the others do not.
    const left = await moveTogether(copies, this.jointQuestions).catch(() => null)
    for (const copy of copies) this.asked.delete(copy)
    for (const { group, copies: own, answer } of demands) {
      const isMoved = left !== null && !own.some((copy) => left.includes(copy))
      if (own.length > 1) group.versions = isMoved && group.givenUpMs < sinceMs ? versionsOf(own) : null
      if (own.length > 1 && left === null) group.pausedUntilMs = performance.now() + PAUSE_MS
      if (own.length > 1 || isMoved) answer.resolve()
    }
    for (const copy of left ?? copies) {
      if (left === null) copy.checkDefinition()
      // At once, so that no joint question comes before it.
      this.askAlone(
        copy,
        demands.filter(({ copies: own }) => own.length === 1 && own[0] === copy),
      )
    }
    this.continue()
  }

  /** Begins what waits, after the lists of the last question are answered, so that more requests share the next one. */
  private continue() {
    if (this.demands.length > 0) this.beginSoon()
  }
}

/** Lets PostgreSQL answer the lists: their copies are not brought to one moment. */
function giveUp({ group, answer }: Demand) {
  group.waiting = null
  forget(group)
  answer.resolve()
}

/** Forgets which versions of the copies were of one moment: they may be stale for a list that comes now. */
function forget(group: Group) {
  group.versions = null
  group.givenUpMs = performance.now()
}

/** Several tables come first: questions about them answer those about each. */
function inOrder(demands: readonly Demand[]): readonly Demand[] {
  if (demands.length === 1) return demands
  return [...demands.filter(({ copies }) => copies.length > 1), ...demands.filter(({ copies }) => copies.length === 1)]
}

function isUnusable(copy: TableCopy): boolean {
  return copy.unusable !== null
}

function isBehind(copy: TableCopy): boolean {
  return copy.unusable === 'behind'
}

function keyOf(copies: readonly TableCopy[]): Version {
  const [first] = copies
  return copies.length === 1 && first ? first.number : joined(copies, 'number')
}

function versionsOf(copies: readonly TableCopy[]): string {
  return joined(copies, 'version')
}

/** Joins a property of copies in the order of their numbers, so that the result does not depend on which is the list's own. */
function joined(copies: readonly TableCopy[], key: 'number' | 'version'): string {
  const [first, second] = copies
  // Each list of a person asks for this several times, mostly about two tables.
  if (copies.length === 2 && first && second)
    return first.number < second.number ? `${first[key]},${second[key]}` : `${second[key]},${first[key]}`
  return [...copies]
    .sort((one, other) => one.number - other.number)
    .map((copy) => copy[key])
    .join()
}
