// Exact sliding windows in shared memory.
import { countedMs, type Decision, longestOf, type Rule } from '../model/limits.ts'
import type { Region } from '../os/region.ts'
import { Directory } from './directory.ts'
import { HEAD, HIGH, LOW, SEEN, TAIL, Table, TIME } from './table.ts'

const { load, compareExchange: swap } = Atomics

/** The size of a region for this many clients, in words of 32 bits. */
export function wordsFor(clients: number, rules: readonly Rule[]): number {
  return Table.words(clients, depthOf(rules))
}

function depthOf(rules: readonly Rule[]): number {
  return Math.max(...rules.map(({ limit }) => limit))
}

/**
 * Exact sliding windows for many clients, in memory that several processes share: at most `limit` admissions in any
 * interval of a rule's period, and no refusal of a request that fits by a millisecond; a refusal charges nothing, of any
 * rule. A request's moment is that at which its decision reads the clock, so between its sending and its answer: of
 * limit + 1 admissions, from the sending of the first to the answer of the last it is a whole period, by any clock that
 * runs as this machine's, however finely it is read.
 *
 * Each client has a ring with the times of its last admissions, as many as the largest limit. Admissions are numbered;
 * number n lives in cell n % depth. A rule admits number n when admission n - limit is over one period old, in whole
 * milliseconds. All rules read the same ring, so one write charges all of them or none.
 *
 * To admit, a process swaps the cell of number `head` from the word it read to the time. That one compare-and-swap is
 * the decision: the process that makes it has the admission, and what was checked before it still holds, because no later
 * number can exist while that cell is unchanged. For the same reason times never go back from one number to the next: the clock
 * is read for a number only after the swap of the one before, and always before its own. There is no lock to
 * die with. A head that a dead process left behind shows by the lap bit of its cell, which is 1 in even laps of the ring
 * and 0 in odd ones, and the first process that sees it moves the head on.
 *
 * Where a table is full, all clients without an entry share one, so that each request is counted.
 */
export class SlidingWindows {
  private readonly words: Int32Array
  private readonly table: Table
  private readonly directory: Directory
  private readonly longest: number
  private readonly longestRule: Rule
  /** Requests of clients without an entry, charged to the shared one by this process; the reader may set it back. */
  overflowed = 0
  private readonly decision: Decision = { admitted: true, rule: 0, remaining: 0, waitMs: 0 }

  /** `reach`: a client's entry is one of so many slots; fewer than all make a flood of new clients cheap. */
  constructor(
    region: Region,
    clients: number,
    private readonly rules: readonly Rule[],
    private readonly clock: () => number,
    reach: number = clients,
    wrap?: number,
  ) {
    this.longest = longestOf(rules)
    this.longestRule = rules[this.longest] as Rule
    this.words = region.words
    this.table = new Table(region.words, clients, depthOf(rules), wrap)
    this.directory = new Directory(region, this.table, this.longestRule.periodMs, clock, reach)
  }

  countClients(): number {
    return this.directory.countInUse()
  }

  /** Decides on one request of the client, and charges it if it is admitted. Returns the same object each time. */
  admit(low: number, high: number): Decision {
    for (;;) {
      const slot = this.directory.find(low, high) ?? this.directory.enter(low, high)
      if (slot === null) break
      if (this.decide(slot, low, high, 1)) return this.decision
      // Else the entry has passed to another client meanwhile.
    }
    this.overflowed++
    this.decide(this.table.clients, 0, 0, 1) // the last slot, which all clients without an entry share
    return this.decision
  }

  /** Decides as `admit` would for the last of `count` requests that come now, at most the smallest limit; charges nothing. */
  peek(low: number, high: number, count = 1): Decision {
    const slot = this.directory.find(low, high)
    if (slot === null || !this.decide(slot, low, high, 0, count)) this.answer(true, this.longest, this.longestRule.limit, 0)
    return this.decision
  }

  /** Decides as `admit` would now, of clients without an entry too; charges nothing. */
  foresee(low: number, high: number): Decision {
    const isShared = this.directory.find(low, high) === null && !this.directory.hasRoom(low, high)
    if (!isShared) return this.peek(low, high)
    this.decide(this.table.clients, 0, 0, 0)
    return this.decision
  }

