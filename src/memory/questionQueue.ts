// The queue of the questions that ask PostgreSQL which rows of the copies have changed.
import type { Reader } from '../columns/collation.ts'
import { moveTogether } from './jointMove.ts'
import type { TableCopy } from './tableCopy.ts'

/** State of one copy, or of several copies of one snapshot. A cached response is valid while the version stays the same. */
export type Version = number | string

/** A set of copies that lists need together. */
interface Group {
  /** Lists that have arrived since the last question was sent; null if no list has. */
  waiting: Demand | null
  /**
   * Versions that the group's copies had after the last joint question, which brought the copies to one snapshot. `versionsOf`
   * makes this text. Null: these versions are not known.
   */
  versions: string | null
  /** Time until which no joint question about the group is sent, because the last joint question has failed. */
  pausedUntilMs: number
  /**
   * Time of the last list that did not wait for a question. Answers to questions that were sent before this time are too old for
   * the list.
   */
  givenUpMs: number
}

/** Lists that wait until their copies are current. */
interface Demand {
  readonly group: Group
  readonly copies: readonly TableCopy[]
  readonly sinceMs: number
  readonly answer: PromiseWithResolvers<void>
}

/** Demands that one question answers. The question asks about `copies`, which include the copies of each demand. */
interface Round {
  readonly copies: readonly TableCopy[]
  readonly demands: Demand[]
}

/** Maximum number of groups. If there are more, groups in which no list waits are removed. */
const GROUPS_MAX = 200
/**
 * Pause of joint questions about a group after such a question has failed. Meanwhile PostgreSQL answers the lists of the group.
 */
const PAUSE_MS = 1_000
/**
 * Maximum time for which a waiting joint question delays new questions about its tables. A joint question waits while a question
 * about one of these tables is running. Without the delay, new questions might always begin before all these tables are free.
 */
const HELD_MS_MAX = 100
/** Time after which PostgreSQL answers lists of several tables, if a question about one of these tables is still running. */
const QUEUED_MS_MAX = 1_000

/**
 * Sends questions about copies: one question answers all lists that wait. At most one question about a copy runs at a time.
 * docs/memory.md
 */
export class QuestionQueue {
  private readonly groups = new Map<Version, Group>()
  /** Demands for which no question was sent yet, the oldest first. */
  private demands: Demand[] = []
  /** Copies that a running question is about, with the time when the question was sent. */
  private readonly asked = new Map<TableCopy, number>()
  private isDue = false
  private timer: Timer | null = null

  /** `jointQuestions`: connection for questions about several tables. */
  constructor(private readonly jointQuestions: Reader) {}

  /**
   * Brings copies to snapshots taken after this call, and several copies to the same snapshot. If a copy could not be moved,
   * `versionOf` returns null afterwards. @throws ApiError for a single copy, if PostgreSQL does not answer
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

  /**
   * Returns the version of `part`, some or all of the copies. Returns null if the copies are not all of one snapshot, or if one
   * of them is unusable.
   */
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

  /** Begins at the end of this turn of the event loop, so that all requests that have arrived by then share the questions. */
  private beginSoon() {
    if (this.isDue) return
    this.isDue = true
    setImmediate(this.begin)
  }

  /** Sends the questions whose copies are free: no question about any of them is running. */
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
      if (copies.length === 1) this.askOne(copies[0] as TableCopy, demands)
      else this.askTogether(copies, demands)
    // A joint demand may wait long for a running question, so the queue is checked again.
    if (this.demands.some(({ copies }) => copies.length > 1)) this.timer ??= setTimeout(this.lookAgain, HELD_MS_MAX)
  }

  /**
   * Keeps a demand in the queue, or gives up a joint demand that has waited too long. A joint demand in the queue holds its
   * copies, so that no new question about these copies begins. It does not hold them if one of the copies has been asked about
   * for `HELD_MS_MAX` already.
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

  private async askOne(copy: TableCopy, demands: readonly Demand[]) {
    const wasBehind = isBehind(copy)
    this.asked.set(copy, performance.now())
    const fault = await copy.ask().catch((error: unknown) => error)
    this.asked.delete(copy)
    // Lists that have arrived since the question was sent do not wait for the catch-up: PostgreSQL answers them. The catch-up
    // begins after these lists have arrived. So if one of them finds the copy current again, the copy's snapshot is not too old
    // for this list.
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
    // If the catch-up fails, the next refresh of `TableCopies` asks again.
    this.refresh([copy]).catch(() => undefined)
  }

  private async askTogether(copies: readonly TableCopy[], demands: readonly Demand[]) {
    const sinceMs = performance.now()
    // If a statement fails, each copy gets a statement of its own. Then only the copy that caused the fault ends or falls behind.
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
      // The copy is asked about at once, so that no joint question comes first.
      this.askOne(
        copy,
        demands.filter(({ copies: own }) => own.length === 1 && own[0] === copy),
      )
    }
    this.continue()
  }

  /** Begins the next questions after the lists of the last question are answered, so that more requests share these questions. */
  private continue() {
    if (this.demands.length > 0) this.beginSoon()
  }
}

/** Lets PostgreSQL answer the lists, because their copies were not brought to one snapshot. */
function giveUp({ group, answer }: Demand) {
  group.waiting = null
  forget(group)
  answer.resolve()
}

/** Forgets the versions of a group's copies, because they may be too old for a list that arrives now. */
function forget(group: Group) {
  group.versions = null
  group.givenUpMs = performance.now()
}

/**
 * Returns the demands in the order in which they are sent. Demands for several tables come first, because a question about
 * several tables also answers demands for one of them.
 */
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

/**
 * Joins a property of the copies in the order of their numbers, so that the result does not depend on which table the list is of.
 */
function joined(copies: readonly TableCopy[], key: 'number' | 'version'): string {
  const [first, second] = copies
  // Each list of a person calls this function several times, mostly with two tables.
  if (copies.length === 2 && first && second)
    return first.number < second.number ? `${first[key]},${second[key]}` : `${second[key]},${first[key]}`
  return [...copies]
    .sort((one, other) => one.number - other.number)
    .map((copy) => copy[key])
    .join()
}