  /** Into `this.decision`; false when the entry is not the client's. `charge`: 1, or 0 to peek, at the last of `count`. */
  private decide(slot: number, low: number, high: number, charge: 0 | 1, count = 1): boolean {
    const { words, table } = this
    const entry = table.entryOf(slot)
    const ring = table.ringOf(slot)
    for (;;) {
      const oldTail = load(words, entry + TAIL) // before the head, so that tail <= head
      const head = load(words, entry + HEAD)
      const cell = table.cellOf(ring, head)
      const word = load(words, cell)
      if (load(words, entry + HEAD) !== head) continue // so the word belongs to this head
      if (table.isTaken(word, head)) {
        swap(words, entry + HEAD, head, table.plus(head, 1)) // the last step of a process that died, or is slow
        continue
      }
      const nowMs = this.clock() // only now: not before any time that led to what was read
      const tail = this.expire(entry, ring, oldTail, head, nowMs)
      if (load(words, entry + LOW) !== low || load(words, entry + HIGH) !== high) return false

      const now = nowMs & TIME
      const used = table.minus(head, tail)
      if (this.refuse(ring, table.plus(head, count - 1), used + count - 1, now)) {
        // The tail too: while the second was read, another process may have found the client silent.
        if (load(words, cell) === word && load(words, entry + HEAD) === head && load(words, entry + TAIL) === tail) return true
        continue
      }
      // The first admission of all is the one about to be made.
      const longestMs = countedMs(this.longestRule)
      const leavesMs = used === 0 ? charge * longestMs : longestMs - this.age(ring, tail, now)
      if (charge === 1) {
        if (swap(words, cell, word, table.cellWord(now, head)) !== word) continue
        swap(words, entry + HEAD, head, table.plus(head, 1))
      }
      this.answer(true, this.longest, this.longestRule.limit - used - charge, leavesMs)
      return true
    }
  }

  /** Returns whether a rule refuses number `head`; the decision then names the rule with the longest wait. */
  private refuse(ring: number, head: number, used: number, now: number): boolean {
    const { rules, table } = this
    let waitMs = 0
    let hit = 0
    for (let index = 0; index < rules.length; index++) {
      const rule = rules[index] as Rule
      if (used < rule.limit) continue
      const wait = countedMs(rule) - this.age(ring, table.minus(head, rule.limit), now)
      if (wait <= waitMs) continue
      waitMs = wait
      hit = index
    }
    if (waitMs > 0) this.answer(false, hit, 0, waitMs)
    return waitMs > 0
  }

  private answer(admitted: boolean, rule: number, remaining: number, waitMs: number) {
    this.decision.admitted = admitted
    this.decision.rule = rule
    this.decision.remaining = remaining
    this.decision.waitMs = waitMs
  }

  /**
   * Moves the tail past the admissions that no rule sees any more. Times wrap around after 24 days, so the tail has to
   * move at least that often; SEEN says when a client was silent for all that time.
   */
  private expire(entry: number, ring: number, tail: number, head: number, nowMs: number): number {
    const { words } = this
    const second = Math.floor(nowMs / 1_000)
    const seen = load(words, entry + SEEN)
    const first = this.directory.isSilent(seen, second) ? head : this.firstWithin(ring, tail, head, nowMs & TIME)
    // Before the second: a tail that a dead process left behind would else not show as that of a silent client.
    if (first !== tail) swap(words, entry + TAIL, tail, first)
    // Until the word holds this second or a later one: an admission must never look older than it is, whichever process wrote
    // last.
    for (let last = seen; second > last; ) {
      const before = swap(words, entry + SEEN, last, second)
      if (before === last) break
      last = before
    }
    return first
  }

  /** The first admission in [from, to) that the longest rule counts. */
  private firstWithin(ring: number, from: number, to: number, now: number): number {
    let low = 0
    let high = this.table.minus(to, from)
    // Mostly nothing has left since the last request, so the oldest is read first.
    if (high === 0 || !this.hasLeft(ring, from, now)) return from
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.hasLeft(ring, this.table.plus(from, middle), now)) low = middle + 1
      else high = middle
    }
    return this.table.plus(from, low)
  }

  /** An age above the half is that of a time ahead of our clock, which another process has just written. */
  private hasLeft(ring: number, number: number, now: number): boolean {
    const age = this.age(ring, number, now)
    return age >= countedMs(this.longestRule) && age <= TIME >> 1
  }

  private age(ring: number, number: number, now: number): number {
    return (now - load(this.words, this.table.cellOf(ring, number))) & TIME
  }
}
